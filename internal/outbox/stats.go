package outbox

import (
	"sync/atomic"
	"time"
)

// Stats is a snapshot of one shard as this relay sees it. The counters only grow.
type Stats struct {
	Shard int
	// Fence is the fence of the lease this relay holds, 0 while it does not.
	Fence int64

	Fetched   uint64 // rows seen pending; a row fetched twice counts twice
	Published uint64 // messages given to the publisher, every attempt
	Confirmed uint64 // messages a queue has taken
	Returned  uint64 // messages that came back
	Failed    uint64 // messages that failed in another way or were not tried
	Retries   uint64 // pages that have to be published again, in whole or in part
	Done      uint64 // rows removed
	Parked    uint64 // rows put aside
	Unparked  uint64 // rows taken up again

	// Lag is the age of the oldest row being worked on, 0 when nothing is pending.
	// It compares the clock of the store with this relay's.
	Lag time.Duration
}

type counts struct {
	fence                                           atomic.Int64
	fetched, published, confirmed, returned, failed atomic.Uint64
	retries, done, parked, unparked                 atomic.Uint64
	oldest                                          atomic.Pointer[time.Time]
}

// Stats returns the current figures of every shard.
func (r *Relay) Stats() []Stats {
	all := make([]Stats, len(r.shards))
	for i := range r.shards {
		c := &r.shards[i].counts
		all[i] = Stats{
			Shard:     i,
			Fence:     c.fence.Load(),
			Fetched:   c.fetched.Load(),
			Published: c.published.Load(),
			Confirmed: c.confirmed.Load(),
			Returned:  c.returned.Load(),
			Failed:    c.failed.Load(),
			Retries:   c.retries.Load(),
			Done:      c.done.Load(),
			Parked:    c.parked.Load(),
			Unparked:  c.unparked.Load(),
		}
		if oldest := c.oldest.Load(); oldest != nil {
			all[i].Lag = max(0, r.options.Now().Sub(*oldest))
		}
	}
	return all
}
