package tracing

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Message is one that was delivered.
type Message struct {
	Queue, ID, Type string
	// TraceParent is the W3C context that it came with, "" for none.
	TraceParent string
	// Attempt counts from 1. Size is that of the body, in bytes.
	Attempt, Size int
	// Began is when it was taken.
	Began time.Time
}

// Consumed is a message being followed; nil is one that is not.
type Consumed struct {
	tracer *Tracer
	span   trace.Span
}

// Consume begins to follow a message; nil when it is not to be followed.
func (t *Tracer) Consume(m Message) *Consumed {
	if t == nil || !t.mayFollow(m.TraceParent) {
		return nil
	}
	_, span := t.tracer.Start(parse(m.TraceParent), "process "+m.Queue,
		trace.WithSpanKind(trace.SpanKindConsumer), trace.WithTimestamp(m.Began))
	if !span.IsRecording() {
		return nil
	}
	span.SetAttributes(rabbitmq(m.Queue, m.ID, m.Type,
		semconv.MessagingOperationTypeProcess, semconv.MessagingOperationName("process"),
		semconv.MessagingMessageBodySize(m.Size), attribute.Int("couponlease.message.attempt", m.Attempt))...)
	return &Consumed{tracer: t, span: span}
}

// TraceParent is the context that effects of the message are to name.
func (c *Consumed) TraceParent() string { return format(c.span) }

// Submit says that so many requests go to the engine; the result, that they were
// answered.
func (c *Consumed) Submit(requests int) (answered func()) {
	_, span := c.tracer.tracer.Start(trace.ContextWithSpan(parse(""), c.span), "submit",
		trace.WithAttributes(attribute.Int("couponlease.requests", requests)))
	return func() { span.End() }
}

// Settle ends the span with what became of the message.
func (c *Consumed) Settle(action, reason string, failed bool) {
	c.span.SetAttributes(attribute.String("couponlease.action", action), attribute.String("couponlease.code", reason))
	if failed {
		fail(c.span, reason)
	}
	c.span.End()
}

func fail(span trace.Span, code string) {
	span.SetAttributes(semconv.ErrorTypeKey.String(code))
	span.SetStatus(codes.Error, code)
}

// Batch begins the span of one attempt at a transaction for messages that came with
// these contexts; nil when none of them is followed. end takes how often it was decided,
// and the class of its error, "" for none.
func (t *Tracer) Batch(traceParents []string) (end func(decided int, class string)) {
	var parents []string
	for _, traceParent := range traceParents {
		if isFollowed(traceParent) {
			parents = append(parents, traceParent)
		}
	}
	if t == nil || len(parents) == 0 {
		return nil
	}
	links := make([]trace.Link, 0, min(len(parents), linksMost))
	for _, parent := range parents[:min(len(parents), linksMost)] {
		links = append(links, trace.LinkFromContext(parse(parent)))
	}
	_, span := t.tracer.Start(parse(parents[0]), "batch", trace.WithLinks(links...),
		trace.WithAttributes(attribute.Int("couponlease.batch.size", len(traceParents))))
	return func(decided int, class string) {
		span.SetAttributes(attribute.Int("couponlease.batch.attempts", decided))
		if class != "" {
			fail(span, class)
		}
		span.End()
	}
}

// Publication is one message about to be sent.
type Publication struct {
	// Exchange is empty for one that goes to the queue of an asker.
	Exchange, ID, Type string
	// TraceParent is the context of what caused it.
	TraceParent string
	Size        int
}

// Publish begins the span of a publication. It gives the context that the message is to
// go out with, and what ends the span: with a word for what went wrong, "" for nothing.
// end is nil when nobody is followed; the context is then the one that came in.
func (t *Tracer) Publish(p Publication) (traceParent string, end func(failure string)) {
	if t == nil || !isFollowed(p.TraceParent) {
		return p.TraceParent, nil
	}
	destination := p.Exchange
	if destination == "" {
		destination = "reply"
	}
	_, span := t.tracer.Start(parse(p.TraceParent), "send "+destination, trace.WithSpanKind(trace.SpanKindProducer))
	if !span.IsRecording() {
		return p.TraceParent, nil
	}
	span.SetAttributes(rabbitmq(destination, p.ID, p.Type,
		semconv.MessagingOperationTypeSend, semconv.MessagingOperationName("send"),
		semconv.MessagingMessageBodySize(p.Size))...)
	return format(span), func(failure string) {
		if failure != "" {
			fail(span, failure)
		}
		span.End()
	}
}
