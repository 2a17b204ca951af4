package reconcile_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/outbox"
	"couponlease/internal/reconcile"
)

// slowBooks take their time: a walk lasts until somebody ends it, or for the time given.
type slowBooks struct {
	walk    time.Duration
	mutex   sync.Mutex
	walks   int
	ended   error
	lastRun *reconcile.Run
}

func (b *slowBooks) locked(do func()) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	do()
}

func (b *slowBooks) last(context.Context) (*reconcile.Run, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.lastRun, nil
}

func (b *slowBooks) Now(context.Context) (time.Time, error) { return time.Now(), nil }

func (b *slowBooks) Suspects(
	ctx context.Context, _ reconcile.SuspectOptions, _ reconcile.Visitor,
) (reconcile.Looked, error) {
	b.locked(func() { b.walks++ })
	select {
	case <-ctx.Done():
		b.locked(func() { b.ended = context.Cause(ctx) })
		return reconcile.Looked{}, ctx.Err()
	case <-time.After(b.walk):
		return reconcile.Looked{}, nil
	}
}

func (b *slowBooks) StartRun(context.Context, reconcile.Run) error { return nil }

func (b *slowBooks) KeepFindings(context.Context, string, []coupon.Finding) (int64, error) {
	return 0, errors.New("nothing was found")
}

func (b *slowBooks) CloseFindings(context.Context, reconcile.Run, []string) (int64, error) {
	return 0, nil
}

func (b *slowBooks) EndRun(_ context.Context, run reconcile.Run) (int64, error) {
	run.Finished = time.Now()
	b.locked(func() { b.lastRun = &run })
	return 0, nil
}

func (b *slowBooks) Findings(context.Context, reconcile.FindingFilter) ([]reconcile.Record, error) {
	return nil, nil
}

func (b *slowBooks) Orders(context.Context, []string) (map[string]*coupon.Order, error) {
	return nil, nil
}

func (b *slowBooks) EachOrder(context.Context, func(*coupon.Order) error) error { return nil }

func (b *slowBooks) NoteRepair(context.Context, string, string) error { return nil }

func schedule(books *slowBooks, leases *outbox.Memory, owner string) *reconcile.Schedule {
	return &reconcile.Schedule{
		Books: books, Leases: leases, Part: 7, Owner: owner, Interval: time.Hour,
		Last:    books.last,
		Options: reconcile.RunOptions{Actor: owner}, Logger: slog.New(slog.DiscardHandler),
	}
}

// TestAScheduleRunsOncePerInterval: however many replicas there are, and however long a
// run takes.
func TestAScheduleRunsOncePerInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		books := &slowBooks{walk: 10 * time.Minute}
		leases := outbox.NewMemory(time.Now)
		ctx, cancel := context.WithCancel(t.Context())
		schedules := []*reconcile.Schedule{schedule(books, leases, "a"), schedule(books, leases, "b")}
		for _, s := range schedules {
			go s.Run(ctx)
		}
		for _, step := range []struct {
			after time.Duration
			walks int
		}{{5 * time.Minute, 1}, {time.Hour, 1}, {10 * time.Minute, 2}, {2 * time.Hour, 3}} {
			pass(step.after)
			books.locked(func() {
				if books.walks != step.walks {
					t.Errorf("%d walks after %v, want %d", books.walks, step.after, step.walks)
				}
			})
		}
		cancel()
		synctest.Wait()
		var done, failed uint64
		for _, s := range schedules {
			well, badly := s.Runs()
			done, failed = done+well, failed+badly
		}
		if failed != 0 || done < 2 {
			t.Errorf("%d runs done, %d failed", done, failed)
		}
	})
}

// TestALostRightEndsTheRun: who lets another replica take over stops.
func TestALostRightEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		books := &slowBooks{walk: 10 * time.Hour}
		leases := outbox.NewMemory(time.Now)
		s := schedule(books, leases, "a")
		ctx, cancel := context.WithCancel(t.Context())
		go s.Run(ctx)
		pass(time.Minute)
		fence, held, err := leases.Acquire(ctx, 7, "a", time.Minute)
		if err != nil || !held {
			t.Fatalf("a does not run: %v", err)
		}
		if err := leases.Release(ctx, 7, fence); err != nil {
			t.Fatal(err)
		}
		if _, held, err := leases.Acquire(ctx, 7, "b", 24*time.Hour); err != nil || !held {
			t.Fatalf("b cannot take over: %v", err)
		}
		pass(time.Minute)
		if done, failed := s.Runs(); done != 0 || failed != 1 || books.ended == nil {
			t.Errorf("%d runs done, %d failed, ended by %v", done, failed, books.ended)
		}
		cancel()
		synctest.Wait()
	})
}
