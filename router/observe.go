package router

import (
	"cmp"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"couponlease/internal/coupon"
	"couponlease/messages"
)

// Observer is told what became of each message. Its methods must return quickly.
type Observer interface {
	Settled(Settled)
}

// Settled is what became of one message.
type Settled struct {
	Queue string
	// Type is empty when the message could not be read.
	Type     string
	Verdict  Verdict
	Outcomes []coupon.Outcome
	// Attempt counts from 1. Redelivered says that the broker delivered it before.
	Attempt     int
	Redelivered bool
	// Happened is the message's own time, Due when the broker was to deliver it; zero
	// when it has none.
	Happened, Due time.Time
	// Began is when it was taken, Took how long it was until its verdict was carried out.
	Began time.Time
	Took  time.Duration
}

// Arrival is a message that was just taken.
type Arrival struct {
	Queue, ID string
	// Type is empty when the message could not be read.
	Type string
	// TraceParent is the context that it names, "" for none.
	TraceParent   string
	Attempt, Size int
	Began         time.Time
}

// Span follows one message.
type Span interface {
	// TraceParent is the context that effects of the message are to name.
	TraceParent() string
	// Submit says that so many requests go to the engine; its result, that they were
	// answered.
	Submit(requests int) (answered func())
	// Settle ends the span with what became of the message.
	Settle(action, reason string, failed bool)
}

// follow begins the span of a message, nil when it is not traced.
func (c *consumer) follow(msg *message.Message, envelope *messages.Envelope, began time.Time) Span {
	if c.Follow == nil {
		return nil
	}
	return c.Follow(Arrival{
		Queue: c.queue, ID: cmp.Or(envelope.ID, msg.UUID), Type: envelope.Type,
		TraceParent: cmp.Or(envelope.TraceParent, msg.Metadata.Get("traceparent")),
		Attempt:     attempt(msg), Size: len(msg.Payload), Began: began,
	})
}

// submit has the effects of requests name the span, if there is one.
func submit(requests []coupon.Request, span Span) (answered func()) {
	if span == nil {
		return func() {}
	}
	trace := span.TraceParent()
	for i := range requests {
		requests[i].Trace = trace
	}
	return span.Submit(len(requests))
}
