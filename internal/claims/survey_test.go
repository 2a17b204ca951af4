package claims_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"couponlease/internal/claims"
	"couponlease/internal/coupon"
)

// tick is a little more than what is under way takes.
const tick = claims.Patience + time.Second

// take takes coupons from the pool for nobody.
func (w *world) take(requests ...string) {
	w.t.Helper()
	for _, request := range requests {
		taken := w.pool.inside().Take(context.Background(), []claims.Ask{
			{Template: campaign, Request: request, Generation: w.level().Generation},
		})
		if taken[0].Verdict != claims.Granted {
			w.t.Fatal(taken[0])
		}
	}
}

// drifted wants one stock to be wrong, with so many left in the pool, or none (-1).
func (w *world) drifted(left int64) {
	w.t.Helper()
	drifts := w.look()
	switch {
	case left < 0 && len(drifts) > 0:
		w.t.Errorf("found %v, want nothing", drifts)
	case left >= 0 && (len(drifts) != 1 || drifts[0].PoolLeft != left || drifts[0].Template != campaign):
		w.t.Errorf("found %v, want one with %d left", drifts, left)
	}
}

func TestSurveyFindsTooHighAtOnce(t *testing.T) {
	w := newWorld(t, of(5, coupon.NoLimit))
	w.gets(coupon.OK, "ann", "k1")
	w.drifted(-1)
	if _, err := w.apply(w.ask("bob", "k2")); err != nil { // past the pool
		t.Fatal(err)
	}
	drifts := w.look()
	if len(drifts) != 1 || !strings.Contains(drifts[0].String(), "the pool has 4 left, the books 3") {
		t.Fatalf("found %v", drifts)
	}
	w.round()
	w.left(3)
	w.drifted(-1)
	if w.level().Generation != 2 {
		t.Errorf("the pool has %+v", w.level())
	}
}

// Too low is a stock only if it was before, when all that was under way by then has ended.
func TestSurveyIsPatientWithTooLow(t *testing.T) {
	w := newWorld(t, of(5, coupon.NoLimit))
	w.gets(coupon.OK, "ann", "k1")
	w.take("gone for ever")
	w.drifted(-1)
	w.pass(claims.Patience - time.Nanosecond)
	w.drifted(-1) // and looks anew from here
	w.pass(claims.Patience)
	w.drifted(3)
	w.pass(tick)
	w.round()
	w.left(4)
	w.pass(tick)
	w.drifted(-1)
}

// Claims that are under way are no drift, however many there are at each look, as long as
// each ends in time.
func TestClaimsUnderWayAreNoDrift(t *testing.T) {
	w := newWorld(t, of(50, coupon.NoLimit))
	w.gets(coupon.OK, "ann", "k0")
	var underWay []string
	for round := range 8 {
		var next []string
		for i := range 5 {
			next = append(next, strings.Repeat("x", round+1)+string(rune('a'+i)))
		}
		w.take(next...)
		w.drifted(-1)
		for _, key := range underWay { // they ask the books now
			w.gets(coupon.OK, "p", key)
		}
		underWay = next
		w.pass(tick)
		for _, key := range underWay {
			w.gets(coupon.OK, "p", key)
		}
		underWay = nil
	}
	w.drifted(-1)
}

// While the books are away claims wait in the engine for longer than anybody is patient.
func TestClaimsThatWaitForTheBooksAreNoDrift(t *testing.T) {
	w := newWorld(t, of(5, coupon.NoLimit))
	w.gets(coupon.OK, "ann", "k0")
	w.take("waits")
	w.drifted(-1)
	w.booksAway = true
	w.pass(tick)
	if _, err := w.survey.Look(t.Context(), w.clock()); err == nil {
		t.Error("looked without books")
	}
	w.booksAway = false
	w.pass(tick)
	w.drifted(-1)
	w.gets(coupon.OK, "bob", "waits")
	w.pass(tick)
	w.drifted(-1)
}

func TestSurveyFindsOtherGenerations(t *testing.T) {
	for name, prepare := range map[string]func(*world){
		"edited past the desk": func(w *world) { w.edit(coupon.TermsEdit{Total: ptr(int64(9))}) },
		"books restored from a backup": func(w *world) {
			stock := claims.Stock{Template: campaign, Generation: 9, Left: 4, PerPerson: coupon.NoLimit, PerDay: coupon.NoLimit}
			if err := w.pool.Load(w.t.Context(), stock); err != nil {
				w.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, of(5, coupon.NoLimit))
			w.gets(coupon.OK, "ann", "k1")
			prepare(w)
			drifts := w.round()
			if len(drifts) != 1 || !strings.Contains(drifts[0].String(), "generation") {
				t.Errorf("found %v", drifts)
			}
			books := w.template()
			w.left(books.Left())
			if w.level().Generation != books.Generation {
				t.Errorf("the pool has %+v, the books are at %d", w.level(), books.Generation)
			}
			w.drifted(-1)
			w.gets(coupon.OK, "bob", "k2")
		})
	}
}

func TestSurveyLeavesAloneWhatIsNotLoaded(t *testing.T) {
	w := newWorld(t, of(5, coupon.NoLimit))
	for range 3 {
		w.drifted(-1)
		w.pass(tick)
	}
	if w.level().Loaded {
		t.Error("the survey loaded a stock that nobody asked for")
	}
	w.gets(coupon.OK, "ann", "k1")
	w.pool.away = true
	if _, err := w.survey.Look(t.Context(), w.clock()); err == nil {
		t.Error("looked without a pool")
	}
}
