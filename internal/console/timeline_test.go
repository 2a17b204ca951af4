package console

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
)

func TestTimelineOfTheIncident(t *testing.T) {
	w := newWorld(t)
	w.incident("Coupon_Demo_1001")
	line, found, err := w.Timeline(t.Context(), " COUPON_demo_1001 ")
	if err != nil || !found {
		t.Fatalf("found %t, %v", found, err)
	}
	for _, output := range []struct {
		format Format
		name   string
	}{{FormatText, "incident.txt"}, {FormatJSON, "incident.json"}} {
		var b bytes.Buffer
		if err := Write(&b, output.format, line); err != nil {
			t.Fatal(err)
		}
		golden(t, output.name, b.String())
	}
	if !line.Reviewed("A", coupon.ReviewLatePaymentTaken) || line.Reviewed("B", coupon.ReviewLatePaymentTaken) {
		t.Errorf("reviews: %+v", line.Reviews)
	}
}

func TestTimelineOfACouponThatNeverExisted(t *testing.T) {
	w := newWorld(t)
	if _, found, err := w.Timeline(t.Context(), "nowhere"); found || err != nil {
		t.Fatalf("nobody has heard of the coupon: found %t, %v", found, err)
	}
	w.ask("typo", placed("A", "nowhere"))
	line, found, err := w.Timeline(t.Context(), "nowhere")
	if err != nil || !found {
		t.Fatalf("an order has named it: found %t, %v", found, err)
	}
	var b bytes.Buffer
	if err := line.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "unknown.txt", b.String())
}

// both gives both forms of a timeline.
func (l Timeline) both(t *testing.T) (text, document string) {
	t.Helper()
	var forms [2]bytes.Buffer
	for i, format := range []Format{FormatText, FormatJSON} {
		if err := Write(&forms[i], format, l); err != nil {
			t.Fatal(err)
		}
	}
	return forms[0].String(), forms[1].String()
}

func TestTimelineOfAnOrder(t *testing.T) {
	w := newWorld(t)
	w.incident("Coupon_Demo_1001")
	for name, q := range map[string]TimelineQuery{
		"order": {Order: "B", Limit: MaxTimeline}, "payment": {Payment: "pay-B", Limit: MaxTimeline},
	} {
		line, found, err := w.TimelineOf(t.Context(), q)
		if err != nil || !found {
			t.Fatalf("%s: found %t, %v", name, found, err)
		}
		text, document := line.both(t)
		golden(t, "order.txt", text)
		golden(t, "order.json", document)
	}
	for _, q := range []TimelineQuery{{Order: "nobody", Limit: 1}, {Payment: "nobody", Limit: 1}} {
		if _, found, err := w.TimelineOf(t.Context(), q); found || err != nil {
			t.Errorf("%+v: found %t, %v", q, found, err)
		}
	}
}

func TestTimelinesComeInPages(t *testing.T) {
	w := newWorld(t)
	w.incident("c")
	whole, _, err := w.Timeline(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	var entries []Entry
	for skip, pages := 0, 0; ; pages++ {
		line, found, err := w.TimelineOf(t.Context(), TimelineQuery{Code: "c", Skip: skip, Limit: 7})
		if err != nil || !found || len(line.Entries) > 7 || pages > 3 {
			t.Fatalf("page %d has %d entries: found %t, %v", pages, len(line.Entries), found, err)
		}
		entries = append(entries, line.Entries...)
		if skip = line.Next; skip == 0 {
			break
		}
		if text, _ := line.both(t); !strings.Contains(text, fmt.Sprintf("there is more: --skip %d", skip)) {
			t.Errorf("it does not say how to go on:\n%s", text)
		}
	}
	if diff := cmp.Diff(whole.Entries, entries); diff != "" {
		t.Errorf("(-whole +pages):\n%s", diff)
	}
	for _, q := range []TimelineQuery{{Code: "c"}, {Code: "c", Limit: MaxTimeline + 1}, {Code: "c", Skip: -1, Limit: 1}} {
		if _, _, err := w.TimelineOf(t.Context(), q); !errors.Is(err, ErrUsage) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

// TestTimelinesTellDeadLettersAndNoToken: neither a token nor its hash is told, wherever
// they are kept.
func TestTimelinesTellDeadLettersAndNoToken(t *testing.T) {
	w := newWorld(t)
	w.incident("c")
	w.sql(`insert into dead_letter (dead_letter_id, message_id, queue, kind, status, outcome, reason, error, fingerprint,
			host, service_version, attempts, failures, first_failed_at, last_failed_at, filed_at, changed_at, order_id, note,
			exchange, routing_key, content_type, correlation_id, reply_to, headers, body_hash, body_size, body)
		values ('00000000-0000-7000-8000-000000000001', 'a-paid', 'coupon-payment-succeeded', 'PaymentSucceeded', 'RESOLVED',
			'APPLIED', 'HANDLER_ERROR', 'it failed', 'f', 'h', 'v', 5, 2, '2026-03-01', '2026-03-01', '2026-03-01 10:00Z',
			'2026-03-01 11:00Z', 'A', 'mended', '', '', '', '', '', '{"leaseToken": "hush"}', '\x00', 0, 'hush')`)
	var hash string
	if err := w.store.EachHistory(t.Context(), func(h coupon.History) error {
		hash = hex.EncodeToString(h.Leases[0].TokenHash[:])
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, q := range []TimelineQuery{{Code: "c", Limit: 100}, {Order: "A", Limit: 100}} {
		line, _, err := w.TimelineOf(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		text, document := line.both(t)
		for _, says := range []string{
			"dead letter PaymentSucceeded: HANDLER_ERROR after 5 attempts, failed 2 times so", "it failed",
			"dead letter PaymentSucceeded: RESOLVED", "APPLIED, mended",
		} {
			if !strings.Contains(text, says) {
				t.Errorf("%+v: it does not say %q:\n%s", q, says, text)
			}
		}
		for _, secret := range []string{"hush", hash, "tokenHash"} {
			if strings.Contains(text+document, secret) {
				t.Errorf("%+v: it tells %q", q, secret)
			}
		}
	}
}
