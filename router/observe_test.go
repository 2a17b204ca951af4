package router

import (
	"fmt"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"couponlease/internal/amqp"
	"couponlease/internal/coupon"
	"couponlease/messages"
)

const (
	senders = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	ours    = "00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01"
)

// observed notes what an observer and a tracer are told, and follows everything.
type observed struct {
	arrivals []Arrival
	settled  []Settled
	steps    []string
}

func (o *observed) Settled(s Settled) { o.settled = append(o.settled, s) }

func (o *observed) follow(a Arrival) Span {
	o.arrivals = append(o.arrivals, a)
	return o
}

func (o *observed) TraceParent() string { return ours }

func (o *observed) Submit(requests int) (answered func()) {
	o.steps = append(o.steps, fmt.Sprintf("submit %d", requests))
	return func() { o.steps = append(o.steps, "answered") }
}

func (o *observed) Settle(action, reason string, failed bool) {
	o.steps = append(o.steps, fmt.Sprintf("%s %s %v", action, reason, failed))
}

// lock asks for coupon C1 in a message that was held up, and delivered before.
func lock() *message.Message {
	msg := message.NewMessage("m1", []byte(`{"idempotencyKey":"k","code":"C1","orderId":"A"}`))
	for key, value := range map[string]string{
		amqp.MetaType: messages.TypeLockCoupon, amqp.MetaTimestamp: "2026-05-04T12:00:00Z", amqp.MetaReplyTo: "till",
		amqp.MetaRedelivered: "true", amqp.HeaderDueAt: "2026-05-04T11:59:58.5Z", HeaderAttempt: "3", "traceparent": senders,
	} {
		msg.Metadata.Set(key, value)
	}
	return msg
}

func TestObserversAreToldEverything(t *testing.T) {
	w, o := newTill(t, nil), &observed{}
	w.consumer.Observer, w.consumer.Follow = o, o.follow
	if err := w.consumer.handle(lock()); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	want := []Settled{{
		Queue: "commands", Type: messages.TypeLockCoupon, Verdict: Verdict{Action: Ack, Reason: "OK"}, Attempt: 3,
		Redelivered: true, Happened: at, Due: at.Add(-1500 * time.Millisecond),
		Outcomes: []coupon.Outcome{{Status: coupon.Applied, Code: coupon.OK}},
	}}
	if diff := cmp.Diff(want, o.settled, cmpopts.IgnoreFields(Settled{}, "Began", "Took"),
		cmpopts.IgnoreFields(coupon.Outcome{}, "Answer")); diff != "" {
		t.Errorf("settled (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Arrival{{
		Queue: "commands", ID: "m1", Type: messages.TypeLockCoupon, TraceParent: senders, Attempt: 3, Size: 48,
	}}, o.arrivals, cmpopts.IgnoreFields(Arrival{}, "Began")); diff != "" {
		t.Errorf("arrivals (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"submit 1", "answered", "ACK OK false"}, o.steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if got := w.last().Headers["traceparent"]; got != ours {
		t.Errorf("the answer names %s, want the span %s", got, ours)
	}
}

// A message that cannot be read is followed as well, by what its header names.
func TestUnreadableMessagesAreFollowed(t *testing.T) {
	w, o := newTill(t, nil), &observed{}
	w.consumer.Follow = o.follow
	msg := lock()
	msg.Payload = []byte(`{`)
	settled, span := w.consumer.settle(msg, time.Time{})
	if settled.Verdict.Reason != string(messages.BadJSON) || span == nil {
		t.Errorf("settled as %+v with span %v", settled.Verdict, span)
	}
	if o.arrivals[0].TraceParent != senders || o.arrivals[0].ID != "m1" || len(o.steps) != 0 {
		t.Errorf("arrival %+v, steps %q", o.arrivals[0], o.steps)
	}
}

func TestContextsPassThroughWithoutATracer(t *testing.T) {
	w := newTill(t, nil)
	if err := w.consumer.handle(lock()); err != nil {
		t.Fatal(err)
	}
	if got := w.last().Headers["traceparent"]; got != senders {
		t.Errorf("the answer names %s, want the sender's %s", got, senders)
	}
}
