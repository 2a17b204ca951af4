package outbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"couponlease/internal/outbox"
)

func fullMessage() outbox.Message {
	return outbox.Message{
		ID:            "0197-a",
		Type:          "coupon.redeemed.v1",
		Time:          time.Date(2026, 5, 4, 12, 0, 0, 123_000_000, time.UTC),
		Exchange:      "coupon.events",
		Key:           "coupon.redeemed.v1",
		ContentType:   "application/json",
		CorrelationID: "order/7",
		Headers:       map[string]string{"traceparent": "00-ab", "cloudEvents:source": "/couponlease"},
		Mandatory:     true,
		NotBefore:     time.Date(2026, 5, 4, 12, 30, 0, 0, time.UTC),
		DelayQueue:    "coupon-lease-expired",
		Body:          json.RawMessage(`{"couponId":"c1","note":"<b>&ünchén</b>"}`),
	}
}

func TestRowIsReadable(t *testing.T) {
	row, err := outbox.EncodeRow([]outbox.Message{fullMessage(), {ID: "0197-b"}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"v":1,"messages":[{"id":"0197-a","type":"coupon.redeemed.v1","time":"2026-05-04T12:00:00.123Z",` +
		`"exchange":"coupon.events","key":"coupon.redeemed.v1","contentType":"application/json","correlationId":"order/7",` +
		`"headers":{"cloudEvents:source":"/couponlease","traceparent":"00-ab"},"mandatory":true,"notBefore":"2026-05-04T12:30:00Z",` +
		`"delayQueue":"coupon-lease-expired","body":{"couponId":"c1","note":"<b>&ünchén</b>"}},{"id":"0197-b"}]}`
	if diff := cmp.Diff(want, string(row)); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
}

// A row without a seal stays in the version that programs of before seals read.
func TestSealIsWrittenBesideItsBody(t *testing.T) {
	seal := &outbox.Seal{Lease: "0197-l", Hash: strings.Repeat("0a", 32)}
	row, err := outbox.EncodeRow([]outbox.Message{{ID: "a"}, {ID: "b", Seal: seal, Body: json.RawMessage(`{"code":"C1"}`)}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"v":2,"messages":[{"id":"a"},{"id":"b","seal":{"lease":"0197-l","hash":"` + strings.Repeat("0a", 32) +
		`"},"body":{"code":"C1"}}]}`
	if diff := cmp.Diff(want, string(row)); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
}

func TestSealSum(t *testing.T) {
	hash := strings.Repeat("0a", 32)
	for text, want := range map[string]bool{hash: true, hash + "0a": false, hash[2:]: false, "0g" + hash[2:]: false, "": false} {
		sum, ok := (&outbox.Seal{Hash: text}).Sum()
		if ok != want || ok && fmt.Sprintf("%x", sum) != text {
			t.Errorf("%q: got %x, %t, want %t", text, sum, ok, want)
		}
	}
}

func TestRowReadsBackRearranged(t *testing.T) {
	row := `{ "messages": [ {"body": {"a": [1, 2]}, "id": "m", "future": {"x": 1}} ], "more": true, "v": 1 }`
	got, err := outbox.DecodeRow([]byte(row))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]outbox.Message{{ID: "m", Body: json.RawMessage(`{"a": [1, 2]}`)}}, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestEncodeRowRefuses(t *testing.T) {
	body, hash := json.RawMessage(`{}`), strings.Repeat("0a", 32)
	big := json.RawMessage(`"` + strings.Repeat("x", outbox.MaxRowBytes) + `"`)
	for name, messages := range map[string][]outbox.Message{
		"no messages":           nil,
		"too many messages":     make([]outbox.Message, outbox.MaxRowMessages+1),
		"no id":                 {{ID: "a"}, {Type: "t"}},
		"body that is not JSON": {{ID: "a", Body: json.RawMessage(`{"a":`)}},
		"text that is not text": {{ID: "a", Key: "\xff"}},
		"header key not text":   {{ID: "a", Headers: map[string]string{"\xff": ""}}},
		"impossible time":       {{ID: "a", Time: time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC)}},
		"too many bytes":        {{ID: "a", Body: big}},
		"seal without lease":    {{ID: "a", Body: body, Seal: &outbox.Seal{Hash: hash}}},
		"seal without hash":     {{ID: "a", Body: body, Seal: &outbox.Seal{Lease: "l"}}},
		"seal of a short hash":  {{ID: "a", Body: body, Seal: &outbox.Seal{Lease: "l", Hash: hash[2:]}}},
		"seal of no hex":        {{ID: "a", Body: body, Seal: &outbox.Seal{Lease: "l", Hash: "0g" + hash[2:]}}},
		"seal without body":     {{ID: "a", Seal: &outbox.Seal{Lease: "l", Hash: hash}}},
	} {
		t.Run(name, func(t *testing.T) {
			if row, err := outbox.EncodeRow(messages); err == nil {
				t.Errorf("encoded to %.100s", row)
			}
		})
	}
}

func TestDecodeRowRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		row  string
		want error
	}{
		"newer version":  {`{"v":3,"messages":[{"id":"a"}]}`, outbox.ErrRowVersion},
		"version 0":      {`{"v":0,"messages":[{"id":"a"}]}`, outbox.ErrRowVersion},
		"no version":     {`{"messages":[{"id":"a"}]}`, outbox.ErrRowVersion},
		"not JSON":       {`{"v":1,`, nil},
		"other types":    {`{"v":1,"messages":{"id":"a"}}`, nil},
		"nothing":        {``, nil},
		"too many bytes": {strings.Repeat(" ", outbox.MaxRowBytes) + `{"v":1}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := outbox.DecodeRow([]byte(test.row))
			if err == nil || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}

// Rows are what encoding/json would write, and come back as they went.
func TestRowRoundTrip(t *testing.T) {
	times := rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "zero") {
			return time.Time{}
		}
		return time.Unix(rapid.Int64Range(0, 1<<35).Draw(t, "second"), rapid.Int64Range(0, 1e9-1).Draw(t, "nano")).UTC()
	})
	message := rapid.Custom(func(t *rapid.T) outbox.Message {
		m := outbox.Message{
			ID:         rapid.StringN(1, 20, -1).Draw(t, "id"),
			Type:       rapid.String().Draw(t, "type"),
			Time:       times.Draw(t, "time"),
			Key:        rapid.String().Draw(t, "key"),
			Headers:    rapid.MapOfN(rapid.String(), rapid.String(), 0, 3).Draw(t, "headers"),
			Mandatory:  rapid.Bool().Draw(t, "mandatory"),
			NotBefore:  times.Draw(t, "not before"),
			DelayQueue: rapid.String().Draw(t, "delay queue"),
		}
		if len(m.Headers) == 0 {
			m.Headers = nil
		}
		if rapid.Bool().Draw(t, "has body") {
			body, err := json.Marshal(rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "body"))
			if err != nil {
				t.Fatal(err)
			}
			m.Body = body
			if rapid.Bool().Draw(t, "sealed") {
				m.Seal = &outbox.Seal{
					Lease: rapid.StringN(1, 20, -1).Draw(t, "lease"), Hash: rapid.StringMatching(`[0-9a-f]{64}`).Draw(t, "hash"),
				}
			}
		}
		return m
	})
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(message, 1, 5).Draw(t, "messages")
		row, err := outbox.EncodeRow(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := outbox.DecodeRow(row)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
		version := 1
		if slices.ContainsFunc(want, func(m outbox.Message) bool { return m.Seal != nil }) {
			version = 2
		}
		standard, err := json.Marshal(map[string]any{"v": version, "messages": want})
		if err != nil {
			t.Fatal(err)
		}
		var wantTree, gotTree any
		if err := errors.Join(json.Unmarshal(standard, &wantTree), json.Unmarshal(row, &gotTree)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wantTree, gotTree); diff != "" {
			t.Errorf("row against encoding/json (-want +got):\n%s", diff)
		}
	})
}

func benchMessages(n int) []outbox.Message {
	messages := make([]outbox.Message, n)
	for i := range messages {
		messages[i] = fullMessage()
		messages[i].ID = fmt.Sprintf("0197c1d2-7b6a-7c3e-9f00-%012d", i)
		messages[i].Body = fmt.Appendf(nil, `{"couponId":"coupon-%d","orderId":"order-%d","stateVersion":3,"operationId":"0197c1d2-7b6a-7c3e-9f00-%012d",`+
			`"leaseId":"0197c1d2-7b6a-7c3e-9f00-%012d","causeId":"pay-%d","from":"LOCKED","to":"USED","discount":{"amount":1500,"currency":"EUR"},`+
			`"occurredAt":"2026-05-04T12:00:00Z"}`, i, i, i, i, i)
	}
	return messages
}

func BenchmarkEncodeRow(b *testing.B) {
	messages := benchMessages(100)
	b.ReportAllocs()
	for b.Loop() {
		row, err := outbox.EncodeRow(messages)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(row)))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/message")
}

func BenchmarkDecodeRow(b *testing.B) {
	row, err := outbox.EncodeRow(benchMessages(100))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(row)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := outbox.DecodeRow(row); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/message")
}
