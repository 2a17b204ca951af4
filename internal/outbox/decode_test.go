package outbox

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func drawMessages(t *rapid.T) []Message {
	text := rapid.OneOf(rapid.StringMatching(`[a-z./-]{0,12}`), rapid.String())
	body := rapid.SampledFrom([]string{
		``, `{}`, `[]`, `"text"`, `"\""`, `{"a":"}\\\"]","b":[{"c":"{"},"\\"]}`, `{"a": [1, 2]}`, `{"é":"\u00e9"}`, `17`, `null`, `true`, `[[[]]]`,
	})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Message {
		m := Message{
			ID: "m" + text.Draw(t, "id"), Type: text.Draw(t, "type"), Exchange: text.Draw(t, "exchange"), Key: text.Draw(t, "key"),
			ContentType: text.Draw(t, "content type"), CorrelationID: text.Draw(t, "correlation id"),
			ReplyTo: text.Draw(t, "reply to"), DelayQueue: text.Draw(t, "delay queue"),
			Headers: rapid.MapOfN(text, text, 0, 3).Draw(t, "headers"), Mandatory: rapid.Bool().Draw(t, "mandatory"),
			Body: json.RawMessage(body.Draw(t, "body")),
		}
		if rapid.Bool().Draw(t, "timed") {
			m.Time = time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "time"), 0).UTC()
			m.NotBefore = m.Time.Add(time.Millisecond)
		}
		if len(m.Body) > 0 && rapid.Bool().Draw(t, "sealed") {
			m.Seal = &Seal{Lease: "l" + text.Draw(t, "lease"), Hash: rapid.StringMatching(`[0-9a-f]{64}`).Draw(t, "hash")}
		}
		return m
	}), 1, 3).Draw(t, "messages")
}

// The fast reader says either the same as encoding/json, or nothing; on rows as
// they are written, and on damaged ones unless the damage is inside a body.
func TestFastReaderAgreesWithEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payload, err := EncodeRow(drawMessages(t))
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 2).Draw(t, "damages") {
			at := rapid.IntRange(0, len(payload)-1).Draw(t, "at")
			switch rapid.SampledFrom([]string{"replace", "insert", "remove"}).Draw(t, "damage") {
			case "replace":
				payload[at] = rapid.SampledFrom([]byte(`{}[],:"\ a0`)).Draw(t, "byte")
			case "insert":
				payload = append(payload[:at], append([]byte{rapid.SampledFrom([]byte(`{}[],:"\ a0`)).Draw(t, "byte")}, payload[at:]...)...)
			case "remove":
				payload = append(payload[:at], payload[at+1:]...)
			}
		}
		fast, ok := readRow(payload)
		if !ok {
			return
		}
		for _, m := range fast {
			if len(m.Body) > 0 && !json.Valid(m.Body) {
				return
			}
		}
		var slow row
		if err := json.Unmarshal(payload, &slow); err != nil {
			t.Fatalf("encoding/json refuses %s: %v", payload, err)
		}
		if diff := cmp.Diff(slow.Messages, fast, cmpopts.EquateEmpty()); diff != "" || slow.Version != 1 && slow.Version != 2 {
			t.Fatalf("version %d, messages (-slow +fast):\n%s", slow.Version, diff)
		}
	})
}

func TestFastReaderReadsRowsAsWritten(t *testing.T) {
	full := Message{
		ID: "a", Type: "b", Time: time.Unix(1, 5).UTC(), Exchange: "c", Key: "d", ContentType: "e", CorrelationID: "f", ReplyTo: "r",
		Headers: map[string]string{"g": "h", "i": "j"}, Mandatory: true, NotBefore: time.Unix(2, 0).UTC(), DelayQueue: "k",
		Body: json.RawMessage(`{"l":["}",{"m":"\"]"}]}`),
	}
	sealed := full
	sealed.Seal = &Seal{Lease: "n", Hash: strings.Repeat("0a", 32)}
	for _, want := range [][]Message{{full, {ID: "ü"}, full}, {full, sealed, {ID: "o"}}} {
		payload, err := EncodeRow(want)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := readRow(payload)
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("%s: read %v, messages (-want +got):\n%s", payload, ok, diff)
		}
	}
}

func TestFastReaderLeavesOtherRowsAlone(t *testing.T) {
	for _, payload := range []string{
		``, `{}`, `{"v":1,"messages":[]}`, `{"v":1,"messages":[`, `{"v":1,"messages":[{"id":"a"}]`, `{"v":1,"messages":[{"id":"a"},]}`,
		`{"v":1,"messages":[{"id":"a",}]}`, `{"v":1,"messages":[{"id"}]}`, `{"v":1,"messages":[{}]}`, `{"v":1,"messages":[{"id":"a"}]} `,
		`{"v":3,"messages":[{"id":"a"}]}`, `{"v":1,"messages":[{"id":"a\u0041"}]}`, `{"v":1,"messages":[{"id":"a","new":1}]}`,
		`{"v":1,"messages":[{"id":"a","mandatory":false}]}`, `{"v":1,"messages":[{"id":"a","time":"yesterday"}]}`,
		`{"v":1,"messages":[{"id":"a","headers":{}}]}`, `{"v":1,"messages":[{"id":"a","headers":{"b":1}}]}`,
		`{"v":1,"messages":[{"id":"a","body":7}]}`, `{"v":1,"messages":[{"id":"a","body":}]}`, `{"v":1,"messages":[{"id":"a","body":}{}]}`,
		`{"v":1,"messages":[{"id":"a","body":"b\"}]}`, `{"v":1,"messages":[{"id":"a","body":{"b":"c\`,
		`{"v":2,"messages":[{"id":"a","seal":{}}]}`, `{"v":2,"messages":[{"id":"a","seal":{"lease":"l"}}]}`,
		`{"v":2,"messages":[{"id":"a","seal":{"hash":"h","lease":"l"}}]}`, `{"v":2,"messages":[{"id":"a","seal":{"lease":"l","hash":7}}]}`,
		`{"v":2,"messages":[{"id":"a","seal":{"lease":7,"hash":"h"}}]}`, `{"v":2,"messages":[{"id":"a","seal":{"lease":"l","hash":"h"]`,
	} {
		if messages, ok := readRow([]byte(payload)); ok {
			t.Errorf("%s was read as %+v", payload, messages)
		}
	}
}
