package deadletter_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
	"couponlease/internal/deadletter"
	"couponlease/internal/outbox"
	"couponlease/messages"
)

func TestLettersWithOneCauseHaveOneFingerprint(t *testing.T) {
	print := func(text string) string { return deadletter.Fingerprint("t", "HANDLER_ERROR", text) }
	base := print(`apply: row "A-1" of 0199c1f2-0000-7000-8000-00000000000a at 2026-03-01T09:00:00Z: 12 tries`)
	for name, test := range map[string]struct {
		text string
		same bool
	}{
		"other ids and times": {`apply: row "B-2" of 0299c1f2-0000-7000-8000-00000000000b at 2026-04-01T10:00:00Z: 7 tries`, true},
		"other spaces":        {"Apply:  row \"B\"\nof a1 at 2: 7 tries", true},
		"other words":         {`apply: column "A-1" of 0199c1f2-0000-7000-8000-00000000000a at 2026-03-01T09:00:00Z: 12 tries`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if (print(test.text) == base) != test.same {
				t.Errorf("same group: %t, want %t", !test.same, test.same)
			}
		})
	}
	if deadletter.Fingerprint("t", "OTHER", "x") == print("x") || deadletter.Fingerprint("u", "HANDLER_ERROR", "x") == print("x") {
		t.Error("reason and type do not count")
	}
}

// T57: x-death tells why the broker gave a message up. Nothing is counted by it.
func TestT57BrokersOwnLettersAreRead(t *testing.T) {
	const delayed = `{"count":7,"exchange":"coupon.delay-level-03","queue":"coupon.delay-level-03","reason":"expired",` +
		`"routing-keys":["0.1"],"time":"2026-03-01T08:00:00Z"}`
	for reason, want := range map[string]string{
		"delivery_limit": deadletter.CrashLoop, "expired": deadletter.TTL, "maxlen": deadletter.MaxLen,
		"rejected": deadletter.Rejected, "strange": deadletter.Unknown,
	} {
		t.Run(reason, func(t *testing.T) {
			newest := fmt.Sprintf(`{"count":40,"exchange":"commerce","queue":"coupon-order-placed","reason":%q,`+
				`"routing-keys":["order.placed.v1"],"time":"2026-03-01T09:00:00Z"}`, reason)
			l := deadletter.Read(deadletter.Incoming{MessageID: "m1", Body: []byte("{}"), Headers: map[string]string{
				"x-death": "[" + newest + "," + delayed + "]", "x-first-death-reason": "expired", "x-delivery-count": "51",
				deadletter.HeaderError: "broke before", deadletter.HeaderAttempt: "3", "tenant": "a",
			}})
			got := []any{l.Reason, l.Queue, l.Exchange, l.RoutingKey, l.Type, l.Last, l.Attempts, l.Headers}
			wanted := []any{want, "coupon-order-placed", "commerce", "order.placed.v1", "order.placed.v1",
				time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), int64(0), map[string]string{"tenant": "a"}}
			if diff := cmp.Diff(wanted, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !strings.Contains(l.Error, "broke before") {
				t.Errorf("the error before is lost: %s", l.Error)
			}
		})
	}
}

func TestLettersHoldNoSecretsAndOnlyText(t *testing.T) {
	l := deadletter.Read(deadletter.Incoming{
		MessageID: "m\x00\xff", Body: []byte(`{"leaseToken":"hush"}`),
		Headers: map[string]string{"X-Lease-Token": "hush", "Authorization": "hush", deadletter.HeaderError: "a\x00b"},
	})
	if text := fmt.Sprintf("%s %v %q", l.Body, l.Headers, l.Error); strings.Contains(text, "hush") || strings.Contains(text, "\x00") {
		t.Errorf("kept: %s", text)
	}
	if l.MessageID != "m\uFFFD\uFFFD" || l.Reason != deadletter.Unknown {
		t.Errorf("id %q, reason %s", l.MessageID, l.Reason)
	}
	large := deadletter.Read(deadletter.Incoming{MessageID: "m", Body: make([]byte, deadletter.MaxBody+1)})
	if large.Whole() || len(large.Body) != deadletter.MaxBody {
		t.Errorf("%d of %d bytes were kept", len(large.Body), large.Size)
	}
}

// T50: what is sent again is as the sender sent it; attempts and the broker's headers are
// gone.
func TestT50ReplayedMessageIsAsItWasSent(t *testing.T) {
	item := deadletter.Item{Job: "0199c1f2-0000-7000-8000-00000000000a", Position: 3}
	l := deadletter.Read(deadletter.Incoming{
		MessageID: "m1", Type: "order.placed.v1", ContentType: "application/json", CorrelationID: "c", ReplyTo: "r",
		Timestamp: time.Unix(1, 0).UTC(), Body: []byte(`{"a": 1}`),
		Headers: map[string]string{
			"traceparent": "00-1", "x-death": "[]", "x-delivery-count": "9", "x-first-death-queue": "q",
			deadletter.HeaderAttempt: "5", deadletter.HeaderQueue: "coupon-order-placed",
			deadletter.HeaderExchange: "commerce", deadletter.HeaderRoutingKey: "order.placed.v1",
		},
	})
	rows, failed, err := deadletter.Publications([]deadletter.ToSend{{Letter: l, Item: item}}, 1)
	if err != nil || len(failed) > 0 || len(rows) != 1 {
		t.Fatalf("%d rows, %v, %v", len(rows), failed, err)
	}
	got, err := outbox.DecodeRow(rows[0].Payload)
	if err != nil {
		t.Fatal(err)
	}
	want := []outbox.Message{{
		ID: "m1", Type: "order.placed.v1", Time: time.Unix(1, 0).UTC(), Key: "coupon-order-placed",
		ContentType: "application/json", CorrelationID: "c", ReplyTo: "r", Mandatory: true, Body: []byte(`{"a": 1}`),
		Headers: map[string]string{
			"traceparent": "00-1", deadletter.HeaderExchange: "commerce", deadletter.HeaderRoutingKey: "order.placed.v1",
			deadletter.HeaderReplay: item.String(),
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if deadletter.ParseItem(item.String()) != item || deadletter.ParseItem("x/1") != (deadletter.Item{}) {
		t.Error("items do not survive their text form")
	}
}

func TestWhatCannotBeSentFailsAgainAtOnce(t *testing.T) {
	good := deadletter.Letter{MessageID: "m", Queue: "q", Body: []byte("{}"), Size: 2}
	for name, change := range map[string]func(*deadletter.Letter){
		"no id":      func(l *deadletter.Letter) { l.MessageID = "" },
		"no queue":   func(l *deadletter.Letter) { l.Queue = "" },
		"no body":    func(l *deadletter.Letter) { l.Body, l.Size = nil, 0 },
		"no JSON":    func(l *deadletter.Letter) { l.Body = []byte("{]") },
		"no text":    func(l *deadletter.Letter) { l.Body, l.Size = []byte("\"\xff\""), 3 },
		"cut":        func(l *deadletter.Letter) { l.Size = 9 },
		"misrouted":  func(l *deadletter.Letter) { l.Reason = deadletter.Misrouted },
		"odd header": func(l *deadletter.Letter) { l.Headers = map[string]string{"a": "\xff"} },
	} {
		t.Run(name, func(t *testing.T) {
			l := good
			change(&l)
			rows, failed, err := deadletter.Publications([]deadletter.ToSend{{Letter: l}, {Letter: good}}, 1)
			if err != nil || len(rows) != 1 || rows[0].Messages != 1 || len(failed) != 1 || failed[0].Outcome != deadletter.FailedAgain {
				t.Errorf("%d rows, failed %v, %v", len(rows), failed, err)
			}
		})
	}
}

// A letter without its token would be answered as another message, for ever if it is a
// command. It is not sent, whoever blanked the token; what was applied before is known.
func TestLetterWithoutItsTokenIsNotSent(t *testing.T) {
	const hush = `{"orderId":"o1","leaseToken":"hush"}`
	for name, body := range map[string]string{
		"blanked when filed": hush,
		"blanked before":     string(messages.RedactBody([]byte(hush))),
		"in an array":        `{"coupons":[{"code":"c"},{"code":"d","lease_token":"hush"}]}`,
		"hidden in base64":   `{"data_base64":"aHVzaA=="}`,
	} {
		t.Run(name, func(t *testing.T) {
			l := deadletter.Read(deadletter.Incoming{
				MessageID: "m", Body: []byte(body), Headers: map[string]string{deadletter.HeaderQueue: "q"},
			})
			rows, unsent, err := deadletter.Publications([]deadletter.ToSend{{Letter: l}}, 1)
			if err != nil || len(rows) > 0 || !l.Redacted {
				t.Fatalf("redacted %t, %d rows, %v", l.Redacted, len(rows), err)
			}
			if got := unsent[0]; got.Outcome != deadletter.Skipped || !strings.Contains(got.Detail, "its lease token is not kept") {
				t.Errorf("ended as %+v", got)
			}
			l.Answered = true
			rows, unsent, err = deadletter.Publications([]deadletter.ToSend{{Letter: l}}, 1)
			if err != nil || len(rows) > 0 || unsent[0].Outcome != deadletter.Duplicate {
				t.Errorf("applied before: %d rows, %v, %v", len(rows), unsent, err)
			}
			l.Reason = deadletter.Misrouted
			if _, unsent, err = deadletter.Publications([]deadletter.ToSend{{Letter: l}}, 1); err != nil ||
				unsent[0].Outcome != deadletter.FailedAgain {
				t.Errorf("misrouted: %v, %v", unsent, err)
			}
		})
	}
	whole := deadletter.Read(deadletter.Incoming{
		MessageID: "m", Body: []byte(`{"leaseToken":null,"note":"[redacted]"}`),
		Headers: map[string]string{deadletter.HeaderQueue: "q"},
	})
	if whole.Redacted || whole.Sendable() != nil {
		t.Errorf("nothing was blanked: redacted %t, %v", whole.Redacted, whole.Sendable())
	}
}

func TestJobKeepsItsRate(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	j := deadletter.Job{Status: deadletter.Running, Plan: deadletter.Plan{Rate: 10}, Total: 1000, PaidUntil: now}
	sent := int64(0)
	for range 100 { // 30 seconds
		now = now.Add(300 * time.Millisecond)
		n := j.Step(now)
		j.SentSome(n)
		sent += n
	}
	if sent != 300 {
		t.Errorf("%d letters in 30 s, want 300", sent)
	}
	now = now.Add(time.Hour)
	if n := j.Step(now); n != 10 {
		t.Errorf("after an hour of rest %d letters at once, want those of a second", n)
	}
}

func TestAnswersBecomeOutcomesAndVerdicts(t *testing.T) {
	for name, test := range map[string]struct {
		outcomes []coupon.Outcome
		outcome  deadletter.Outcome
		verdict  deadletter.Verdict
	}{
		"applied":   {[]coupon.Outcome{{Status: coupon.Applied, Code: coupon.OK}}, deadletter.Applied, deadletter.WouldApply},
		"refused":   {[]coupon.Outcome{{Status: coupon.Refused, Code: "X"}}, deadletter.Applied, deadletter.WouldApply},
		"repeated":  {[]coupon.Outcome{{Status: coupon.Repeated, Code: coupon.DuplicateEvent}}, deadletter.Duplicate, deadletter.WouldRepeat},
		"same key":  {[]coupon.Outcome{{Status: coupon.Unchanged, Code: coupon.DuplicatePayment}}, deadletter.Duplicate, deadletter.WouldRepeat},
		"stale":     {[]coupon.Outcome{{Status: coupon.Unchanged, Code: coupon.NoopStale}}, deadletter.Stale, deadletter.WouldBeStale},
		"the most":  {[]coupon.Outcome{{Status: coupon.Unchanged}, {Status: coupon.Applied}}, deadletter.Applied, deadletter.WouldApply},
		"dead part": {[]coupon.Outcome{{Status: coupon.Applied}, {Status: coupon.Dead}}, deadletter.Applied, deadletter.StillFails},
	} {
		t.Run(name, func(t *testing.T) {
			outcome, _ := deadletter.Answered(test.outcomes)
			verdict, _ := deadletter.Judge(test.outcomes, true)
			if outcome != test.outcome || verdict != test.verdict {
				t.Errorf("%s and %s, want %s and %s", outcome, verdict, test.outcome, test.verdict)
			}
		})
	}
	applied := []coupon.Outcome{{Status: coupon.Applied}}
	if verdict, _ := deadletter.Judge(applied, false); verdict != deadletter.OutsideWindow {
		t.Errorf("outside the window: %s", verdict)
	}
}
