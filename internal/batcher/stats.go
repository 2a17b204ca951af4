package batcher

import "sync/atomic"

// Stats is a snapshot of a batcher. The counters only grow.
type Stats struct {
	Submitted uint64 // items accepted into a queue
	Items     uint64 // items taken into a batch; those given up in the queue are not
	Batches   uint64 // batches formed
	Runs      uint64 // calls of run: batches, their halves and every retry
	Halvings  uint64 // batches cut in two because of a guilty item
	Retries   uint64 // runs that failed and were repeated
	Panics    uint64 // runs that panicked

	Queued int // items waiting in the queues now
	Active int // items in a batch now
	// Paused tells that a batch keeps failing for a reason outside it, and
	// PauseCause is its latest error.
	Paused     bool
	PauseCause error
}

// MeanSize is the mean number of items in a batch, 0 before the first.
func (s Stats) MeanSize() float64 {
	if s.Batches == 0 {
		return 0
	}
	return float64(s.Items) / float64(s.Batches)
}

type counts struct {
	submitted, items, batches, runs, halvings, retries, panics atomic.Uint64
	active                                                     atomic.Int64
}

// Stats returns the current figures. They are read one by one, so sums may be
// off by what happens in between.
func (b *Batcher[In, Out]) Stats() Stats {
	s := Stats{
		Submitted: b.counts.submitted.Load(),
		Items:     b.counts.items.Load(),
		Batches:   b.counts.batches.Load(),
		Runs:      b.counts.runs.Load(),
		Halvings:  b.counts.halvings.Load(),
		Retries:   b.counts.retries.Load(),
		Panics:    b.counts.panics.Load(),
		Active:    int(b.counts.active.Load()),
	}
	s.Paused, s.PauseCause = b.outage.state()
	for _, queue := range b.queues {
		s.Queued += len(queue)
	}
	return s
}
