// Package batcher groups many concurrent calls into few: group commit of
// anything.
//
// Each Submit hands in one item and blocks until that item has its own answer.
// A fixed number of workers take whatever is queued, at most Limits.Batch
// items, and give it to one run function. There is no timer unless a linger is
// asked for: while a worker runs, items pile up, so batches grow with load and
// an idle system pays nothing for them.
//
// What happens to a batch that fails depends on the class of its error:
//
//	Transient  nothing was done; the same batch again, later, for as long as it takes
//	Ambiguous  it may have been done; the same batch again, run finds out itself
//	Poison     some item is at fault; halve until it is alone, only it gets the error
//	Fatal      a rule was broken; every item gets the error, nothing is tried again
package batcher

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// RunFunc does the work of one batch and returns one answer per item, in the
// items' order. It owns the slice it gets. It may be called again with the same
// items after an error, it is called from several workers at once, and it has
// to return soon after its context ends.
type RunFunc[In, Out any] func(ctx context.Context, items []In) ([]Out, error)

// Batcher collects items and runs them in batches. Its methods may be called
// from any goroutine. The zero value is of no use, see New.
type Batcher[In, Out any] struct {
	run     RunFunc[In, Out]
	options Options[In]
	seed    maphash.Seed

	// running is the context of every run; it ends when Close runs out of time.
	running context.Context
	cancel  context.CancelFunc
	outage  *outage
	counts  counts

	// entry is held for reading while an item enters a queue, so that no queue
	// is closed under a sender.
	entry   sync.RWMutex
	closed  bool
	closing chan struct{}
	once    sync.Once

	queues  []chan *call[In, Out]
	workers atomic.Int32
	drained chan struct{}
}

// New starts a batcher's workers. They end when Close returns.
func New[In, Out any](run RunFunc[In, Out], options Options[In]) *Batcher[In, Out] {
	options = options.withDefaults()
	running, cancel := context.WithCancel(context.Background())
	b := &Batcher[In, Out]{
		run:     run,
		options: options,
		seed:    maphash.MakeSeed(),
		running: running,
		cancel:  cancel,
		outage:  newOutage(options.OnPause),
		closing: make(chan struct{}),
		drained: make(chan struct{}),
	}
	queues := 1
	if options.Key != nil {
		queues = options.Limits.Workers
	}
	for range queues {
		b.queues = append(b.queues, make(chan *call[In, Out], max(1, options.Limits.Queue/queues)))
	}
	b.workers.Store(int32(options.Limits.Workers))
	for i := range options.Limits.Workers {
		go b.work(b.queues[i%queues])
	}
	return b
}

// Submit hands in one item and waits for its answer.
//
// Errors: *Error when the batch failed for this item, ErrClosed after Close, and
// the context's error when the caller stopped waiting. After the last two the
// item may have been run all the same, so the caller has to be ready to hand it
// in again.
func (b *Batcher[In, Out]) Submit(ctx context.Context, item In) (Out, error) {
	c, err := b.enqueue(ctx, item)
	if err != nil {
		var none Out
		return none, err
	}
	return c.wait(ctx)
}

// SubmitAll hands in the items in order and waits for all of them. Both results
// have one entry per item; errors are those of Submit. The items need not end up
// in one batch.
func (b *Batcher[In, Out]) SubmitAll(ctx context.Context, items []In) ([]Out, []error) {
	calls := make([]*call[In, Out], len(items))
	outs, errs := make([]Out, len(items)), make([]error, len(items))
	for i, item := range items {
		calls[i], errs[i] = b.enqueue(ctx, item)
	}
	for i, c := range calls {
		if errs[i] == nil {
			outs[i], errs[i] = c.wait(ctx)
		}
	}
	return outs, errs
}

func (b *Batcher[In, Out]) enqueue(ctx context.Context, item In) (*call[In, Out], error) {
	queue := b.queues[0]
	if b.options.Key != nil {
		queue = b.queues[maphash.String(b.seed, b.options.Key(item))%uint64(len(b.queues))]
	}
	c := &call[In, Out]{item: item, answer: make(chan answer[Out], 1)}

	if ctx.Err() != nil {
		return nil, fmt.Errorf("submit to the batch queue: %w", ctx.Err())
	}
	b.entry.RLock()
	defer b.entry.RUnlock()
	if b.closed {
		return nil, ErrClosed
	}
	select {
	case queue <- c:
		b.counts.submitted.Add(1)
		return c, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for room in the batch queue: %w", ctx.Err())
	case <-b.closing:
		return nil, ErrClosed
	}
}

// Close takes no more items, finishes what is queued and returns nil. When ctx
// ends first, the context of the runs is cancelled and every item that is left
// gets ErrClosed; Close then returns the context's error. Either way no run is
// active and every accepted item is answered when it returns.
func (b *Batcher[In, Out]) Close(ctx context.Context) error {
	b.once.Do(func() {
		// Senders that wait for room leave first, or the lock would never be free.
		close(b.closing)
		b.entry.Lock()
		defer b.entry.Unlock()
		b.closed = true
		for _, queue := range b.queues {
			close(queue)
		}
	})
	defer b.cancel()
	select {
	case <-b.drained:
		return nil
	default:
	}
	select {
	case <-b.drained:
		return nil
	case <-ctx.Done():
		b.cancel()
		<-b.drained
		return fmt.Errorf("close batcher before it was drained: %w", ctx.Err())
	}
}
