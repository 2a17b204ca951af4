package handlers

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
	"couponlease/messages"
)

var at = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// parse reads a plain JSON message as a foreign producer would send it.
func parse(t *testing.T, messageType, body string) messages.Envelope {
	t.Helper()
	envelope, err := messages.Parse(messages.Delivery{
		Body: []byte(body), ContentType: "application/json", MessageID: "m-1", Type: messageType, Timestamp: at,
	})
	if err != nil {
		t.Fatal(err)
	}
	return envelope
}

func TestMessagesBecomeRequests(t *testing.T) {
	token := coupon.HashToken("secret-token")
	tests := []struct {
		name, messageType, body string
		want                    coupon.Fact
	}{
		{"a full order", messages.TypeOrderPlaced, `{"orderId":"A","customerId":"u1","quoteId":"q","supersedes":"A0",
			"parentOrderId":"P","revision":3,"leaseSeconds":60,"payable":{"amount":100,"currency":"EUR"},
			"coupons":[{"code":" C1 ","leaseToken":"secret-token","discount":{"amount":5,"currency":"EUR"}},{"code":"c1"},
			{"code":"c2"}],"occurredAt":"2026-03-01T09:00:00Z"}`,
			coupon.OrderPlaced{Order: "A", Customer: "u1", Payable: 100, Currency: "EUR", Lease: time.Minute, QuoteID: "q",
				Supersedes: "A0", Parent: "P", Revision: 3,
				Wanted: []coupon.Wanted{{Coupon: "c1", Token: &token, Discount: 5}, {Coupon: "c2"}}}},
		{"an open-ended lease", messages.TypeOrderPlaced, `{"orderId":"A","customerId":"u1","coupons":[],"leaseSeconds":null,
			"payable":{"amount":0,"currency":"EUR"},"occurredAt":"2026-03-01T09:00:00Z"}`,
			coupon.OrderPlaced{Order: "A", Customer: "u1", Currency: "EUR", OpenEnded: true, Wanted: []coupon.Wanted{}}},
		{"a payment at full price", messages.TypePaymentSucceeded, `{"orderId":"A","paymentId":"p1","discounted":false,
			"parentOrderId":"P","amount":{"amount":100,"currency":"EUR"},"occurredAt":"2026-03-01T09:00:00Z"}`,
			coupon.PaymentSucceeded{Order: "A", Parent: "P", Payment: "p1", Amount: 100, Currency: "EUR", FullPrice: true}},
		{"a close", messages.TypeOrderClosed, `{"orderId":"A","reason":"timeout","occurredAt":"2026-03-01T09:00:00Z"}`,
			coupon.OrderClosed{Order: "A", Reason: "timeout"}},
		{"a refund", messages.TypeRefundApproved, `{"orderId":"A","refundId":"r1","reason":"chargeback",
			"amount":{"amount":40,"currency":"EUR"},"occurredAt":"2026-03-01T09:00:00Z"}`,
			coupon.RefundApproved{Order: "A", Refund: "r1", Amount: 40, Currency: "EUR", Reason: "chargeback"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			envelope := parse(t, test.messageType, test.body)
			requests, err := Table()[test.messageType](envelope)
			if err != nil {
				t.Fatal(err)
			}
			want := []coupon.Request{{
				ID: "m-1", Hash: envelope.Hash, At: at.Add(-time.Hour), Fact: test.want,
			}}
			if diff := cmp.Diff(want, requests); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEveryConsumedMessageHasATranslation(t *testing.T) {
	table := Table()
	for _, contract := range messages.Contracts() {
		if (table[contract.Type] != nil) != contract.Kind.Incoming() {
			t.Errorf("%s (%s): translation %t", contract.Type, contract.Kind, table[contract.Type] != nil)
		}
	}
}

func TestTheTimerAndTheSweeperAskTheSame(t *testing.T) {
	timer := coupon.Timer{
		Coupon: "c1", Order: "A", LeaseID: "0198-lease", TokenHash: coupon.HashToken("x"), Version: 2, Due: at,
	}
	m, err := timerMessage([]coupon.Timer{timer})
	if err != nil {
		t.Fatal(err)
	}
	requests, err := LeaseExpired(parse(t, messages.TypeLeaseExpired, string(m.Body)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]coupon.Request{DueRequest(timer)}, requests); diff != "" {
		t.Error(diff)
	}
	renewed := timer
	renewed.Version = 3
	if DueRequest(renewed).ID == DueRequest(timer).ID {
		t.Error("a renewed lease asks under the id of its old timer")
	}
}

func TestTimersOfOneSecondShareAMessage(t *testing.T) {
	var timers []coupon.Timer
	for i := range messages.MaxLeasesPerTimer + 5 {
		timers = append(timers, coupon.Timer{
			Coupon: "c", Order: "A", LeaseID: fmt.Sprintf("lease-%04d", i), Version: 2,
			Due: at.Add(time.Duration(i) * time.Millisecond),
		})
	}
	timers = append(timers, coupon.Timer{Coupon: "c", Order: "A", LeaseID: "late", Version: 2, Due: at.Add(time.Second)})
	var sizes []int
	for _, group := range groupTimers(timers) {
		sizes = append(sizes, len(group))
		m, err := timerMessage(group)
		if err != nil {
			t.Fatal(err)
		}
		for _, timer := range group {
			if m.NotBefore.Before(timer.Due) || m.NotBefore.Sub(timer.Due) >= time.Second {
				t.Errorf("lease due at %s has its message at %s", timer.Due, m.NotBefore)
			}
		}
	}
	// The first is due on the full second; 1 ms to 100 ms and the last end with
	// the next one.
	if diff := cmp.Diff([]int{1, messages.MaxLeasesPerTimer, 5}, sizes); diff != "" {
		t.Error(diff)
	}
}
