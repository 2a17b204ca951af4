// Package engine is the only writer: whatever changes a coupon is a request
// submitted here. Requests that come at the same time share one transaction, and
// each gets its own answer after the commit.
package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
)

// Ledger runs decide on the rows that the requests need, locked in one global
// order, and writes what it changed: one transaction, all or nothing. It may
// call decide again, on a fresh world, when the first try could not be finished.
type Ledger interface {
	Apply(ctx context.Context, requests []coupon.Request, decide func(*coupon.World)) error
}

// Encode gives the outbox rows that publish what a transaction changed.
type Encode func(*coupon.Changes) ([]coupon.OutboxRow, error)

// Options shape an engine.
type Options struct {
	// Limits bound batches, writers, the queue and the waits.
	Limits batcher.Limits
	// Classify says what an error of the ledger means for its batch.
	Classify func(error) batcher.Class
	// OnPause tells that the ledger cannot be reached, and that it can again.
	OnPause func(paused bool)
	// OnCommit is called after each commit that left messages in the outbox.
	OnCommit func(rows []coupon.OutboxRow)
	// OnBatch is told the size of each batch that was committed.
	OnBatch func(requests int)
	// Follow begins to trace one attempt at a transaction. What it returns, unless that
	// is nil, is told how often the attempt was decided, and its error. Nil traces none.
	Follow func(requests []coupon.Request) (ended func(decided int, err error))
}

// Engine answers requests. Its methods may be called from any goroutine.
type Engine struct {
	ledger  Ledger
	encode  Encode
	options Options
	batches *batcher.Batcher[coupon.Request, coupon.Outcome]
	applied atomic.Int64
}

// New starts an engine; Close ends it.
func New(ledger Ledger, encode Encode, options Options) *Engine {
	e := &Engine{ledger: ledger, encode: encode, options: options}
	e.batches = batcher.New(e.apply, batcher.Options[coupon.Request]{
		Limits: options.Limits, Classify: options.Classify, OnPause: options.OnPause,
	})
	return e
}

// Submit asks one thing and waits for the answer, which is final and committed.
// An error means that there is no answer: *batcher.Error when this request is at
// fault, batcher.ErrClosed or the context's error when it may be asked again.
func (e *Engine) Submit(ctx context.Context, request coupon.Request) (coupon.Outcome, error) {
	return e.batches.Submit(ctx, request)
}

// SubmitAll asks several things in order; answers and errors are one each.
func (e *Engine) SubmitAll(ctx context.Context, requests []coupon.Request) ([]coupon.Outcome, []error) {
	return e.batches.SubmitAll(ctx, requests)
}

// Close takes no more requests and answers those that it took.
func (e *Engine) Close(ctx context.Context) error { return e.batches.Close(ctx) }

// Stats gives the figures of the batches.
func (e *Engine) Stats() batcher.Stats { return e.batches.Stats() }

// Applied is the number of requests committed so far.
func (e *Engine) Applied() int64 { return e.applied.Load() }

// errPanicked ends a trace; the batcher makes an error of the panic itself.
var errPanicked = errors.New("panicked")

// apply is one batch: one transaction, decided in the order of arrival.
func (e *Engine) apply(ctx context.Context, requests []coupon.Request) (outcomes []coupon.Outcome, err error) {
	decided := 0
	if e.options.Follow != nil {
		if ended := e.options.Follow(requests); ended != nil {
			defer func() { ended(decided, err) }()
		}
	}
	outcomes = make([]coupon.Outcome, len(requests))
	var rows []coupon.OutboxRow
	err = errPanicked // unless it returns
	err = e.ledger.Apply(ctx, requests, func(world *coupon.World) {
		decided++
		for i := range requests {
			outcomes[i] = coupon.Decide(world, &requests[i])
		}
		changes := world.Seal()
		encoded, err := e.encode(changes)
		if err != nil {
			// The core produced what cannot be said: its mistake, so the batch is
			// stopped before anything is written, and halved to find the request.
			panic(fmt.Errorf("encode outbox: %w", err))
		}
		changes.Outbox, rows = encoded, encoded
	})
	if err != nil {
		return nil, err
	}
	e.applied.Add(int64(len(requests)))
	if e.options.OnBatch != nil {
		e.options.OnBatch(len(requests))
	}
	if e.options.OnCommit != nil && len(rows) > 0 {
		e.options.OnCommit(rows)
	}
	return outcomes, nil
}
