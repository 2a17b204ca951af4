package coupon_test

import (
	"context"
	"testing"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/simulate"
)

// A template whose return policy nobody defined would issue coupons whose refunds
// cannot be judged.
func TestATemplateNeedsItsPolicy(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	ledger := simulate.NewLedger(func() time.Time { return now }, coupon.DefaultRules(), simulate.NewSource("policy"))
	for version, want := range map[int64]coupon.Outcome{
		0:  {Status: coupon.Applied, Code: coupon.Created},
		1:  {Status: coupon.Applied, Code: coupon.Created},
		99: {Status: coupon.Dead, Code: coupon.UnknownPolicy, Detail: "return policy 99 is not defined"},
	} {
		var got coupon.Outcome
		request := coupon.Request{At: now, Fact: coupon.DefineTemplate{Template: coupon.Template{
			ID: string(rune('a' + version)), Terms: coupon.Terms{PolicyVersion: version},
		}}}
		err := ledger.Apply(context.Background(), []coupon.Request{request}, func(w *coupon.World) {
			got = coupon.Decide(w, &request)
			w.Seal()
		})
		if err != nil || got != want {
			t.Errorf("policy %d: %+v, error %v, want %+v", version, got, err, want)
		}
	}
}
