package coupon_test

import (
	"context"
	"testing"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/simulate"
)

// A lease may be longer than the broker holds a message. Its timer comes early,
// however early, and is armed again until the lease is due.
func TestAnEarlyTimerIsArmedAgain(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	ledger := simulate.NewLedger(func() time.Time { return now }, coupon.DefaultRules(), simulate.NewSource("long"))
	var timers []coupon.Timer
	ask := func(want coupon.Code, request coupon.Request) {
		t.Helper()
		var got coupon.Outcome
		err := ledger.Apply(context.Background(), []coupon.Request{request}, func(w *coupon.World) {
			got = coupon.Decide(w, &request)
			timers = append(timers, w.Seal().Timers...)
		})
		if err != nil || got.Code != want {
			t.Fatalf("%s: answered %+v, error %v, want %s", coupon.Kind(request.Fact), got, err, want)
		}
	}
	due := func() coupon.Request {
		timer := timers[len(timers)-1]
		return coupon.Request{ID: "due", At: timer.Due, Fact: coupon.LeaseDue{
			Coupon: timer.Coupon, Order: timer.Order, LeaseID: timer.LeaseID,
			TokenHash: timer.TokenHash, Version: timer.Version,
		}}
	}
	ask(coupon.Created, coupon.Request{At: now, Fact: coupon.DefineTemplate{
		Template: coupon.Template{ID: "T", Terms: coupon.Unlimited()},
	}})
	ask(coupon.Created, coupon.Request{At: now, Fact: coupon.ImportCoupon{Code: "c1", Template: "T"}})
	ask(coupon.OK, coupon.Request{At: now, Fact: coupon.OrderPlaced{
		Order: "A", Customer: "u1", Payable: 100, Lease: 400 * 24 * time.Hour, Wanted: []coupon.Wanted{{Coupon: "c1"}},
	}})
	for range 2 {
		now = now.Add(36 * time.Hour)
		ask(coupon.NoopNotDue, due())
	}
	if last := timers[len(timers)-1]; len(timers) != 3 || !last.Rearmed {
		t.Errorf("%d timers, the last %+v", len(timers), last)
	}
	now = now.Add(400 * 24 * time.Hour)
	ask(coupon.Released, due())
}
