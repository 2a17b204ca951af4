package claims_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"couponlease/internal/batcher"
	"couponlease/internal/claims"
	"couponlease/internal/coupon"
)

func of(total, perPerson int64) func(*coupon.Terms) {
	return func(t *coupon.Terms) { t.Total, t.PerPerson = total, perPerson }
}

func ptr[T any](v T) *T { return &v }

// What the books did not need of what the pool granted goes back, and nothing else does.
func TestWhatTheBooksDoNotNeedGoesBack(t *testing.T) {
	for _, test := range []struct {
		name string
		// prepare comes before ann's claim k1 of a campaign of 5.
		prepare func(*world)
		want    coupon.Code
		left    int64
	}{
		{"granted and issued", func(*world) {}, coupon.OK, 4},
		{"granted and refused", func(w *world) {
			w.edit(coupon.TermsEdit{Status: ptr(coupon.TemplatePaused)})
		}, coupon.TemplateIsPaused, 5},
		{"granted and issued before, in a stock that is lost", func(w *world) {
			w.gets(coupon.OK, "ann", "k1")
			w.pool.forget()
		}, coupon.OK, 4},
		{"already and issued before", func(w *world) { w.gets(coupon.OK, "ann", "k1") }, coupon.OK, 4},
		{"already, and issued only now", func(w *world) {
			w.engineFails = []error{errAway}
			if _, err := w.claim("ann", "k1"); err == nil {
				w.t.Error("an engine that fails is an answer")
			}
			w.left(4)
		}, coupon.OK, 4},
		{"already, and refused only now", func(w *world) {
			w.engineFails = []error{errAway}
			_, _ = w.claim("ann", "k1") // it has taken one
			w.edit(coupon.TermsEdit{Status: ptr(coupon.TemplatePaused)})
		}, coupon.TemplateIsPaused, 5},
		{"already and refused before, but the return was lost", func(w *world) {
			w.gets(coupon.OK, "bob", "k0")
			w.edit(coupon.TermsEdit{Status: ptr(coupon.TemplatePaused)})
			w.pool.returnsLost = true
			w.gets(coupon.TemplateIsPaused, "ann", "k1")
			w.pool.returnsLost = false
			w.left(3)
		}, coupon.TemplateIsPaused, 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, of(5, 1))
			test.prepare(w)
			w.gets(test.want, "ann", "k1")
			w.left(test.left)
		})
	}
}

// A person whom the books know at the limit is refused by the pool from then on.
func TestPoolLearnsLimitsFromTheBooks(t *testing.T) {
	w := newWorld(t, of(5, 1))
	w.gets(coupon.OK, "ann", "k1")
	w.pool.forget()
	w.gets(coupon.LimitReached, "ann", "k2")
	w.left(4)
	w.counted("engine")
	w.gets(coupon.LimitReached, "ann", "k3")
	if n := w.counted("engine"); n != 0 || len(w.told) != 1 {
		t.Errorf("the engine was asked %d times, and %d refusals were told", n, len(w.told))
	}
}

// A raised limit counts for whoever was refused under the old one, also if the old refusal
// is told again.
func TestRefusalToldAgainTeachesNothing(t *testing.T) {
	w := newWorld(t, of(5, 1))
	w.gets(coupon.OK, "ann", "k1")
	w.pool.forget()
	w.gets(coupon.LimitReached, "ann", "k2")
	w.edit(coupon.TermsEdit{PerPerson: ptr(int64(2))})
	w.pass(claims.Patience)
	w.gets(coupon.LimitReached, "ann", "k2")
	w.gets(coupon.OK, "ann", "k3")
}

// Nobody asks the books about a campaign that is sold out, but who may have something.
func TestSoldOutAsksTheBooksNothing(t *testing.T) {
	w := newWorld(t, of(2, 1))
	first := w.gets(coupon.OK, "ann", "k1")
	w.gets(coupon.OK, "bob", "k2")
	for _, what := range []string{"engine", "template", "answer", "alone"} {
		w.counted(what)
	}
	for i := range 20 {
		w.gets(coupon.QuotaExhausted, fmt.Sprint("late ", i), fmt.Sprint("late ", i))
	}
	for _, what := range []string{"engine", "template", "answer", "alone"} {
		if n := w.counted(what); n != 0 {
			t.Errorf("%s: asked %d times", what, n)
		}
	}
	w.gets(coupon.QuotaExhausted, "ann", "k3")
	if n, engine := w.counted("answer"), w.counted("engine"); n != 1 || engine != 0 {
		t.Errorf("for somebody who has one, %d answers were looked up and the engine asked %d times", n, engine)
	}
	if again := w.gets(coupon.OK, "ann", "k1"); again != first {
		t.Errorf("the first key got %q, and again %q", first, again)
	}
	if len(w.told) != 21 || w.told[20].Code != coupon.QuotaExhausted {
		t.Errorf("%d refusals were told", len(w.told))
	}
}

// After the pool has lost everything nobody who has a coupon is told that there is none.
func TestFirstKeyGetsItsCouponWhateverThePoolKnows(t *testing.T) {
	for name, trouble := range map[string]func(*world){
		"lost":     func(w *world) { w.pool.forget() },
		"bypassed": func(w *world) { w.pool.away = true },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, of(2, 1))
			w.gets(coupon.OK, "bob", "k1")
			trouble(w)
			first := w.gets(coupon.OK, "ann", "k2")
			w.pool.away = false
			w.gets(coupon.QuotaExhausted, "cyd", "k3")
			// Somebody holds what the pool has too much, at the moment.
			w.pool.inside().Take(t.Context(), []claims.Ask{{Template: campaign, Request: "x", Generation: w.level().Generation}})
			if again := w.gets(coupon.OK, "ann", "k2"); again != first {
				t.Errorf("got %q, and again %q", first, again)
			}
			w.round()
			if again := w.gets(coupon.OK, "ann", "k2"); again != first {
				t.Errorf("got %q, and after the repair %q", first, again)
			}
		})
	}
}

// With a batch a person gets one of it however often it asks, also when nothing is left.
func TestOneOfABatchIsToldAgain(t *testing.T) {
	w := newWorld(t, of(1, 1))
	ask := func(key string) coupon.Request {
		r := w.ask("ann", key)
		r.Fact = coupon.ClaimCoupon{Template: campaign, Batch: "b", Person: "ann"}
		return r
	}
	first, err := submit(w.desk, ask("k1"))
	if err != nil || first.Code != coupon.OK {
		t.Fatal(first, err)
	}
	again, err := submit(w.desk, ask("k2"))
	if err != nil || again.Code != coupon.Duplicate || again.Answer.Coupon != first.Answer.Coupon {
		t.Errorf("got %+v, and with another key %+v, %v", first.Answer, again, err)
	}
	w.left(0)
}

// While books and pool are away, the engine alone decides.
func TestEngineDecidesWithoutBooks(t *testing.T) {
	w := newWorld(t, of(2, 1))
	w.booksAway = true
	w.gets(coupon.OK, "ann", "k1")
	if n := w.counted("engine"); n != 1 || w.level().Loaded {
		t.Errorf("the engine was asked %d times, the pool has %+v", n, w.level())
	}
	w.booksAway = false
	w.gets(coupon.OK, "bob", "k2")
	w.booksAway = true
	w.gets(coupon.QuotaExhausted, "cyd", "k3") // by the pool, or else by the engine
	if again := w.gets(coupon.OK, "bob", "k2"); again == "" {
		t.Error("a first key got nothing")
	}
	// News of the campaign are not to be had, and it goes on with what is known.
	w.pass(2 * claims.Patience)
	w.gets(coupon.QuotaExhausted, "dee", "k4")
}

// Without the pool no more goes to the engine than the database bears.
func TestWithoutThePoolTheEngineIsSpared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, of(coupon.NoLimit, 1))
		w.pool.away = true
		w.desk = claims.New(w, w.pool, w, w, claims.Options{WithoutPool: 10, Now: w.clock})
		defer func() {
			if err := w.desk.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		began := time.Now()
		var group sync.WaitGroup
		for i := range 50 {
			group.Go(func() {
				if outcome, err := w.claim(fmt.Sprint(i), fmt.Sprint(i)); err != nil || outcome.Code != coupon.OK {
					t.Error(outcome, err)
				}
			})
		}
		group.Wait()
		// Ten at once, and the others ten a second.
		if took := time.Since(began); took < 4*time.Second || took > 4*time.Second+time.Millisecond {
			t.Errorf("50 claims took %s", took)
		}
		if stats := w.desk.Stats(); stats.Bypassed != 50 {
			t.Errorf("%+v", stats)
		}
		// Who gives up is not answered, and nothing is asked for it.
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		w.counted("engine")
		for range 11 {
			_, _ = submit(w.desk, w.ask("x", "x"))
		}
		w.counted("engine")
		if _, errs := w.desk.SubmitAll(ctx, []coupon.Request{w.ask("y", "y")}); errs[0] == nil || w.counted("engine") != 0 {
			t.Errorf("who gave up: %v", errs[0])
		}
	})
}

// A refusal that could not be told is no answer.
func TestRefusalThatCannotBeToldIsNoAnswer(t *testing.T) {
	w := newWorld(t, of(0, 1))
	w.tellFails = true
	if outcome, err := w.claim("ann", "k1"); !errors.Is(err, errAway) {
		t.Errorf("got %+v, %v", outcome, err)
	}
	w.tellFails = false
	w.gets(coupon.QuotaExhausted, "ann", "k1")
	if stats := w.desk.Stats(); stats.Refused != 1 || len(w.told) != 1 {
		t.Errorf("%+v, told %d", stats, len(w.told))
	}
}

// Closed desks take nothing more.
func TestClosedDeskTakesNothing(t *testing.T) {
	w := newWorld(t, of(2, 1))
	w.gets(coupon.OK, "ann", "k1")
	if err := w.desk.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if outcome, err := w.claim("bob", "k2"); !errors.Is(err, batcher.ErrClosed) {
		t.Errorf("got %+v, %v", outcome, err)
	}
	w.left(1)
}

// Two copies of a message are under way at once, and the one that took nothing is faster:
// what the other took is this one's, and whoever has the coupon stays known.
func TestCopiesOfAMessageAtOnce(t *testing.T) {
	w := newWorld(t, of(1, 1))
	slow, fast := w.desk, w.open()
	took, answered := make(chan bool), make(chan bool)
	var others atomic.Bool
	w.before = func(coupon.Request) {
		if !others.Swap(true) {
			took <- true
			<-answered
		}
	}
	var group sync.WaitGroup
	group.Go(func() {
		if outcome, err := submit(slow, w.ask("ann", "k1")); err != nil || outcome.First != coupon.OK {
			t.Errorf("the slow copy: %+v, %v", outcome, err)
		}
	})
	<-took
	if outcome, err := submit(fast, w.ask("ann", "k1")); err != nil || outcome.Code != coupon.OK {
		t.Errorf("the fast copy: %+v, %v", outcome, err)
	}
	answered <- true
	group.Wait()
	w.left(0)
	w.gets(coupon.QuotaExhausted, "bob", "k2")
	w.gets(coupon.OK, "ann", "k1")
}

// Somebody who uses another's key gets nothing, and nothing of the other's goes back.
func TestAKeyOfSomebodyElseGivesNothingBack(t *testing.T) {
	w := newWorld(t, of(2, 1))
	first := w.gets(coupon.OK, "ann", "k1")
	for range 2 {
		w.gets(coupon.IdempotencyMismatch, "mallory", "k1")
	}
	w.left(1)
	if again := w.gets(coupon.OK, "ann", "k1"); again != first {
		t.Errorf("got %q, and again %q", first, again)
	}
}

// A stock that was loaded in the middle of a campaign is told who has something, and from
// then on newcomers cost the books nothing. One that was only replaced knows at once.
func TestNewcomersCostNothingAfterARestock(t *testing.T) {
	for name, trouble := range map[string]func(*world){
		"lost":   func(w *world) { w.pool.forget() },
		"edited": func(w *world) { w.edit(coupon.TermsEdit{Total: ptr(int64(3))}) },
		"rebuilt": func(w *world) {
			if err := w.desk.Rebuild(t.Context(), campaign); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, of(2, 1))
			first := w.gets(coupon.OK, "ann", "k1")
			w.gets(coupon.OK, "bob", "k2")
			trouble(w)
			w.pass(claims.Patience)
			_, _ = w.claim("cyd", "k3")
			w.round()
			w.round()
			for _, what := range []string{"engine", "answer"} {
				w.counted(what)
			}
			for i := range 20 {
				w.gets(coupon.QuotaExhausted, fmt.Sprint("late ", i), fmt.Sprint("late ", i))
			}
			if answers, engine := w.counted("answer"), w.counted("engine"); answers+engine != 0 {
				t.Errorf("%d answers were looked up and the engine asked %d times", answers, engine)
			}
			if again := w.gets(coupon.OK, "ann", "k1"); again != first {
				t.Errorf("got %q, and again %q", first, again)
			}
		})
	}
}

// A campaign without limits is asked about once in a while, and not for each claim.
func TestCampaignsWithoutLimitsAreRemembered(t *testing.T) {
	w := newWorld(t, of(coupon.NoLimit, coupon.NoLimit))
	for i := range 10 {
		w.gets(coupon.OK, "ann", fmt.Sprint(i))
	}
	if n := w.counted("template"); n != 1 {
		t.Errorf("the campaign was read %d times", n)
	}
	w.pass(claims.Patience)
	w.gets(coupon.OK, "ann", "later")
	if n := w.counted("template"); n != 1 {
		t.Errorf("the campaign was read %d times again", n)
	}
}

// Where nothing is left to count, only who tells of it knows that the pool is an old one.
func TestAPoolThatChangedCountsNobodyForNothing(t *testing.T) {
	w := newWorld(t, of(coupon.NoLimit, 1))
	w.gets(coupon.OK, "ann", "k1")
	before := w.level().Generation
	w.round()
	if w.level().Generation != before {
		t.Fatal("a stock was replaced without a reason")
	}
	w.desk.PoolChanged()
	w.round()
	if w.level().Generation == before {
		t.Error("a stock of an old pool stays")
	}
}
