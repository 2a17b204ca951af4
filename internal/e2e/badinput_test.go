package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"couponlease/internal/fleet"
	"couponlease/internal/testkit"
)

// bad is one message that cannot be applied, and how it must end.
type bad struct {
	name      string
	publishes []amqp091.Publishing
	key       string
	// reason is the reason of the dead letter; "" if the message is answered.
	reason string
	// answer is the stored answer of the message "bad-<name>", if it has one.
	answer string
}

func placed(order, coupon, more string) []byte {
	at := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	return fmt.Appendf(nil, `{"orderId":"%s","customerId":"u1","coupons":[{"code":"%s"}],`+
		`"payable":{"amount":100,"currency":"EUR"},"occurredAt":%q%s}`, order, coupon, at, more)
}

func badMessages(now time.Time) []bad {
	body := func(text []byte) amqp091.Publishing {
		return amqp091.Publishing{ContentType: "application/json", Body: text}
	}
	far := now.Add(365 * 24 * time.Hour).UTC().Format(time.RFC3339)
	cases := []bad{
		{name: "json", publishes: []amqp091.Publishing{body([]byte(`{"orderId":`))}, reason: "BAD_JSON"},
		{name: "empty", publishes: []amqp091.Publishing{body(nil)}, reason: "EMPTY_BODY"},
		{name: "large", publishes: []amqp091.Publishing{
			body(placed("o-large", "c", `,"note":"`+strings.Repeat("x", 300<<10)+`"`))}, reason: "BODY_TOO_LARGE"},
		{name: "nul", publishes: []amqp091.Publishing{body(placed("o-nul", `c\u0000`, ""))}, reason: "NUL_CHARACTER"},
		{name: "version", key: "order.placed.v9",
			publishes: []amqp091.Publishing{body(placed("o-version", "c", ""))}, reason: "SCHEMA_UNKNOWN"},
		{name: "negative", publishes: []amqp091.Publishing{body([]byte(
			`{"orderId":"o-negative","customerId":"u1","coupons":[],"payable":{"amount":-1,"currency":"EUR"},` +
				`"occurredAt":"2026-01-02T03:04:05Z"}`))}, reason: "FIELD_INVALID"},
		{name: "future", publishes: []amqp091.Publishing{body([]byte(
			`{"orderId":"o-future","customerId":"u1","coupons":[],"payable":{"amount":1,"currency":"EUR"},` +
				`"occurredAt":"` + far + `"}`))}, reason: "TIME_OUT_OF_RANGE"},
		{name: "reuse", publishes: []amqp091.Publishing{
			body(placed("o-reuse", "reuse-a", "")), body(placed("o-reuse", "reuse-b", ""))}, reason: "ID_REUSE"},
		{name: "unknown", publishes: []amqp091.Publishing{body(placed("o-unknown", "nobody-has-this", ""))},
			answer: "REJECTED:UNKNOWN_COUPON"},
	}
	for i := range cases {
		for j := range cases[i].publishes {
			cases[i].publishes[j].MessageId = "bad-" + cases[i].name
		}
	}
	without := body(placed("o-id", "c", ""))
	return append(cases, bad{name: "id", publishes: []amqp091.Publishing{without}, reason: "ID_MISSING"})
}

// Whatever cannot be applied ends in a dead letter or an answer with its reason,
// and the messages around it are worked on as if it were not there.
func TestBadInputEndsWithAReasonAndHarmsNobody(t *testing.T) {
	space := fleet.NewSpace(t)
	orders := fleet.BoughtOrders(200)
	space.Import(t, append(fleet.Codes(orders), "reuse-a", "reuse-b"))
	fleet.Start(t, fleet.Binary(t), space, "--retry-tiers", "1s")
	cases := badMessages(time.Now())
	channel := rawChannel(t, space)
	facts := fleet.InOrder(orders, time.Now().Add(-time.Hour))
	expected := map[string]int{}
	for i, c := range cases {
		share := len(facts) / len(cases)
		space.Publish(t, facts[i*share:(i+1)*share])
		key := c.key
		if key == "" {
			key = "order.placed.v1"
		}
		for _, p := range c.publishes {
			send(t, channel, key, p)
		}
		if c.reason != "" {
			expected[c.reason]++
		}
	}
	rest := len(cases) * (len(facts) / len(cases))
	space.Publish(t, facts[rest:])

	space.WaitForSettled(t, facts)
	letters := space.DeadLetters(t, len(cases)-1)
	got := map[string]int{}
	for _, letter := range letters {
		got[letter.Reason]++
		if letter.Error == "" || letter.Queue == "" {
			t.Errorf("dead letter %+v does not say where and why", letter)
		}
	}
	for reason, count := range expected {
		if got[reason] != count {
			t.Errorf("%s: %d dead letters, want %d (all: %v)", reason, got[reason], count, got)
		}
	}
	for _, c := range cases {
		if c.answer == "" {
			continue
		}
		if answer := space.Answer(t, "bad-"+c.name); answer != c.answer {
			t.Errorf("%s: answered %q, want %q", c.name, answer, c.answer)
		}
	}
	space.CheckOrders(t, orders)
	space.Check(t)
}

// T52: headers of every type that AMQP knows do not stand in the way.
func TestHeadersOfEveryTypeAreRead(t *testing.T) {
	space := fleet.NewSpace(t)
	space.Import(t, []string{"odd"})
	fleet.Start(t, fleet.Binary(t), space)
	channel := rawChannel(t, space)
	send(t, channel, "order.placed.v1", amqp091.Publishing{
		MessageId: "odd-headers", ContentType: "application/json", Body: placed("o-odd", "odd", ""),
		Headers: amqp091.Table{
			"bool": true, "byte": byte(1), "int8": int8(-1), "int16": int16(-2), "int32": int32(-3), "int64": int64(-4),
			"float32": float32(1.5), "float64": 2.5, "decimal": amqp091.Decimal{Scale: 2, Value: 314},
			"text": "text", "bytes": []byte{0, 1, 2}, "time": time.Now(), "nil": nil,
			"table": amqp091.Table{"in": amqp091.Table{"deep": int32(1)}}, "list": []any{"a", int32(1), nil},
		},
	})
	testkit.Eventually(t, 30*time.Second, "the message is answered", func() (bool, string) {
		answer := space.Answer(t, "odd-headers")
		return answer == "OK", "answer " + answer
	})
}

func rawChannel(t *testing.T, space *fleet.Space) *amqp091.Channel {
	t.Helper()
	conn, err := amqp091.Dial(space.Broker.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	channel, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	if err := channel.Confirm(false); err != nil {
		t.Fatal(err)
	}
	return channel
}

func send(t *testing.T, channel *amqp091.Channel, key string, p amqp091.Publishing) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	confirmation, err := channel.PublishWithDeferredConfirmWithContext(ctx, "commerce", key, true, false, p)
	if err != nil {
		t.Fatal(err)
	}
	if acked, err := confirmation.WaitContext(ctx); err != nil || !acked {
		t.Fatalf("message %s was not confirmed: %v", p.MessageId, err)
	}
}
