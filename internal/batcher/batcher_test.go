package batcher_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/batcher"
)

// recorder is a run function that doubles its items and remembers its batches.
type recorder struct {
	mu      sync.Mutex
	batches [][]int
	// before, when set, decides about a batch before it is answered.
	before func(ctx context.Context, items []int) error
}

func (r *recorder) run(ctx context.Context, items []int) ([]int, error) {
	r.mu.Lock()
	r.batches = append(r.batches, slices.Clone(items))
	r.mu.Unlock()
	if r.before != nil {
		if err := r.before(ctx, items); err != nil {
			return nil, err
		}
	}
	outs := make([]int, len(items))
	for i, item := range items {
		outs[i] = 2 * item
	}
	return outs, nil
}

func (r *recorder) sizes() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	sizes := make([]int, len(r.batches))
	for i, batch := range r.batches {
		sizes[i] = len(batch)
	}
	return sizes
}

func numbers(n int) []int {
	items := make([]int, n)
	for i := range items {
		items[i] = i + 1
	}
	return items
}

// closeNow drains a batcher that nothing holds up.
func closeNow[In, Out any](t *testing.T, b *batcher.Batcher[In, Out]) {
	t.Helper()
	if err := b.Close(t.Context()); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func TestBatchesGrowWhileAWorkerIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{before: func(context.Context, []int) error { time.Sleep(10 * time.Millisecond); return nil }}
		b := batcher.New(r.run, batcher.Options[int]{Limits: batcher.Limits{Workers: 1, Batch: 100}})
		var submitters sync.WaitGroup
		submit := func(item int) {
			submitters.Go(func() {
				if out, err := b.Submit(t.Context(), item); err != nil || out != 2*item {
					t.Errorf("Submit(%d) = %d, %v", item, out, err)
				}
			})
		}
		start := time.Now()
		submit(1)
		synctest.Wait()
		for item := range 250 {
			submit(item)
		}
		submitters.Wait()
		if diff := cmp.Diff([]int{1, 100, 100, 50}, r.sizes()); diff != "" {
			t.Errorf("batch sizes (-want +got):\n%s", diff)
		}
		if took := time.Since(start); took != 40*time.Millisecond {
			t.Errorf("took %v: a worker waited although items were queued", took)
		}
		s := b.Stats()
		if s.Submitted != 251 || s.Items != 251 || s.Batches != 4 || s.Runs != 4 || s.MeanSize() != 62.75 {
			t.Errorf("stats = %+v, mean %v", s, s.MeanSize())
		}
		closeNow(t, b)
	})
}

func TestLingerFillsABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		b := batcher.New(r.run, batcher.Options[int]{Limits: batcher.Limits{Workers: 1, Batch: 3, Linger: 5 * time.Millisecond}})
		start := time.Now()
		var submitters sync.WaitGroup
		for item := range 4 {
			submitters.Go(func() {
				time.Sleep(time.Duration(item) * time.Millisecond)
				if _, err := b.Submit(t.Context(), item); err != nil {
					t.Error(err)
				}
			})
		}
		submitters.Wait()
		if diff := cmp.Diff([]int{3, 1}, r.sizes()); diff != "" {
			t.Errorf("batch sizes (-want +got):\n%s", diff)
		}
		if took := time.Since(start); took != 8*time.Millisecond {
			t.Errorf("took %v, want 8ms: full at 2ms, the last lingers from 3ms to 8ms", took)
		}
		closeNow(t, b)
	})
}

func TestFullQueueHoldsSubmittersBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		r := &recorder{before: func(context.Context, []int) error { <-gate; return nil }}
		b := batcher.New(r.run, batcher.Options[int]{Limits: batcher.Limits{Workers: 1, Batch: 1, Queue: 2}})
		var submitters sync.WaitGroup
		for item := range 5 {
			submitters.Go(func() {
				if _, err := b.Submit(t.Context(), item); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		if s := b.Stats(); s.Submitted != 3 || s.Queued != 2 || s.Active != 1 {
			t.Errorf("accepted %d, queued %d, active %d; want 3, 2, 1", s.Submitted, s.Queued, s.Active)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.Submit(ctx, 99); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Submit to a full queue = %v, want the context's error", err)
		}
		close(gate)
		submitters.Wait()
		if s := b.Stats(); s.Items != 5 {
			t.Errorf("%d items were run, want the 5 that did not give up", s.Items)
		}
		closeNow(t, b)
	})
}

func TestOneSubmitterLeavingDisturbsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		r := &recorder{before: func(ctx context.Context, items []int) error { <-gate; return ctx.Err() }}
		b := batcher.New(r.run, batcher.Options[int]{Limits: batcher.Limits{Workers: 1}})
		ctx, leave := context.WithCancel(t.Context())
		left, stayed := make(chan error, 2), make(chan error, 3)
		submit := func(ctx context.Context, item int, errs chan<- error) {
			go func() { _, err := b.Submit(ctx, item); errs <- err }()
			synctest.Wait()
		}
		submit(ctx, 1, left) // in the running batch
		submit(t.Context(), 2, stayed)
		submit(ctx, 3, left) // in the queue
		submit(t.Context(), 4, stayed)
		leave()
		for range 2 {
			if err := <-left; !errors.Is(err, context.Canceled) {
				t.Errorf("leaving submitter got %v", err)
			}
		}
		close(gate)
		for range 2 {
			if err := <-stayed; err != nil {
				t.Errorf("staying submitter got %v", err)
			}
		}
		if diff := cmp.Diff([][]int{{1}, {2, 4}}, r.batches); diff != "" {
			t.Errorf("batches (-want +got): an item given up in the queue is not run\n%s", diff)
		}
		if _, err := b.Submit(ctx, 5); !errors.Is(err, context.Canceled) {
			t.Errorf("Submit with an ended context = %v", err)
		}
		closeNow(t, b)
	})
}

func TestSubmitAllKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := errors.New("bad item")
		r := &recorder{before: func(_ context.Context, items []int) error {
			if slices.Contains(items, 13) {
				return bad
			}
			return nil
		}}
		b := batcher.New(r.run, batcher.Options[int]{Limits: batcher.Limits{Workers: 1, Batch: 8, Queue: 4}})
		outs, errs := b.SubmitAll(t.Context(), numbers(20))
		for i, item := range numbers(20) {
			switch {
			case item == 13 && !errors.Is(errs[i], bad):
				t.Errorf("item 13: error %v", errs[i])
			case item != 13 && (errs[i] != nil || outs[i] != 2*item):
				t.Errorf("item %d: %d, %v", item, outs[i], errs[i])
			}
		}
		closeNow(t, b)
	})
}

func TestKeysStayInOrderOnOneWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		seen, busy := map[string][]string{}, map[string]bool{}
		most := 0
		enter := func(items []string) {
			mu.Lock()
			defer mu.Unlock()
			own := map[string]bool{}
			for _, item := range items {
				key := item[:1]
				seen[key] = append(seen[key], item)
				if busy[key] {
					t.Errorf("key %s is run by two workers at once", key)
				}
				own[key] = true
			}
			maps.Copy(busy, own)
			most = max(most, len(busy)-len(own))
		}
		leave := func(items []string) {
			mu.Lock()
			defer mu.Unlock()
			for _, item := range items {
				delete(busy, item[:1])
			}
		}
		run := func(_ context.Context, items []string) ([]string, error) {
			enter(items)
			time.Sleep(time.Millisecond)
			leave(items)
			return items, nil
		}
		b := batcher.New(run, batcher.Options[string]{
			Limits: batcher.Limits{Workers: 4, Batch: 7, Queue: 16},
			Key:    func(item string) string { return item[:1] },
		})
		var producers sync.WaitGroup
		want := map[string][]string{}
		for _, key := range strings.Split("abcdefghij", "") {
			var items []string
			for i := range 50 {
				items = append(items, fmt.Sprintf("%s%02d", key, i))
			}
			want[key] = items
			producers.Go(func() {
				if _, errs := b.SubmitAll(t.Context(), items); errors.Join(errs...) != nil {
					t.Error(errors.Join(errs...))
				}
			})
		}
		producers.Wait()
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("order by key (-want +got):\n%s", diff)
		}
		if most == 0 {
			t.Error("no two keys were run at the same time")
		}
		closeNow(t, b)
	})
}
