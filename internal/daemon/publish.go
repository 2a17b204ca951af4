package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"couponlease/internal/amqp"
	"couponlease/internal/outbox"
	"couponlease/internal/telemetry"
	"couponlease/internal/tracing"
)

// publications lets the outbox publish over AMQP.
type publications struct {
	publisher *amqp.Publisher
	seals     seals
	metrics   *telemetry.Registry
	traces    *tracing.Tracer // nil when nothing is traced
}

// PublishBatch implements outbox.Publisher.
func (p publications) PublishBatch(ctx context.Context, messages []outbox.Message, now time.Time) []error {
	list := make([]amqp.Publication, len(messages))
	var lost []error
	for i := range messages {
		var err error
		if list[i], err = p.publication(&messages[i], now); err != nil {
			lost = append(lost, err)
		}
	}
	p.seals.report(lost)
	var ended func([]error)
	if p.traces != nil {
		ended = p.traced(list)
	}
	began := time.Now()
	errs := p.publisher.PublishBatch(ctx, list)
	p.metrics.Observe(telemetry.ConfirmSeconds, time.Since(began).Seconds())
	for i, err := range errs {
		// A message that can never be sent is as hopeless as one that nobody takes.
		if errors.Is(err, amqp.ErrReturned) || errors.Is(err, amqp.ErrInvalid) {
			errs[i] = fmt.Errorf("%w: %w", outbox.ErrReturned, err)
		}
	}
	if ended != nil {
		ended(errs)
	}
	return errs
}

// publication gives the message to send. An error tells that its lease token is not in
// it.
func (p publications) publication(m *outbox.Message, now time.Time) (amqp.Publication, error) {
	body, err := p.seals.open(m)
	publication := amqp.Publication{
		Exchange: m.Exchange, Key: m.Key, Mandatory: m.Mandatory,
		ID: m.ID, Type: m.Type, Timestamp: m.Time, ContentType: m.ContentType, CorrelationID: m.CorrelationID,
		ReplyTo: m.ReplyTo, Headers: m.Headers, Body: body,
	}
	if m.DelayQueue != "" {
		publication.DelayQueue, publication.Delay = m.DelayQueue, max(0, m.NotBefore.Sub(now))
	}
	return publication, err
}

// whole are publications that send no answer without its lease token: whoever may have
// the key that is missing here can still be asked.
type whole struct{ publications }

// PublishBatch implements outbox.Publisher.
func (w whole) PublishBatch(ctx context.Context, messages []outbox.Message, now time.Time) []error {
	errs := make([]error, len(messages))
	var sent []outbox.Message
	var places []int
	for i := range messages {
		if _, errs[i] = w.seals.open(&messages[i]); errs[i] == nil {
			sent, places = append(sent, messages[i]), append(places, i)
		}
	}
	if len(sent) == 0 {
		return errs
	}
	for i, err := range w.publications.PublishBatch(ctx, sent, now) {
		errs[places[i]] = err
	}
	return errs
}
