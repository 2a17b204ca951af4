package claims_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"couponlease/internal/claims"
	"couponlease/internal/coupon"
)

// inspected runs a test in a bubble with a campaign of 10 coupons, of which the pool holds
// some, and an inspection.
func inspected(t *testing.T, left int64, test func(*testing.T, *world, *claims.Inspection)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(terms *coupon.Terms) { terms.Total = 10 })
		if left >= 0 {
			w.load(left)
		}
		test(t, w, claims.NewInspection(w.pool, w, w.desk))
	})
}

// load has the pool hold so much of the present generation.
func (w *world) load(left int64) {
	w.t.Helper()
	stock := claims.Stock{
		Template: campaign, Generation: w.template().Generation, Left: left, PerPerson: coupon.NoLimit, PerDay: coupon.NoLimit,
	}
	if err := w.pool.Pool.Load(w.t.Context(), stock); err != nil {
		w.t.Fatal(err)
	}
}

// TestInspectionWaitsForClaimsUnderWay, but only if a stock is low, and not for ever.
func TestInspectionWaitsForClaimsUnderWay(t *testing.T) {
	for name, test := range map[string]struct {
		left    int64
		waits   bool
		meant   int64 // what the pool holds a second later
		detail  string
		another int64 // what it holds once it was restocked
	}{
		"nothing loaded":   {left: -1},
		"right":            {left: 10, meant: 10},
		"too high":         {left: 12, meant: 12, detail: "campaign spring: the pool has 12 left, the books 10", another: 10},
		"claims under way": {left: 8, waits: true, meant: 10},
		"too low":          {left: 8, waits: true, meant: 8, detail: "campaign spring: the pool has 8 left, the books 10", another: 10},
		"even lower":       {left: 8, waits: true, meant: 7, detail: "campaign spring: the pool has 8 left, the books 10", another: 10},
	} {
		t.Run(name, func(t *testing.T) {
			inspected(t, test.left, func(t *testing.T, w *world, i *claims.Inspection) {
				began := time.Now()
				if test.waits && test.meant > test.left {
					// Claims that were under way are carried out: the books have less by then.
					time.AfterFunc(time.Second, func() {
						for _, person := range []string{"a", "b"} {
							_, _ = w.apply(w.ask(person, "key of "+person))
						}
					})
				} else if test.left >= 0 {
					time.AfterFunc(time.Second, func() { w.load(test.meant) })
				}
				findings, err := i.Drifts(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if waited := time.Since(began); test.waits != (waited >= claims.Patience) {
					t.Errorf("it waited %v", waited)
				}
				if test.detail == "" {
					if len(findings) != 0 {
						t.Errorf("found %v", findings)
					}
					return
				}
				want := coupon.Finding{
					Fault: coupon.FaultQuotaDrift, Subject: campaign, Template: campaign, Detail: test.detail,
				}
				if len(findings) != 1 || findings[0] != want {
					t.Fatalf("found %v, want %v", findings, want)
				}
				if err := i.Restock(t.Context(), campaign); err != nil {
					t.Fatal(err)
				}
				if level := w.level(); level.Left != test.another || level.Generation != 2 {
					t.Errorf("restocked to %+v", level)
				}
				if findings, err := i.Drifts(t.Context()); err != nil || len(findings) != 0 {
					t.Errorf("afterwards found %v, %v", findings, err)
				}
			})
		})
	}
}

// TestInspectionEndsWithItsAsker, and tells of books that are away.
func TestInspectionEndsWithItsAsker(t *testing.T) {
	inspected(t, 8, func(t *testing.T, w *world, i *claims.Inspection) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := i.Drifts(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		w.mutex.Lock()
		w.booksAway = true
		w.mutex.Unlock()
		if _, err := i.Drifts(t.Context()); !errors.Is(err, errAway) {
			t.Errorf("got %v", err)
		}
	})
}

// TestOnlyWhatWasFoundIsRestocked: and without a desk nothing is.
func TestOnlyWhatWasFoundIsRestocked(t *testing.T) {
	inspected(t, 10, func(t *testing.T, w *world, i *claims.Inspection) {
		if err := i.Restock(t.Context(), campaign); err == nil {
			t.Error("a stock was loaded that nobody has looked at")
		}
		w.load(12)
		i = claims.NewInspection(w.pool, w, nil)
		if drifts, err := i.Look(t.Context()); err != nil || len(drifts) != 1 {
			t.Fatal(drifts, err)
		}
		if err := i.Restock(t.Context(), campaign); err == nil {
			t.Error("a stock was loaded without a desk")
		}
	})
}
