package batcher_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"couponlease/internal/batcher"
)

func TestCloseFinishesWhatIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{before: func(context.Context, []int) error { time.Sleep(time.Second); return nil }}
		b := batcher.New(r.run, batcher.Options[int]{Limits: batcher.Limits{Workers: 1, Batch: 2, Queue: 4}})
		var accepted sync.WaitGroup
		for item := range 5 { // one runs, four wait in the queue
			accepted.Go(func() {
				if _, err := b.Submit(t.Context(), item); err != nil {
					t.Errorf("accepted item %d: %v", item, err)
				}
			})
			synctest.Wait()
		}
		refused := make(chan error, 1)
		go func() { _, err := b.Submit(t.Context(), 99); refused <- err }()
		synctest.Wait()
		start := time.Now()
		var closers sync.WaitGroup
		for range 3 {
			closers.Go(func() { closeNow(t, b) })
		}
		if err := <-refused; !errors.Is(err, batcher.ErrClosed) {
			t.Errorf("item waiting for room got %v, want ErrClosed", err)
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("item waiting for room was told after %v", waited)
		}
		for range 20 {
			if _, err := b.Submit(t.Context(), 100); !errors.Is(err, batcher.ErrClosed) {
				t.Errorf("Submit after Close = %v, want ErrClosed", err)
			}
		}
		closers.Wait()
		accepted.Wait()
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("drained in %v, want 3s", took)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.Close(ended); err != nil {
			t.Errorf("Close of a drained batcher = %v", err)
		}
	})
}

func TestCloseOutOfTimeAnswersEverybody(t *testing.T) {
	away := func(context.Context, []int) error { return errAway }
	hangs := func(ctx context.Context, _ []int) error { <-ctx.Done(); return ctx.Err() }
	commits := func(ctx context.Context, _ []int) error { <-ctx.Done(); time.Sleep(time.Second); return nil }
	for name, test := range map[string]struct {
		before func(context.Context, []int) error
		first  error // what the item of the running batch gets
		took   time.Duration
	}{
		"while the database is away": {away, batcher.ErrClosed, 5 * time.Second},
		"while a run hangs":          {hangs, context.Canceled, 5 * time.Second},
		"while a run still succeeds": {commits, nil, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &recorder{before: test.before}
				b := batcher.New(r.run, batcher.Options[int]{
					Limits: batcher.Limits{Workers: 1, Batch: 1, Attempt: time.Hour}, Classify: classify,
				})
				answers := make([]chan error, 3)
				for item := range answers {
					answers[item] = make(chan error, 1)
					go func() { _, err := b.Submit(t.Context(), item); answers[item] <- err }()
					synctest.Wait()
				}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				start := time.Now()
				if err := b.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Close = %v, want its context's error", err)
				}
				if took := time.Since(start); took != test.took {
					t.Errorf("Close took %v, want %v", took, test.took)
				}
				for item, want := range []error{test.first, batcher.ErrClosed, batcher.ErrClosed} {
					if got := <-answers[item]; !errors.Is(got, want) {
						t.Errorf("item %d got %v, want %v", item, got, want)
					}
				}
			})
		})
	}
}
