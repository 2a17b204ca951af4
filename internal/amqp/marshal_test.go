package amqp

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"
	amqp091 "github.com/rabbitmq/amqp091-go"
)

// everyHeaderType has one header of each type that AMQP and RabbitMQ know.
func everyHeaderType() amqp091.Table {
	return amqp091.Table{
		"text":    "plain ☂",
		"nil":     nil,
		"true":    true,
		"byte":    byte(200),
		"int8":    int8(-8),
		"int16":   int16(-16),
		"int32":   int32(-32),
		"int64":   int64(math.MaxInt64),
		"uint16":  uint16(16),
		"uint32":  uint32(32),
		"float32": float32(0.5),
		"float64": 0.25,
		"decimal": amqp091.Decimal{Scale: 2, Value: 1999},
		"time":    time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		"bytes":   []byte{0xff, 0x00},
		"array":   []any{int64(1), "two", nil, []any{true}},
		"table":   amqp091.Table{"b": int64(2), "a": amqp091.Table{"t": time.Unix(0, 0)}},
	}
}

func wantHeaderTexts() map[string]string {
	return map[string]string{
		"text": "plain ☂", "nil": "", "true": "true", "byte": "200", "int8": "-8", "int16": "-16", "int32": "-32",
		"int64": "9223372036854775807", "uint16": "16", "uint32": "32", "float32": "0.5", "float64": "0.25",
		"decimal": "19.99", "time": "2026-03-01T12:00:00Z", "bytes": "/wA=",
		"array": `[1,"two",null,[true]]`, "table": `{"a":{"t":"1970-01-01T00:00:00Z"},"b":2}`,
	}
}

func TestUnmarshalReadsEveryHeaderType(t *testing.T) {
	msg, err := Marshaler{}.Unmarshal(amqp091.Delivery{Acknowledger: nowhere{}, Headers: everyHeaderType()})
	if err != nil {
		t.Fatalf("unmarshal: %v", err)
	}
	want := wantHeaderTexts()
	want[MetaRedelivered], want[MetaDeliveryCount] = "false", "0"
	if diff := cmp.Diff(want, map[string]string(msg.Metadata)); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
}

func TestUnmarshalReadsProperties(t *testing.T) {
	d := sampleDelivery()
	d.CorrelationId, d.ReplyTo, d.Redelivered = "corr", "replies", true
	d.Headers = amqp091.Table{"x-delivery-count": int64(3), "amqp.queue": "forged", "x-publish-id": int64(7)}
	msg, err := Marshaler{}.Unmarshal(d)
	if err != nil {
		t.Fatalf("unmarshal: %v", err)
	}
	want := map[string]string{
		MetaMessageID: d.MessageId, MetaType: "order.placed.v1", MetaContentType: "application/json",
		MetaTimestamp: "2023-11-14T22:13:20Z", MetaCorrelationID: "corr", MetaReplyTo: "replies",
		MetaExchange: "commerce", MetaRoutingKey: "order.placed.v1",
		MetaRedelivered: "true", MetaDeliveryCount: "3", "x-delivery-count": "3",
	}
	if diff := cmp.Diff(want, map[string]string(msg.Metadata)); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if msg.UUID != d.MessageId || len(msg.Payload) != 512 {
		t.Errorf("message %q with %d bytes", msg.UUID, len(msg.Payload))
	}
}

func TestUnmarshalFindsTheID(t *testing.T) {
	for name, test := range map[string]struct {
		property string
		headers  amqp091.Table
		want     string
	}{
		"property first":         {"p", amqp091.Table{"_watermill_message_uuid": "w", "cloudEvents:id": "c"}, "p"},
		"then Watermill's":       {"", amqp091.Table{"_watermill_message_uuid": "w", "cloudEvents:id": "c"}, "w"},
		"then CloudEvents":       {"", amqp091.Table{"cloudEvents:id": "c", "cloudEvents_id": "d"}, "c"},
		"then the other form":    {"", amqp091.Table{"cloudEvents_id": "d"}, "d"},
		"text only":              {"", amqp091.Table{"cloudEvents:id": int64(5)}, ""},
		"none is no error":       {"", nil, ""},
		"empty ones are skipped": {"", amqp091.Table{"_watermill_message_uuid": "", "cloudEvents:id": "c"}, "c"},
	} {
		t.Run(name, func(t *testing.T) {
			msg, err := Marshaler{}.Unmarshal(amqp091.Delivery{
				Acknowledger: nowhere{}, MessageId: test.property, Headers: test.headers,
			})
			if err != nil {
				t.Fatalf("unmarshal: %v", err)
			}
			if msg.UUID != test.want {
				t.Errorf("id %q, want %q", msg.UUID, test.want)
			}
		})
	}
}

func TestUnmarshalRefusesPhantoms(t *testing.T) {
	if msg, err := (Marshaler{}).Unmarshal(amqp091.Delivery{}); !errors.Is(err, ErrPhantomDelivery) {
		t.Errorf("a delivery from nowhere became %+v, error %v", msg, err)
	}
}

func TestMarshalLeavesTheBrokersHeadersBehind(t *testing.T) {
	d := sampleDelivery()
	d.Headers["x-death"] = []any{amqp091.Table{"count": int64(1)}}
	d.Headers["CC"] = []any{"payment.succeeded.v1"}
	for _, name := range []string{
		"x-first-death-queue", "x-last-death-reason", "x-acquired-count", "_watermill_message_uuid",
	} {
		d.Headers[name] = "brokers"
	}
	msg, err := Marshaler{}.Unmarshal(d)
	if err != nil {
		t.Fatalf("unmarshal: %v", err)
	}
	msg.Metadata.Set("dlq.reason", "HANDLER_ERROR")
	got, err := Marshaler{}.Marshal(msg)
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	want := amqp091.Publishing{
		Headers: amqp091.Table{
			"cloudEvents:id": d.MessageId, "cloudEvents:type": "order.placed.v1", "cloudEvents:source": "/orders",
			"cloudEvents:specversion": "1.0", "traceparent": d.Headers["traceparent"], "dlq.reason": "HANDLER_ERROR",
		},
		ContentType: d.ContentType, DeliveryMode: amqp091.Persistent, MessageId: d.MessageId,
		Timestamp: d.Timestamp.UTC(), Type: d.Type, Body: d.Body,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("publishing (-want +got):\n%s", diff)
	}
}

func TestMarshalRefusesWhatCannotBeSent(t *testing.T) {
	if _, err := (Marshaler{}).Marshal(message.NewMessage(strings.Repeat("x", 256), nil)); !errors.Is(err, ErrInvalid) {
		t.Errorf("an id of 256 bytes: %v, want ErrInvalid", err)
	}
}

func TestHeaderLimits(t *testing.T) {
	huge := map[string]string{"a": "kept", "trace": strings.Repeat("é", 200_000)}
	table := headerTable(huge)
	if got := table["trace"].(string); len(got) != maxHeaderValue || !utf8.ValidString(got) {
		t.Errorf("a header of 400 kB was cut to %d bytes, valid text: %v; want 8 KiB, valid",
			len(got), utf8.ValidString(got))
	}
	many := map[string]string{"small": "kept"}
	for _, name := range strings.Split("abcdefghijklmnop", "") {
		many[name] = strings.Repeat(name, 6000)
	}
	table = headerTable(many)
	total := 0
	for name, value := range table {
		total += len(name) + len(value.(string))
	}
	if total > maxHeaderTotal || total < maxHeaderTotal-300 {
		t.Errorf("96 kB of headers were cut to %d bytes, want just below 32 KiB", total)
	}
	if table["small"] != "kept" {
		t.Error("the small header had to give way to large ones")
	}
}

func TestDecimalText(t *testing.T) {
	for _, test := range []struct {
		decimal amqp091.Decimal
		want    string
	}{
		{amqp091.Decimal{}, "0"},
		{amqp091.Decimal{Scale: 0, Value: -7}, "-7"},
		{amqp091.Decimal{Scale: 3, Value: 7}, "0.007"},
		{amqp091.Decimal{Scale: 1, Value: -15}, "-1.5"},
	} {
		if got := headerText(test.decimal); got != test.want {
			t.Errorf("%+v reads %q, want %q", test.decimal, got, test.want)
		}
	}
}

// FuzzUnmarshal builds deliveries from arbitrary content: every one becomes a
// message that can be sent on within the limits of the protocol.
func FuzzUnmarshal(f *testing.F) {
	f.Add("id", "name", "text", []byte("bytes"), int64(1), 0.5, uint8(3))
	f.Add("", "amqp.queue", "", []byte{0xff}, int64(-1), math.NaN(), uint8(9))
	f.Add(strings.Repeat("x", 300), "x-death", strings.Repeat("é", 9000), []byte{}, int64(0), math.Inf(1), uint8(30))
	f.Fuzz(func(t *testing.T, id, name, text string, bytes []byte, number int64, float float64, depth uint8) {
		var nested any = amqp091.Table{name: []any{text, bytes, number, float, float32(float), nil, time.Unix(number, 0)}}
		for range depth % 32 {
			nested = []any{amqp091.Table{name: nested}}
		}
		d := amqp091.Delivery{
			Acknowledger: nowhere{}, MessageId: id, Type: text, Body: bytes, Timestamp: time.Unix(number, 0),
			Headers: amqp091.Table{
				name: text, name + "b": bytes, name + "n": number, name + "f": float, name + "t": nested,
				name + "d":         amqp091.Decimal{Scale: depth, Value: int32(number)},
				"x-delivery-count": nested, "cloudEvents:id": nested,
			},
		}
		msg, err := Marshaler{}.Unmarshal(d)
		if err != nil {
			t.Fatalf("unmarshal: %v", err)
		}
		if !ownedByBroker(name+"t") && !json.Valid([]byte(msg.Metadata[name+"t"])) {
			t.Errorf("a table reads %q, which is not JSON", msg.Metadata[name+"t"])
		}
		if msg.Metadata[MetaDeliveryCount] != "0" {
			t.Errorf("a delivery count that is no number reads %q", msg.Metadata[MetaDeliveryCount])
		}
		out, err := Marshaler{}.Marshal(msg)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("marshal: %v", err)
			}
			return
		}
		total := 0
		for header, value := range out.Headers {
			total += len(header) + len(value.(string))
		}
		if err := out.Headers.Validate(); err != nil || total > maxHeaderTotal {
			t.Errorf("%d bytes of headers, error %v", total, err)
		}
	})
}
