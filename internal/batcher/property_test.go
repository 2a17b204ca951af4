package batcher_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"couponlease/internal/batcher"
)

// ledger is a database in small: it takes a batch or none of it, remembers what
// it took, and fails as it is told.
type ledger struct {
	mu      sync.Mutex
	guilty  map[int]bool
	fails   []error // one for each run, in turn; nil afterwards
	taken   map[int]bool
	history []int
}

func (l *ledger) run(_ context.Context, items []int) ([]int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var failure error
	if len(l.fails) > 0 {
		failure, l.fails = l.fails[0], l.fails[1:]
	}
	if errors.Is(failure, errAway) {
		return nil, failure
	}
	if slices.ContainsFunc(items, func(item int) bool { return l.guilty[item] }) {
		return nil, errBad
	}
	outs := make([]int, len(items))
	for i, item := range items {
		if !l.taken[item] {
			l.taken[item] = true
			l.history = append(l.history, item)
		}
		outs[i] = -item
	}
	return outs, failure // taken all the same when the commit's answer is lost
}

// Whatever the sizes, faults and guilty items: every innocent item is taken once
// and gets its own answer, every guilty one gets the error, keys stay in order.
func TestEveryItemGetsItsOwnAnswer(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const perKey = 20
		keys := rapid.IntRange(1, 6).Draw(rt, "keys")
		l := &ledger{
			taken:  map[int]bool{},
			guilty: rapid.MapOfN(rapid.IntRange(1, keys*perKey), rapid.Just(true), 0, 12).Draw(rt, "guilty"),
			fails:  rapid.SliceOfN(rapid.SampledFrom([]error{nil, errAway, errUnsure}), 0, 12).Draw(rt, "fails"),
		}
		options := batcher.Options[int]{
			Limits: batcher.Limits{
				Batch:   rapid.IntRange(1, 16).Draw(rt, "batch"),
				Workers: rapid.IntRange(1, 3).Draw(rt, "workers"),
				Queue:   rapid.IntRange(1, 32).Draw(rt, "queue"),
				Linger:  rapid.SampledFrom([]time.Duration{0, time.Millisecond}).Draw(rt, "linger"),
			},
			Classify: classify,
			Key:      func(item int) string { return strconv.Itoa((item - 1) / perKey) },
		}
		synctest.Test(t, func(t *testing.T) {
			b := batcher.New(l.run, options)
			var producers sync.WaitGroup
			for key := range keys {
				items := numbers(keys * perKey)[key*perKey : (key+1)*perKey]
				producers.Go(func() {
					outs, errs := b.SubmitAll(t.Context(), items)
					checkAnswers(rt, l, items, outs, errs)
				})
			}
			producers.Wait()
			closeNow(t, b)
		})
		checkHistory(rt, l, keys, perKey)
	})
}

func checkAnswers(rt *rapid.T, l *ledger, items, outs []int, errs []error) {
	for i, item := range items {
		switch {
		case l.guilty[item] && !errors.Is(errs[i], errBad):
			rt.Errorf("guilty item %d got %v", item, errs[i])
		case !l.guilty[item] && (errs[i] != nil || outs[i] != -item):
			rt.Errorf("item %d got %d, %v", item, outs[i], errs[i])
		}
	}
}

func checkHistory(rt *rapid.T, l *ledger, keys, perKey int) {
	for key := range keys {
		of := func(items []int) (own []int) {
			for _, item := range items {
				if (item-1)/perKey == key && !l.guilty[item] {
					own = append(own, item)
				}
			}
			return own
		}
		if diff := cmp.Diff(of(numbers(keys*perKey)), of(l.history)); diff != "" {
			rt.Errorf("key %d was taken as (-want +got):\n%s", key, diff)
		}
	}
	for item := range l.guilty {
		if l.taken[item] {
			rt.Errorf("guilty item %d was taken", item)
		}
	}
}
