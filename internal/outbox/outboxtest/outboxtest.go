// Package outboxtest holds the tests that every outbox.Store has to pass.
package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/outbox"
)

// Harness is a store under test, empty, with the means to do what the engine and
// the passing of time do to it.
type Harness interface {
	Store() outbox.Store
	// Draw takes the next row id from the store's sequence.
	Draw(t testing.TB) int64
	// Commit makes a row visible under an id that was drawn.
	Commit(t testing.TB, shard int, id int64, payload []byte)
	// Parked returns the parked rows of a shard, lowest id first.
	Parked(t testing.TB, shard int) []outbox.Parked
	// Pass lets d go by on the store's clock: it may move the clock, or back-date
	// what was stored.
	Pass(t testing.TB, d time.Duration)
}

// Run tests a store. It opens a harness for each test.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for _, test := range []struct {
		name string
		run  func(*bench)
	}{
		{"a lease has one holder", leaseHasOneHolder},
		{"a lease ends and is taken over with a greater fence", leaseEnds},
		{"renewing extends the lease and keeps the fence", leaseIsRenewed},
		{"an ended lease is taken anew even by its owner", leaseIsTakenAnew},
		{"releasing frees the lease at once", leaseIsReleased},
		{"a stale release frees nothing", staleRelease},
		{"of many that ask one gets the lease", leaseRace},
		{"shards do not disturb each other", shardsAreSeparate},
		{"rows come by id, whatever the order of commits", rowsByID},
		{"a lower id that commits late is not lost", lateCommit},
		{"payloads come back byte for byte", payloadBytes},
		{"rows in flight are left out", rowsInFlight},
		{"fetches are limited by rows and bytes", fetchLimits},
		{"removing rows twice is no error", doneTwice},
		{"an old fence can do nothing", oldFence},
		{"a lease that ended without a successor still counts", endedWithoutSuccessor},
		{"parked rows are out of the way and come back", parkAndUnpark},
		{"parked rows come back longest parked first", unparkInTurn},
		{"parking what is gone is no error", parkGone},
		{"an ended context does nothing", endedContext},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := open(t)
			test.run(&bench{T: t, Harness: h, store: h.Store()})
		})
	}
}

const (
	ttl  = 10 * time.Second
	rest = time.Minute
	many = 1000    // rows
	huge = 1 << 20 // bytes
)

// bench is a test with its harness; its helpers end the test on any error.
type bench struct {
	*testing.T
	Harness
	store outbox.Store
}

func (b *bench) acquire(shard int, owner string) (fence int64, held bool) {
	b.Helper()
	fence, held, err := b.store.Acquire(b.Context(), shard, owner, ttl)
	if err != nil {
		b.Fatalf("Acquire(%d, %s): %v", shard, owner, err)
	}
	return fence, held
}

func (b *bench) mustAcquire(shard int, owner string) (fence int64) {
	b.Helper()
	fence, held := b.acquire(shard, owner)
	if !held || fence <= 0 {
		b.Fatalf("Acquire(%d, %s) = fence %d, held %v; want to hold it", shard, owner, fence, held)
	}
	return fence
}

// commit makes n rows visible and returns their ids.
func (b *bench) commit(shard, n int) (ids []int64) {
	b.Helper()
	for range n {
		id := b.Draw(b)
		b.Commit(b, shard, id, payload(id))
		ids = append(ids, id)
	}
	return ids
}

func payload(id int64) []byte { return fmt.Appendf(nil, `{"v":1,"messages":[{"id":"row-%09d"}]}`, id) }

func (b *bench) pending(shard int, fence int64, except []int64, rows, bytes int) (ids []int64) {
	b.Helper()
	found, err := b.store.Pending(b.Context(), shard, fence, except, rows, bytes)
	if err != nil {
		b.Fatalf("Pending: %v", err)
	}
	for _, row := range found {
		ids = append(ids, row.ID)
	}
	return ids
}

func (b *bench) check(what string, err error) {
	b.Helper()
	if err != nil {
		b.Fatalf("%s: %v", what, err)
	}
}

func (b *bench) equal(what string, want, got any) {
	b.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		b.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// wantFenced checks that every use of a fence is refused.
func (b *bench) wantFenced(shard int, fence int64, id int64) {
	b.Helper()
	ctx := b.Context()
	_, pending := b.store.Pending(ctx, shard, fence, nil, many, huge)
	_, unpark := b.store.Unpark(ctx, shard, fence, 0, many)
	for call, err := range map[string]error{
		"Pending": pending,
		"Done":    b.store.Done(ctx, shard, fence, []int64{id}),
		"Park":    b.store.Park(ctx, shard, fence, []outbox.Parking{{ID: id, Reason: "stale"}}),
		"Unpark":  unpark,
	} {
		if !errors.Is(err, outbox.ErrFenced) {
			b.Errorf("%s with an old fence = %v, want ErrFenced", call, err)
		}
	}
}

func endedContext(b *bench) {
	fence := b.mustAcquire(0, "a")
	ids := b.commit(0, 2)
	b.check("Park", b.store.Park(b.Context(), 0, fence, []outbox.Parking{{ID: ids[0], Reason: "no route"}}))
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	_, _, acquire := b.store.Acquire(ctx, 0, "a", ttl)
	_, pending := b.store.Pending(ctx, 0, fence, nil, many, huge)
	_, unpark := b.store.Unpark(ctx, 0, fence, 0, many)
	for call, err := range map[string]error{
		"Acquire": acquire,
		"Pending": pending,
		"Done":    b.store.Done(ctx, 0, fence, ids),
		"Park":    b.store.Park(ctx, 0, fence, []outbox.Parking{{ID: ids[1], Reason: "no route"}}),
		"Unpark":  unpark,
		"Release": b.store.Release(ctx, 0, fence),
	} {
		if !errors.Is(err, context.Canceled) {
			b.Errorf("%s with an ended context = %v, want its error", call, err)
		}
	}
	b.equal("pending rows", ids[1:], b.pending(0, fence, nil, many, huge))
	if _, held := b.acquire(0, "b"); held {
		b.Error("the lease was released")
	}
}

func sorted(ids []int64) []int64 { return slices.Sorted(slices.Values(ids)) }
