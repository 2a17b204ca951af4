package daemon

import (
	"context"
	"errors"
	"maps"
	"time"

	"couponlease/internal/amqp"
	"couponlease/internal/coupon"
	"couponlease/internal/outbox"
	"couponlease/internal/store"
	"couponlease/internal/telemetry"
	"couponlease/internal/tracing"
	"couponlease/router"
)

// openTraces prepares the export of traces, when there is somewhere to export to.
func (p *parts) openTraces(ctx context.Context) (err error) {
	if p.cfg.TraceEndpoint == "" {
		return nil
	}
	p.traces, err = tracing.Open(ctx, p.cfg.TraceEndpoint, tracing.Options{
		Share: p.cfg.Share(), HeedSender: p.cfg.HeedSender(),
		Service: "coupond", Version: p.version, Instance: p.owner, Logger: p.log,
	})
	return err
}

// tracesClosing is how long the last spans may take to be exported.
const tracesClosing = 3 * time.Second

// closeTraces exports what is left. What cannot be is lost, and nothing else.
func (p *parts) closeTraces() {
	ctx, cancel := context.WithTimeout(context.Background(), tracesClosing)
	defer cancel()
	if err := p.traces.Close(ctx); err != nil {
		p.log.Warn("the last traces are lost", "error", err)
	}
}

// follow gives what traces messages for the router, nil while nothing is traced.
func (p *parts) follow() func(router.Arrival) router.Span {
	if p.traces == nil {
		return nil
	}
	known := newObserver(p.metrics).known
	return func(a router.Arrival) router.Span {
		if !known[a.Type] {
			a.Type = telemetry.Other
		}
		consumed := p.traces.Consume(tracing.Message(a))
		if consumed == nil {
			return nil
		}
		return consumed
	}
}

// followBatch is the same for the engine.
func (p *parts) followBatch() func([]coupon.Request) func(int, error) {
	if p.traces == nil {
		return nil
	}
	return func(requests []coupon.Request) func(int, error) {
		contexts := make([]string, len(requests))
		for i := range requests {
			contexts[i] = requests[i].Trace
		}
		end := p.traces.Batch(contexts)
		if end == nil {
			return nil
		}
		return func(decided int, err error) {
			class := ""
			if err != nil {
				class = store.Classify(err).String()
			}
			end(decided, class)
		}
	}
}

// traceParent is the header that carries the context.
const traceParent = "traceparent"

// traced begins the spans of publications that are followed, and has them name those
// spans. The result ends them; nil when there are none.
func (p publications) traced(list []amqp.Publication) (ended func([]error)) {
	var ends map[int]func(string)
	for i := range list {
		context := list[i].Headers[traceParent]
		if context == "" {
			continue
		}
		own, end := p.traces.Publish(tracing.Publication{
			Exchange: list[i].Exchange, ID: list[i].ID, Type: list[i].Type, TraceParent: context, Size: len(list[i].Body),
		})
		if end == nil {
			continue
		}
		// The outbox keeps its own: it may publish the message again.
		list[i].Headers = maps.Clone(list[i].Headers)
		list[i].Headers[traceParent] = own
		if ends == nil {
			ends = map[int]func(string){}
		}
		ends[i] = end
	}
	if ends == nil {
		return nil
	}
	return func(errs []error) {
		for i, end := range ends {
			end(failure(errs[i]))
		}
	}
}

// failure names what became of a publication, "" for success.
func failure(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, outbox.ErrReturned):
		return "returned"
	case errors.Is(err, amqp.ErrNacked):
		return "refused"
	case errors.Is(err, amqp.ErrUnconfirmed):
		return "unconfirmed"
	default:
		return "not_sent"
	}
}
