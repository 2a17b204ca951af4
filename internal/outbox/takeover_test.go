package outbox_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/outbox"
)

// ofCoupon keeps the messages of one coupon; ids are "coupon/number".
func ofCoupon(coupon string, ids []string) (own []string) {
	for _, id := range ids {
		if strings.HasPrefix(id, coupon+"/") {
			own = append(own, id)
		}
	}
	return own
}

func TestKilledRelayLosesNothing(t *testing.T) {
	for _, point := range points {
		for nth := range 4 {
			t.Run(fmt.Sprintf("%s, time %d", point, nth), func(t *testing.T) {
				inWorld(t, func(t *testing.T, w *world) {
					w.broker.latency = 10 * time.Millisecond
					want := map[string][]string{}
					for i := range 30 {
						coupons := []string{string(rune('a' + i%3)), string(rune('a' + i%5))}
						var ids []string
						for _, coupon := range slices.Compact(coupons) {
							id := fmt.Sprintf("%s/%02d", coupon, i)
							ids = append(ids, id)
							want[coupon] = append(want[coupon], id)
						}
						w.commit(0, ids...)
					}
					var reached atomic.Int32
					victim := w.process()
					victim.at = func(at string) bool {
						return at == point && reached.Add(1) > int32(nth)
					}
					_, stopVictim := w.start(victim, outbox.Options{Rows: 6, Messages: 4})
					w.await("killed", time.Minute, victim.killed.Load)
					_, stop := w.start(w.process(), outbox.Options{Rows: 6, Messages: 4})
					w.awaitEmpty(0, time.Minute)
					stopVictim()
					stop()
					for coupon, ids := range want {
						if diff := cmp.Diff(ids, ofCoupon(coupon, first(w.broker.ids()))); diff != "" {
							t.Errorf("first sightings of coupon %s (-want +got):\n%s", coupon, diff)
						}
					}
				})
			})
		}
	}
}

func TestOneOfTwoRelaysWorks(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, b := &broker{}, &broker{}
		wantPublished := func(byA, byB int) {
			t.Helper()
			if gotA, gotB := len(a.ids()), len(b.ids()); gotA != byA || gotB != byB {
				t.Errorf("published %d by a, %d by b; want %d and %d", gotA, gotB, byA, byB)
			}
		}
		_, stopA := w.start(&process{Store: w.store, publisher: a}, outbox.Options{})
		synctest.Wait()
		_, stopB := w.start(&process{Store: w.store, publisher: b}, outbox.Options{})
		for i := range 600 { // longer than many leases
			w.commit(0, fmt.Sprint(i))
			time.Sleep(time.Second / 2)
		}
		synctest.Wait()
		wantPublished(600, 0)
		stopA()
		w.commit(0, "last")
		// b asks again after at most a third of a lease.
		w.awaitEmpty(0, 4*time.Second)
		wantPublished(600, 1)
		stopB()
	})
}

// A relay that is frozen while it publishes finds its lease gone when it wakes.
// It must neither remove rows nor publish on, whatever its publisher says.
func TestFrozenRelayDoesNothingWhenItWakes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		wake := make(chan struct{})
		frozen := &broker{answer: func(_ context.Context, ids []string) []error {
			<-wake // not even the end of its context
			return repeat(nil, len(ids))
		}}
		victim := &process{Store: frozenLease{w.store, &atomic.Bool{}, wake}, publisher: frozen}
		for _, id := range names("m", 5) {
			w.commit(0, id)
		}
		relay, stopVictim := w.start(victim, outbox.Options{Rows: 2})
		synctest.Wait()
		// The successor gets the rows, but cannot publish them yet.
		w.broker.answer = failing(func(string) error { return errNacked })
		other, stop := w.start(w.process(), outbox.Options{})
		w.await("taken over", 15*time.Second, func() bool { return other.Stats()[0].Fence == 2 })

		close(wake)
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := w.store.Count(0); n != 5 {
			t.Errorf("%d rows left, want 5: the frozen relay removed some", n)
		}
		if n := len(frozen.ids()); n != 2 {
			t.Errorf("the frozen relay published %d messages, want the 2 it had in hand", n)
		}
		if s := relay.Stats()[0]; s.Fence != 0 || victim.removals.Load() != 0 {
			t.Errorf("the frozen relay still works on the shard: %+v, %d removals", s, victim.removals.Load())
		}
		stopVictim()
		stop()
	})
}

// frozenLease lets the first lease be taken; renewals hang until wake.
type frozenLease struct {
	*outbox.Memory
	taken *atomic.Bool
	wake  <-chan struct{}
}

func (f frozenLease) Acquire(ctx context.Context, shard int, owner string, ttl time.Duration) (int64, bool, error) {
	if !f.taken.Swap(true) {
		return f.Memory.Acquire(ctx, shard, owner, ttl)
	}
	<-f.wake
	return 0, false, context.DeadlineExceeded
}

// A relay whose clock runs behind the store's believes in its lease for too long.
// The store refuses what it does then.
func TestStoreFencesARelayThatBelievesInItsLease(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var ahead time.Duration
		w.store = outbox.NewMemory(func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return time.Now().Add(ahead)
		})
		slow := &broker{latency: time.Second}
		relay, stopVictim := w.start(&process{Store: w.store, publisher: slow}, outbox.Options{Rows: 1})
		synctest.Wait()
		for _, id := range names("m", 3) {
			w.commit(0, id)
		}
		w.await("the victim publishes", time.Minute, func() bool { return len(slow.ids()) == 1 })
		mu.Lock()
		ahead = time.Hour
		mu.Unlock()
		fence, held, err := w.store.Acquire(t.Context(), 0, "successor", time.Hour)
		if fence != 2 || !held || err != nil {
			t.Fatalf("successor: fence %d, held %v, %v", fence, held, err)
		}
		w.await("the victim knows, before it renews its lease", 2*time.Second, func() bool { return relay.Stats()[0].Fence == 0 })
		time.Sleep(30 * time.Second)
		if n := w.store.Count(0); n != 3 {
			t.Errorf("%d rows left, want 3: the old relay removed some", n)
		}
		// It learned of the successor from the page fetched ahead or the removal.
		if ids := slow.ids(); len(ids) > 2 {
			t.Errorf("the old relay went on to publish %q", ids)
		}
		stopVictim()
	})
}

// Another lease shows in the renewal, even one under the same name.
func TestRenewalThatFindsAnotherLeaseEndsTheSession(t *testing.T) {
	for _, owner := range []string{"operator", "relay"} {
		t.Run(owner, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				options := outbox.Options{Owner: "relay", PollIdle: time.Minute, PollBusy: time.Minute}
				relay, stop := w.start(w.process(), options)
				synctest.Wait()
				if err := w.store.Release(t.Context(), 0, 1); err != nil {
					t.Fatal(err)
				}
				if _, held, err := w.store.Acquire(t.Context(), 0, owner, time.Hour); !held || err != nil {
					t.Fatal(held, err)
				}
				w.await("session over", 4*time.Second, func() bool { return relay.Stats()[0].Fence != 1 })
				stop()
			})
		})
	}
}

// The relay stops before the store lets anybody else in, whatever the calls took.
func TestRelayStopsBeforeItsLeaseEnds(t *testing.T) {
	for name, test := range map[string]struct {
		slow time.Duration // of the calls that take or renew the lease
		away time.Duration // since when they fail
		want time.Duration // when the relay has stopped
	}{
		"never renewed":              {0, time.Second, 8 * time.Second},
		"never renewed, slow calls":  {time.Second, 2 * time.Second, 8 * time.Second},
		"renewed twice":              {0, 8 * time.Second, 14 * time.Second},
		"renewed twice, slow calls":  {time.Second, 12 * time.Second, 16 * time.Second},
		"renewal hangs for too long": {5 * time.Second, 6 * time.Second, 8 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				start := time.Now()
				slow := slowLease{w.store, test.slow, start.Add(test.away)}
				options := outbox.Options{Lease: 9 * time.Second, LeaseMargin: time.Second}
				relay, stop := w.start(&process{Store: slow, publisher: w.broker}, options)
				w.await("acquired", time.Minute, func() bool { return relay.Stats()[0].Fence != 0 })
				w.await("stopped", time.Minute, func() bool { return relay.Stats()[0].Fence == 0 })
				if took := time.Since(start); took != test.want {
					t.Errorf("stopped after %v, want %v", took, test.want)
				}
				stop()
			})
		})
	}
}

// slowLease takes its time to answer, and is away from some time on.
type slowLease struct {
	*outbox.Memory
	slow  time.Duration
	until time.Time
}

func (s slowLease) Acquire(ctx context.Context, shard int, owner string, ttl time.Duration) (int64, bool, error) {
	if !time.Now().Before(s.until) {
		return 0, false, errAway
	}
	fence, held, err := s.Memory.Acquire(ctx, shard, owner, ttl)
	time.Sleep(s.slow)
	return fence, held, err
}
