package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/outbox"
)

func names(prefix string, n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("%s%02d", prefix, i))
	}
	return ids
}

func TestRowsArePublishedInOrderAndRemoved(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.broker.latency = 10 * time.Millisecond
		want := names("m", 90)
		for i := 0; i < len(want); i += 3 {
			w.commit(0, want[i:i+3]...)
		}
		relay, stop := w.start(w.process(), outbox.Options{Rows: 4, Messages: 5})
		time.Sleep(25 * time.Millisecond)
		if lag := relay.Stats()[0].Lag; lag != 25*time.Millisecond {
			t.Errorf("lag %v under way, want the age of the first row", lag)
		}
		w.awaitEmpty(0, time.Minute)
		time.Sleep(time.Second)
		if lag := relay.Stats()[0].Lag; lag != 0 {
			t.Errorf("lag %v with nothing pending", lag)
		}
		stop()
		if diff := cmp.Diff(want, w.broker.ids()); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
		if w.broker.most > 5 {
			t.Errorf("%d messages in one call, limit 5", w.broker.most)
		}
		got := relay.Stats()[0]
		want0 := outbox.Stats{Fetched: 30, Published: 90, Confirmed: 90, Done: 30}
		if diff := cmp.Diff(want0, got); diff != "" {
			t.Errorf("stats (-want +got):\n%s", diff)
		}
	})
}

func TestPagesAreBoundedByBytes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		size := len(row(t, "m00"))
		for _, id := range names("m", 6) {
			w.commit(0, id)
		}
		_, stop := w.start(w.process(), outbox.Options{Bytes: 2 * size})
		w.awaitEmpty(0, time.Minute)
		stop()
		if w.broker.most != 2 || w.broker.calls != 3 {
			t.Errorf("%d calls of at most %d messages, want 3 of 2", w.broker.calls, w.broker.most)
		}
	})
}

func TestLateCommitOfALowerIDIsPublished(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		_, stop := w.start(w.process(), outbox.Options{})
		late := w.store.Draw()
		w.commit(0, "early")
		w.awaitEmpty(0, time.Minute)
		w.store.Commit(0, late, row(w, "late"))
		w.awaitEmpty(0, time.Minute)
		stop()
		if diff := cmp.Diff([]string{"early", "late"}, w.broker.ids()); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
	})
}

func TestKickNeedsNoPoll(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		relay, stop := w.start(w.process(), outbox.Options{Shards: 2})
		defer stop()
		relay.Kick(-1)
		relay.Kick(2) // shards that do not exist
		time.Sleep(time.Hour)
		for i := range 5 {
			start := time.Now()
			w.commit(1, fmt.Sprint(i))
			relay.Kick(1)
			synctest.Wait()
			if len(w.broker.ids()) != i+1 || time.Since(start) != 0 {
				t.Errorf("kick %d: published %q after %v, want at once", i, w.broker.ids(), time.Since(start))
			}
			time.Sleep(10 * time.Second)
		}
		w.commit(1, "unannounced")
		w.await("poll", 500*time.Millisecond, func() bool { return len(w.broker.ids()) == 6 })

		time.Sleep(10 * time.Second)
		relay.Kick(1) // a little early: the commit is not visible yet
		time.Sleep(time.Millisecond)
		w.commit(1, "soon")
		w.await("busy poll", 20*time.Millisecond, func() bool { return len(w.broker.ids()) == 7 })
	})
}

func TestIdleShardIsLookedAtNowAndThen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.process()
		_, stop := w.start(p, outbox.Options{})
		time.Sleep(time.Hour + 123*time.Millisecond)
		start := time.Now()
		stop()
		if took := time.Since(start); took != 0 {
			t.Errorf("an idle relay took %v to stop", took)
		}
		if n := p.fetches.Load(); n < 7190 || n > 7210 {
			t.Errorf("%d fetches in an idle hour, want one each 500ms", n)
		}
		if n := p.unparks.Load(); n < 230 || n > 245 {
			t.Errorf("%d looks at parked rows in an idle hour, want one each 15s", n)
		}
	})
}

func TestKickDuringAnEmptyFetchIsNotLost(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.process()
		relay, stop := w.start(p, outbox.Options{PollBusy: time.Minute, PollIdle: time.Minute})
		defer stop()
		synctest.Wait()
		// The look ahead during the publication of one finds nothing; two is
		// committed and announced after it, while one is being published.
		w.broker.latency = time.Second
		w.commit(0, "one")
		relay.Kick(0)
		time.Sleep(500 * time.Millisecond)
		w.commit(0, "two")
		relay.Kick(0)
		w.await("both published", 2*time.Second, func() bool { return len(w.broker.ids()) == 2 })
	})
}

func TestNextPageIsFetchedWhileOneIsPublished(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.broker.latency = time.Second
		p := w.process()
		for _, id := range names("m", 6) {
			w.commit(0, id)
		}
		_, stop := w.start(p, outbox.Options{Rows: 2})
		defer stop()
		synctest.Wait()
		if n := p.fetches.Load(); n != 2 {
			t.Errorf("%d fetches while the first page is being published, want its own and one ahead", n)
		}
		start := time.Now()
		w.awaitEmpty(0, time.Minute)
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("three pages took %v, want only the broker's 3s", took)
		}
	})
}

func TestBlockedBrokerHoldsNoStoreCall(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.broker.answer = func(ctx context.Context, ids []string) []error {
			<-ctx.Done()
			return repeat(ctx.Err(), len(ids))
		}
		p := w.process()
		for _, id := range names("m", 500) {
			w.commit(0, id)
		}
		relay, stop := w.start(p, outbox.Options{PublishTimeout: 30 * time.Second})
		for range 60 {
			time.Sleep(time.Second)
			synctest.Wait()
			if n := p.open.Load(); n != 0 {
				t.Fatalf("%d store calls are open while the broker is blocked", n)
			}
		}
		if n := p.fetches.Load(); n > 6 {
			t.Errorf("%d fetches in a minute of a blocked broker", n)
		}
		if s := relay.Stats()[0]; s.Fence != 1 || s.Retries == 0 || s.Lag < 59*time.Second {
			t.Errorf("stats = %+v, want the first lease, retries, and a lag of a minute", s)
		}
		stop()
		if n := w.store.Count(0); n != 500 {
			t.Errorf("%d rows left, want all 500", n)
		}
	})
}

func TestMisbehavingPublisherConfirmsNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.broker.answer = func(_ context.Context, ids []string) []error {
			if w.broker.calls == 1 {
				return nil // no answer at all
			}
			return make([]error, len(ids)+3) // too many
		}
		p := &process{Store: w.store, publisher: uncounted{w.broker}}
		for _, id := range names("m", 3) {
			w.commit(0, id)
		}
		relay, stop := w.start(p, outbox.Options{})
		w.awaitEmpty(0, time.Minute)
		stop()
		if s := relay.Stats()[0]; s.Failed != 3 || s.Confirmed != 3 || s.Done != 3 {
			t.Errorf("stats = %+v, want 3 failed and then 3 confirmed", s)
		}
	})
}

// uncounted passes on the broker's answers without looking at their number.
type uncounted struct{ *broker }

func (u uncounted) PublishBatch(ctx context.Context, messages []outbox.Message, _ time.Time) []error {
	u.calls++
	return u.answer(ctx, make([]string, len(messages)))
}

func TestStoppingFinishesWhatIsUnderWay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.broker.latency = 3 * time.Second
		for _, id := range names("m", 4) {
			w.commit(0, id)
		}
		p := w.process()
		p.slow = 500 * time.Millisecond
		_, stop := w.start(p, outbox.Options{Rows: 2, Drain: 5 * time.Second})
		time.Sleep(time.Second) // half a second for the fetch, half a second of three published
		start := time.Now()
		stop()
		if took := time.Since(start); took != 2500*time.Millisecond {
			t.Errorf("stopped after %v, want when the page under way was confirmed", took)
		}
		if n := w.store.Count(0); n != 2 {
			t.Errorf("%d rows left, want the page that was not begun", n)
		}
		// The lease was released: the next relay need not wait for it to end.
		_, stop = w.start(w.process(), outbox.Options{})
		w.awaitEmpty(0, 4*time.Second)
		stop()
		if diff := cmp.Diff(names("m", 4), w.broker.ids()); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
	})
}

func TestNoStoreCallOutlivesTheRelay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.commit(0, "m")
		p := w.process()
		p.slow = 2 * time.Second
		w.broker.latency = time.Second
		_, stop := w.start(p, outbox.Options{})
		time.Sleep(2500 * time.Millisecond) // m is confirmed before the look ahead is over
		stop()
		if n := p.open.Load(); n != 0 || p.fetches.Load() != 2 {
			t.Errorf("%d store calls open after the relay ended, %d fetches", n, p.fetches.Load())
		}
	})
}

func TestStoppingIsBounded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.broker.answer = func(ctx context.Context, ids []string) []error {
			<-ctx.Done()
			return repeat(errUnconfirmed, len(ids))
		}
		w.commit(0, "m")
		_, stop := w.start(w.process(), outbox.Options{Drain: 2 * time.Second, PublishTimeout: time.Hour})
		time.Sleep(time.Second)
		start := time.Now()
		stop()
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("stopped after %v, want the 2s of the drain", took)
		}
		if n := w.store.Count(0); n != 1 {
			t.Errorf("%d rows left, want the one that was not confirmed", n)
		}
	})
}

// flaky is a store whose fetches and removals fail while it is away.
type flaky struct {
	*process
	away atomic.Bool
}

var errAway = errors.New("database is away")

func (f *flaky) Pending(ctx context.Context, shard int, fence int64, except []int64, rows, bytes int) ([]outbox.Row, error) {
	if f.away.Load() {
		return nil, errAway
	}
	return f.process.Pending(ctx, shard, fence, except, rows, bytes)
}

func (f *flaky) Done(ctx context.Context, shard int, fence int64, ids []int64) error {
	if f.away.Load() {
		return errAway
	}
	return f.process.Done(ctx, shard, fence, ids)
}

func (f *flaky) Acquire(ctx context.Context, shard int, owner string, ttl time.Duration) (int64, bool, error) {
	if f.away.Load() {
		return 0, false, errAway
	}
	return f.process.Acquire(ctx, shard, owner, ttl)
}

func TestStoreComesAndGoes(t *testing.T) {
	for name, test := range map[string]struct {
		away  time.Duration
		fence int64
		most  int // messages published
	}{
		"for less than the lease": {5 * time.Second, 1, 4},
		// What was confirmed when the lease ended is published again.
		"for longer than the lease": {time.Minute, 2, 6},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.broker.latency = time.Second
				f := &flaky{process: w.process()}
				relay, err := outbox.NewRelay(f, w.broker, outbox.Options{Owner: "a", Shards: 1, Rows: 1})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { defer close(done); relay.Run(ctx) }()
				for _, id := range names("m", 4) {
					w.commit(0, id)
				}
				time.Sleep(500 * time.Millisecond)
				f.away.Store(true)
				time.Sleep(test.away)
				f.away.Store(false)
				w.awaitEmpty(0, time.Minute)
				if s := relay.Stats()[0]; s.Fence != test.fence {
					t.Errorf("fence %d, want %d", s.Fence, test.fence)
				}
				cancel()
				<-done
				if ids := w.broker.ids(); len(ids) > test.most {
					t.Errorf("published %q, want at most %d", ids, test.most)
				}
				if diff := cmp.Diff(names("m", 4), first(w.broker.ids())); diff != "" {
					t.Errorf("first sightings (-want +got):\n%s", diff)
				}
			})
		})
	}
}
