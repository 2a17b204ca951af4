package batcher

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"
)

const maxStackBytes = 16 << 10

// call is one submitted item on its way.
type call[In, Out any] struct {
	item   In
	answer chan answer[Out]
	// settled is set by whoever comes first: the worker that takes the item, or
	// the submitter that stops waiting. An item given up in the queue is not run.
	settled atomic.Bool
}

type answer[Out any] struct {
	out Out
	err error
}

func (c *call[In, Out]) claim() bool { return c.settled.CompareAndSwap(false, true) }

func (c *call[In, Out]) wait(ctx context.Context) (Out, error) {
	select {
	case a := <-c.answer:
		return a.out, a.err
	case <-ctx.Done():
		c.claim()
		var none Out
		return none, fmt.Errorf("wait for the batch: %w", ctx.Err())
	}
}

func (b *Batcher[In, Out]) work(queue <-chan *call[In, Out]) {
	defer func() {
		if b.workers.Add(-1) == 0 {
			close(b.drained)
		}
	}()
	calls := make([]*call[In, Out], 0, b.options.Limits.Batch)
	for first := range queue {
		// The first submitter that was answered comes back at once; let the others
		// get to the queue too, or every other batch is tiny.
		runtime.Gosched()
		calls = b.collect(queue, calls[:0], first)
		if len(calls) > 0 {
			b.execute(calls)
		}
		clear(calls)
	}
}

// collect takes what is queued behind first, up to a full batch, and leaves out
// what its submitter has given up.
func (b *Batcher[In, Out]) collect(queue <-chan *call[In, Out], calls []*call[In, Out], first *call[In, Out]) []*call[In, Out] {
	var full <-chan time.Time
	if b.options.Limits.Linger > 0 {
		timer := time.NewTimer(b.options.Limits.Linger)
		defer timer.Stop()
		full = timer.C
	}
	for next, ok := first, true; ok; {
		if next.claim() {
			calls = append(calls, next)
		}
		if len(calls) == b.options.Limits.Batch {
			return calls
		}
		select {
		case next, ok = <-queue:
			continue
		default:
		}
		if full == nil {
			return calls
		}
		select {
		case next, ok = <-queue:
		case <-full:
			return calls
		}
	}
	return calls
}

func (b *Batcher[In, Out]) execute(calls []*call[In, Out]) {
	b.counts.batches.Add(1)
	b.counts.items.Add(uint64(len(calls)))
	b.counts.active.Add(int64(len(calls)))
	defer b.counts.active.Add(-int64(len(calls)))
	items := make([]In, len(calls))
	for i, c := range calls {
		items[i] = c.item
	}
	b.resolve(calls, items)
}

// resolve answers every call. It halves a batch that holds a guilty item; the
// halves keep the order.
func (b *Batcher[In, Out]) resolve(calls []*call[In, Out], items []In) {
	outs, err := b.persist(items)
	var failure *Error
	if errors.As(err, &failure) && failure.Class == Poison && len(calls) > 1 {
		b.counts.halvings.Add(1)
		half := len(calls) / 2
		b.resolve(calls[:half], items[:half])
		b.resolve(calls[half:], items[half:])
		return
	}
	for i, c := range calls {
		a := answer[Out]{err: err}
		if err == nil {
			a.out = outs[i]
		}
		c.answer <- a
	}
}

// persist runs a batch until it has a final result: answers, *Error, or
// ErrClosed when the batcher ends first.
func (b *Batcher[In, Out]) persist(items []In) ([]Out, error) {
	for failures := 1; ; failures++ {
		if b.running.Err() != nil {
			return nil, ErrClosed
		}
		outs, class, err := b.attempt(items)
		if err == nil {
			b.outage.end()
			return outs, nil
		}
		if b.running.Err() != nil {
			return nil, fmt.Errorf("%w: %w", ErrClosed, err)
		}
		if class != Transient && class != Ambiguous {
			// Whoever judged the batch is there; only a panic proves nothing.
			if _, panicked := errors.AsType[*PanicError](err); !panicked {
				b.outage.end()
			}
			return nil, &Error{Class: class, Size: len(items), Err: err}
		}
		b.counts.retries.Add(1)
		pause := failures >= b.options.Limits.PauseAfter
		if over := b.outage.wait(b.running, b.options.backoff(failures), pause, err); over {
			failures = 0
		}
	}
}

// attempt is one run with its error judged.
func (b *Batcher[In, Out]) attempt(items []In) ([]Out, Class, error) {
	b.counts.runs.Add(1)
	ctx, cancel := context.WithTimeout(b.running, b.options.Limits.Attempt)
	defer cancel()
	// A copy, because run may sort its slice and the batch may be run again.
	outs, err := b.guard(ctx, slices.Clone(items))
	if err == nil && len(outs) != len(items) {
		return nil, Fatal, &LengthError{Items: len(items), Answers: len(outs)}
	}
	if err == nil {
		return outs, 0, nil
	}
	if _, panicked := errors.AsType[*PanicError](err); panicked {
		b.counts.panics.Add(1)
		return nil, Poison, err
	}
	if ctx.Err() != nil {
		// Cut off in the middle, perhaps while committing.
		return nil, Ambiguous, err
	}
	return nil, b.options.Classify(err), err
}

func (b *Batcher[In, Out]) guard(ctx context.Context, items []In) (outs []Out, err error) {
	defer func() {
		if value := recover(); value != nil {
			stack := debug.Stack()
			err = &PanicError{Value: value, Stack: stack[:min(len(stack), maxStackBytes)]}
		}
	}()
	return b.run(ctx, items)
}
