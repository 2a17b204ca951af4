// Package outbox publishes what the engine committed.
//
// The engine writes, in the transaction that changes coupons, one row for each
// shard: the ordered messages of that transaction. A Relay takes rows from the
// Store, gives their messages to a Publisher and removes the rows when the
// broker has confirmed them.
//
// What is guaranteed:
//
//   - Every committed row is published at least once. The relay takes whatever is
//     there, lowest id first, and never walks past an id: rows that become visible
//     late are not lost.
//   - One relay works on a shard at a time, held by a lease with a fence.
//   - Rows of a shard are published in id order, so the messages of one coupon
//     leave in commit order. When a message is refused inside a batch, its row and
//     all behind it are published again, in order; a consumer may see a message
//     more than once and the last sighting of each is in order. A row some of whose
//     messages were confirmed is published again whole.
//   - A message the broker has nowhere to put does not stop its shard: after a few
//     attempts what is left of its row is parked and tried again later, out of
//     order. A row that cannot be read is parked at once.
//   - No store call is open while the publisher is at work, except the fetch that
//     looks ahead and the removal of what was confirmed before, both short.
package outbox

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Relay moves rows of all shards from a store to a publisher. Several relays may
// share a store.
type Relay struct {
	store     Store
	publisher Publisher
	options   Options
	shards    []shard
}

// shard is what outlives the sessions of one shard.
type shard struct {
	kick   chan struct{}
	counts counts
}

// NewRelay returns a relay; Run starts it. It fails without an owner or with an
// impossible number of shards.
func NewRelay(store Store, publisher Publisher, options Options) (*Relay, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &Relay{store: store, publisher: publisher, options: options, shards: make([]shard, options.Shards)}
	for i := range r.shards {
		r.shards[i].kick = make(chan struct{}, 1)
	}
	return r, nil
}

// Run serves all shards until ctx ends. Then it takes no more rows, gives what is
// being published Options.Drain to be confirmed and removed, releases its leases
// and returns.
func (r *Relay) Run(ctx context.Context) {
	var shards sync.WaitGroup
	for number := range r.shards {
		shards.Go(func() { r.serve(ctx, number) })
	}
	shards.Wait()
}

// Kick tells the relay that a row of the shard was just committed. It never
// blocks; several kicks may count as one, and none is needed for correctness.
// Kicks for shards that are not served by this relay, or do not exist, do nothing.
func (r *Relay) Kick(number int) {
	if number < 0 || number >= len(r.shards) {
		return
	}
	select {
	case r.shards[number].kick <- struct{}{}:
	default:
	}
}

func (r *Relay) serve(ctx context.Context, number int) {
	log := r.options.Logger.With("shard", number)
	for failures := 0; ctx.Err() == nil; {
		lease, err := r.acquire(ctx, number)
		switch {
		case err != nil && ctx.Err() != nil:
			return
		case err != nil:
			failures++
			log.Warn("cannot acquire outbox shard", "error", err, "failures", failures)
			sleep(ctx, r.options.backoff(failures))
		case lease == nil:
			failures = 0
			sleep(ctx, r.options.spread(r.options.Lease/3))
		default:
			failures = 0
			log.Info("outbox shard acquired", "fence", lease.fence)
			if err := r.hold(ctx, lease); err != nil {
				log.Warn("outbox shard lost", "fence", lease.fence, "error", err)
				sleep(ctx, r.options.backoff(1))
			}
		}
	}
}

// hold works on a shard for as long as the lease lasts. It returns nil when the
// relay was told to stop.
func (r *Relay) hold(stop context.Context, lease *lease) error {
	work, cancel := context.WithCancelCause(context.WithoutCancel(stop))
	defer cancel(nil)
	// Told to stop, the session still has a while for what it has in hand.
	drain := context.AfterFunc(stop, func() {
		sleep(work, r.options.Drain)
		cancel(errDrained)
	})
	defer drain()

	var keeper sync.WaitGroup
	keeping, enough := context.WithCancel(work)
	keeper.Go(func() { lease.keep(keeping, cancel) })

	s := newSession(r, lease, stop, work)
	counts := &r.shards[lease.shard].counts
	counts.fence.Store(lease.fence)
	err := s.run()
	counts.fence.Store(0)
	counts.oldest.Store(nil)

	enough()
	keeper.Wait()
	lease.release(context.WithoutCancel(stop))
	if errors.Is(err, errStopped) || errors.Is(err, errDrained) {
		return nil
	}
	return err
}

// sleep waits for d or for the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
