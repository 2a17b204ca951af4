package batcher_test

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/batcher"
)

var (
	errAway   = errors.New("database is away")
	errUnsure = errors.New("connection lost at commit")
	errBad    = errors.New("bad data")
	errBypass = errors.New("row count differs")
)

func classify(err error) batcher.Class {
	switch {
	case errors.Is(err, errAway):
		return batcher.Transient
	case errors.Is(err, errUnsure):
		return batcher.Ambiguous
	case errors.Is(err, errBypass):
		return batcher.Fatal
	}
	return batcher.Poison
}

// oneBatch submits the items as one batch.
func oneBatch(t *testing.T, r *recorder, items []int) (outs []int, errs []error, stats batcher.Stats) {
	t.Helper()
	b := batcher.New(r.run, batcher.Options[int]{
		Limits:   batcher.Limits{Workers: 1, Batch: len(items), Linger: time.Millisecond},
		Classify: classify,
	})
	outs, errs = b.SubmitAll(t.Context(), items)
	closeNow(t, b)
	return outs, errs, b.Stats()
}

// halvings is the number of runs a batch needs whose guilty items are the ones
// of the mask: only a run that holds one of several items and fails is cut.
func halvings(mask uint, n int) (runs int) {
	if mask == 0 || n == 1 {
		return 1
	}
	left := n / 2
	return 1 + halvings(mask&(1<<left-1), left) + halvings(mask>>left, n-left)
}

func TestHalvingIsolatesEverySubsetOfGuiltyItems(t *testing.T) {
	for n := 1; n <= 8; n++ {
		for mask := range uint(1) << n {
			synctest.Test(t, func(t *testing.T) {
				guilty := func(item int) bool { return mask>>(item-1)&1 == 1 }
				r := &recorder{before: func(_ context.Context, items []int) error {
					if slices.ContainsFunc(items, guilty) {
						return errBad
					}
					return nil
				}}
				outs, errs, stats := oneBatch(t, r, numbers(n))
				for i, item := range numbers(n) {
					var failure *batcher.Error
					switch {
					case !guilty(item) && (errs[i] != nil || outs[i] != 2*item):
						t.Errorf("%d of %08b: innocent item %d got %d, %v", n, mask, item, outs[i], errs[i])
					case guilty(item) && (!errors.As(errs[i], &failure) || failure.Class != batcher.Poison ||
						failure.Size != 1 || !errors.Is(failure, errBad)):
						t.Errorf("%d of %08b: guilty item %d got %v", n, mask, item, errs[i])
					}
				}
				if want := halvings(mask, n); int(stats.Runs) != want {
					t.Errorf("%d of %08b: %d runs, want %d", n, mask, stats.Runs, want)
				}
				if most := 1 + 2*bits.OnesCount(mask)*bits.Len(uint(n-1)); int(stats.Runs) > most {
					t.Errorf("%d of %08b: %d runs, more than %d", n, mask, stats.Runs, most)
				}
			})
		}
	}
}

func TestOutageFailsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r := &recorder{before: func(context.Context, []int) error {
			if time.Since(start) < 20*time.Second {
				return errAway
			}
			return nil
		}}
		var pauses []bool
		b := batcher.New(r.run, batcher.Options[int]{
			Limits:   batcher.Limits{Workers: 2, Batch: 10},
			Classify: classify,
			OnPause:  func(paused bool) { pauses = append(pauses, paused) },
		})
		var submitters sync.WaitGroup
		for item := range 50 {
			submitters.Go(func() {
				if out, err := b.Submit(t.Context(), item); err != nil || out != 2*item {
					t.Errorf("Submit(%d) = %d, %v", item, out, err)
				}
			})
		}
		time.Sleep(10 * time.Second)
		if s := b.Stats(); !s.Paused || !errors.Is(s.PauseCause, errAway) {
			t.Errorf("in the outage: paused %v, cause %v", s.Paused, s.PauseCause)
		}
		submitters.Wait()
		if late := time.Since(start) - 20*time.Second; late > 2*time.Second {
			t.Errorf("went on %v after the outage, want within the longest backoff", late)
		}
		if diff := cmp.Diff([]bool{true, false}, pauses); diff != "" {
			t.Errorf("pause signals (-want +got):\n%s", diff)
		}
		// Two workers, each about 8 waits while they double and one wait of 1 s to 2
		// s after that.
		if s := b.Stats(); s.Retries < 20 || s.Retries > 60 || s.Paused || s.PauseCause != nil {
			t.Errorf("%d retries in 20 s, paused %v after it", s.Retries, s.Paused)
		}
		closeNow(t, b)
	})
}

func TestFirstWorkerBackWakesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		conflicts := 1
		r := &recorder{before: func(_ context.Context, items []int) error {
			if time.Since(start) < 3*time.Minute {
				return errAway
			}
			// The one that is woken meets a conflict, which is not the outage again.
			if items[0] == 1 && conflicts > 0 {
				conflicts--
				return errAway
			}
			return nil
		}}
		var pauses []bool
		b := batcher.New(r.run, batcher.Options[int]{
			Limits:   batcher.Limits{Workers: 2, BackoffFirst: time.Minute, BackoffMost: time.Hour},
			Classify: classify,
			OnPause:  func(paused bool) { pauses = append(pauses, paused) },
			Jitter:   func() float64 { return 0 },
		})
		var submitters sync.WaitGroup
		submit := func(item int, want time.Duration) {
			submitters.Go(func() {
				if _, err := b.Submit(t.Context(), item); err != nil {
					t.Error(err)
				}
				if took := time.Since(start); took != want {
					t.Errorf("item %d was done after %v, want %v", item, took, want)
				}
			})
		}
		submit(0, 3*time.Minute) // fails at 0 and 1 min
		time.Sleep(30 * time.Second)
		submit(1, 4*time.Minute) // fails at 0:30 and 1:30, would sleep to 3:30, and then for 4 min
		submitters.Wait()
		if diff := cmp.Diff([]bool{true, false}, pauses); diff != "" {
			t.Errorf("pause signals (-want +got):\n%s", diff)
		}
		closeNow(t, b)
	})
}

func TestPanicIsNoProofThatAnOutageIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := []func() error{
			func() error { return errAway },
			func() error { panic("out of order") },
			func() error { return errBad },
		}
		r := &recorder{before: func(context.Context, []int) error {
			step := script[0]
			script = script[1:]
			return step()
		}}
		b := batcher.New(r.run, batcher.Options[int]{Limits: batcher.Limits{PauseAfter: 1}, Classify: classify})
		if _, err := b.Submit(t.Context(), 1); err == nil || !b.Stats().Paused {
			t.Errorf("after the panic: %v, paused %v, want an error and still paused", err, b.Stats().Paused)
		}
		if _, err := b.Submit(t.Context(), 2); !errors.Is(err, errBad) || b.Stats().Paused {
			t.Errorf("after a judgement: %v, paused %v, want the error and no longer paused", err, b.Stats().Paused)
		}
		closeNow(t, b)
	})
}

func TestLoneConflictIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failures := 1
		r := &recorder{before: func(context.Context, []int) error {
			if failures--; failures >= 0 {
				return errAway
			}
			return nil
		}}
		b := batcher.New(r.run, batcher.Options[int]{Classify: classify, OnPause: func(bool) { t.Error("paused") }})
		if _, err := b.Submit(t.Context(), 1); err != nil {
			t.Error(err)
		}
		if s := b.Stats(); s.Retries != 1 {
			t.Errorf("%d retries, want 1", s.Retries)
		}
		closeNow(t, b)
	})
}

func TestLostCommitReentersTheSameBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		committed := map[int]bool{}
		var runs [][]int
		run := func(_ context.Context, items []int) ([]string, error) {
			runs = append(runs, slices.Clone(items))
			outs := make([]string, len(items))
			for i, item := range items {
				outs[i] = fmt.Sprintf("applied %d", item)
				if committed[item] {
					outs[i] = fmt.Sprintf("duplicate %d", item)
				}
				committed[item] = true
			}
			slices.Reverse(items) // run owns its slice
			if len(runs) == 1 {
				return nil, errUnsure
			}
			return outs, nil
		}
		b := batcher.New(run, batcher.Options[int]{
			Limits: batcher.Limits{Workers: 1, Linger: time.Millisecond}, Classify: classify,
		})
		outs, errs := b.SubmitAll(t.Context(), numbers(3))
		if errors.Join(errs...) != nil {
			t.Error(errors.Join(errs...))
		}
		if diff := cmp.Diff([]string{"duplicate 1", "duplicate 2", "duplicate 3"}, outs); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([][]int{{1, 2, 3}, {1, 2, 3}}, runs); diff != "" {
			t.Errorf("batches (-want +got):\n%s", diff)
		}
		closeNow(t, b)
	})
}

func TestAttemptOutOfTimeIsRepeatedWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int32
		r := &recorder{before: func(ctx context.Context, _ []int) error {
			if tries.Add(1) == 1 {
				<-ctx.Done()
				return fmt.Errorf("commit: %w", ctx.Err()) // would be poison by itself
			}
			return nil
		}}
		start := time.Now()
		_, errs, stats := oneBatch(t, r, numbers(4))
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]int{4, 4}, r.sizes()); diff != "" || stats.Halvings != 0 {
			t.Errorf("%d halvings, batch sizes (-want +got):\n%s", stats.Halvings, diff)
		}
		if took := time.Since(start); took < 30*time.Second || took > 31*time.Second {
			t.Errorf("took %v, want the attempt's 30s and one wait", took)
		}
	})
}

func TestFatalErrorIsEverybodysAndFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{before: func(context.Context, []int) error { return errBypass }}
		_, errs, stats := oneBatch(t, r, numbers(5))
		for i, err := range errs {
			var failure *batcher.Error
			if !errors.As(err, &failure) || failure.Class != batcher.Fatal || failure.Size != 5 || !errors.Is(err, errBypass) {
				t.Errorf("item %d got %v", i, err)
			}
		}
		if stats.Runs != 1 {
			t.Errorf("%d runs, want 1", stats.Runs)
		}
	})
}

func TestWrongNumberOfAnswersFailsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := func(_ context.Context, items []int) ([]int, error) { return items[1:], nil }
		b := batcher.New(run, batcher.Options[int]{Limits: batcher.Limits{Workers: 1, Linger: time.Millisecond}})
		_, errs := b.SubmitAll(t.Context(), numbers(3))
		for i, err := range errs {
			var wrong *batcher.LengthError
			if !errors.As(err, &wrong) || *wrong != (batcher.LengthError{Items: 3, Answers: 2}) {
				t.Errorf("item %d got %v", i, err)
			}
		}
		if s := b.Stats(); s.Runs != 1 {
			t.Errorf("%d runs: what was done must not be done again", s.Runs)
		}
		closeNow(t, b)
	})
}

func TestPanicIsTheErrorOfItsItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{before: func(_ context.Context, items []int) error {
			if slices.Contains(items, 3) {
				panic(fmt.Errorf("item three: %w", errBad))
			}
			return nil
		}}
		outs, errs, stats := oneBatch(t, r, numbers(4))
		if diff := cmp.Diff([]int{2, 4, 0, 8}, outs); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		var caught *batcher.PanicError
		if !errors.As(errs[2], &caught) || !strings.Contains(errs[2].Error(), "TestPanicIsTheErrorOfItsItem") || !errors.Is(errs[2], errBad) {
			t.Errorf("guilty item got %v, want the panic with its stack", errs[2])
		}
		if stats.Panics != 3 {
			t.Errorf("%d panics, want 3: in 4, 2 and 1 items", stats.Panics)
		}
	})
}
