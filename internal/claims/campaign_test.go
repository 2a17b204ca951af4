package claims_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"couponlease/internal/claims"
	"couponlease/internal/coupon"
)

// Many who find no stock, at two replicas, have it loaded once.
func TestStockIsLoadedOnceForAll(t *testing.T) {
	w := newWorld(t, of(100, 1))
	desks := []*claims.Desk{w.desk, w.open()}
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			r := w.ask(fmt.Sprint(i), fmt.Sprint(i))
			if outcome, err := submit(desks[i%2], r); err != nil || outcome.Code != coupon.OK {
				t.Error(outcome, err)
			}
		})
	}
	group.Wait()
	w.left(0)
	if restocks := desks[0].Stats().Restocks + desks[1].Stats().Restocks; restocks != 1 || w.pool.loads != 1 {
		t.Errorf("loaded %d times, the pool says %d", restocks, w.pool.loads)
	}
	if n := w.counted("alone"); n < 1 || n > 100 {
		t.Errorf("%d were alone", n)
	}
}

// Whatever generation the pool has, claims find a stock of the books' generation, and what
// was taken of another one means nothing to it.
func TestGenerations(t *testing.T) {
	for _, test := range []struct {
		name string
		// pool and books are their generations before; 0 is no stock.
		pool, books int64
		want        int64
	}{
		{"none in the pool", 0, 1, 1},
		{"older in the pool", 1, 3, 3},
		{"the same", 2, 2, 2},
		{"newer in the pool: the books were restored from a backup", 7, 2, 8},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, of(5, 1))
			for w.template().Generation < test.books {
				if _, err := w.apply(coupon.Request{At: start, Fact: coupon.Restock{Template: campaign}}); err != nil {
					t.Fatal(err)
				}
			}
			if test.pool != 0 {
				stock := claims.Stock{Template: campaign, Generation: test.pool, Left: 5, PerPerson: 1, PerDay: coupon.NoLimit}
				if err := w.pool.Load(t.Context(), stock); err != nil {
					t.Fatal(err)
				}
			}
			w.gets(coupon.OK, "ann", "k1")
			if level := w.level(); level.Generation != test.want || level.Left != 4 || w.template().Generation != test.want {
				t.Errorf("the pool has %+v, the books are at %d", level, w.template().Generation)
			}
		})
	}
}

// An edit through the desk is in the pool at once, one past it as soon as it is seen.
func TestEditedCampaign(t *testing.T) {
	t.Run("through the desk", func(t *testing.T) {
		w := newWorld(t, of(1, 1))
		w.gets(coupon.OK, "ann", "k1")
		w.gets(coupon.QuotaExhausted, "bob", "k2")
		edit := coupon.EditTemplate{Template: campaign, Set: coupon.TermsEdit{Total: ptr(int64(3))}}
		if outcome, err := submit(w.desk, coupon.Request{Key: "e", At: start, Fact: edit}); err != nil || outcome.Code != coupon.OK {
			t.Fatal(outcome, err)
		}
		w.left(2)
		w.gets(coupon.OK, "bob", "k2")
	})
	t.Run("past the desk", func(t *testing.T) {
		w := newWorld(t, of(1, 1))
		w.gets(coupon.OK, "ann", "k1")
		w.edit(coupon.TermsEdit{Total: ptr(int64(3))})
		w.gets(coupon.QuotaExhausted, "bob", "k2")
		w.pass(claims.Patience)
		w.gets(coupon.OK, "bob", "k2")
		w.left(1)
	})
	t.Run("to no limits at all", func(t *testing.T) {
		w := newWorld(t, of(1, coupon.NoLimit))
		w.gets(coupon.OK, "ann", "k1")
		w.gets(coupon.QuotaExhausted, "bob", "k2")
		w.edit(coupon.TermsEdit{Total: ptr(coupon.NoLimit)})
		w.pass(claims.Patience)
		w.gets(coupon.OK, "bob", "k2")
		w.gets(coupon.OK, "bob", "k3")
	})
}

// A stock that changes under a claim again and again does not keep it for ever.
func TestStockThatChangesAllTheTime(t *testing.T) {
	w := newWorld(t, of(5, 1))
	w.pool.onLoad = func() { w.pool.forget() }
	w.gets(coupon.OK, "ann", "k1")
	if stats := w.desk.Stats(); stats.Restocks != 4 || stats.Bypassed != 1 {
		t.Errorf("%+v", stats)
	}
}

// An edit while a stock is loaded is not lost in it.
func TestEditWhileAStockIsLoaded(t *testing.T) {
	w := newWorld(t, of(1, 1))
	loaded, edited := make(chan bool), make(chan bool)
	var once sync.Once
	w.pool.onLoad = func() {
		once.Do(func() {
			loaded <- true
			<-edited
		})
	}
	var group sync.WaitGroup
	group.Go(func() {
		if outcome, err := w.claim("ann", "k1"); err != nil || outcome.Code != coupon.OK {
			t.Error(outcome, err)
		}
	})
	<-loaded
	group.Go(func() {
		edit := coupon.EditTemplate{Template: campaign, Set: coupon.TermsEdit{Total: ptr(int64(9))}}
		if outcome, err := submit(w.desk, coupon.Request{Key: "e", At: start, Fact: edit}); err != nil || outcome.Code != coupon.OK {
			t.Error(outcome, err)
		}
	})
	w.waitFor("alone", 2)
	close(edited)
	group.Wait()
	if level := w.level(); level.Generation != 2 || level.Left < 8 {
		t.Errorf("the pool has %+v after the edit", level)
	}
}

// Rebuild loads a stock whatever the pool has, in a new generation.
func TestRebuild(t *testing.T) {
	w := newWorld(t, of(5, 1))
	w.gets(coupon.OK, "ann", "k1")
	if err := w.desk.Rebuild(t.Context(), campaign); err != nil {
		t.Fatal(err)
	}
	if level := w.level(); level.Generation != 2 || level.Left != 4 {
		t.Errorf("the pool has %+v", level)
	}
	w.booksAway = true
	if err := w.desk.Rebuild(t.Context(), campaign); err == nil || !strings.Contains(err.Error(), campaign) {
		t.Errorf("without books: %v", err)
	}
}

// A return that was lost counts a person for nothing. Where no look at what is left shows
// it, the desk that lost it has the stock loaded anew.
func TestLostReturnOfAnEndlessCampaignIsMended(t *testing.T) {
	w := newWorld(t, of(coupon.NoLimit, 1))
	w.gets(coupon.OK, "bob", "k0")
	w.edit(coupon.TermsEdit{Status: ptr(coupon.TemplatePaused)})
	w.pool.returnsLost = true
	w.gets(coupon.TemplateIsPaused, "ann", "k1")
	w.pool.returnsLost = false
	w.edit(coupon.TermsEdit{Status: ptr(coupon.TemplateActive)})
	w.gets(coupon.LimitReached, "ann", "k2")
	if drifts := w.round(); len(drifts) != 0 {
		t.Errorf("the survey found %v", drifts)
	}
	w.gets(coupon.OK, "ann", "k2")
	if generation := w.template().Generation; generation != 2 {
		t.Errorf("generation %d", generation)
	}
	w.round()
	if generation := w.template().Generation; generation != 2 {
		t.Errorf("mended twice: generation %d", generation)
	}
}

// What cannot be mended yet is mended later, once.
func TestBypassedStockIsMendedWhenThePoolIsBack(t *testing.T) {
	w := newWorld(t, of(5, 1))
	w.gets(coupon.OK, "ann", "k1")
	w.pool.away = true
	w.gets(coupon.OK, "bob", "k2")
	w.desk.Mend(context.Background())
	w.pool.away = false
	w.left(4)
	w.desk.Mend(context.Background())
	w.left(3)
	generation := w.template().Generation
	w.desk.Mend(context.Background())
	if now := w.template().Generation; now != generation || w.level().Generation != generation {
		t.Errorf("mended again: generation %d, then %d", generation, now)
	}
	w.gets(coupon.OK, "cyd", "k3")
	w.left(2)
}
