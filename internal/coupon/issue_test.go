package coupon_test

import (
	"context"
	"fmt"
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

// TestOneOfABatchInOneTransaction: whoever asks again in the same transaction has it already.
func TestOneOfABatchInOneTransaction(t *testing.T) {
	w := coupon.NewWorld(noon, coupon.DefaultRules(), simulate.NewSource("batch"))
	w.AddTemplate(&coupon.Template{ID: "t", Version: 1, Generation: 1, Terms: coupon.Unlimited()})
	claim := coupon.ClaimCoupon{Template: "t", Batch: "B", Person: "ann"}
	wallets := func(persons ...string) coupon.Command {
		f := coupon.IssueCoupons{Template: "t", Batch: "B"}
		for _, person := range persons {
			f.Items = append(f.Items, coupon.IssueItem{Person: person})
		}
		return f
	}
	for i, step := range []struct {
		fact   coupon.Command
		code   coupon.Code
		coupon string
	}{
		{claim, coupon.OK, "t-1"},
		{claim, coupon.Duplicate, "t-1"},
		{wallets("ann", "bob"), coupon.Issued(1, 1), ""},
		{wallets("ann", "bob"), coupon.Issued(0, 2), ""},
		{coupon.ClaimCoupon{Template: "t", Batch: "B", Person: "bob"}, coupon.Duplicate, "t-2"},
		{coupon.ClaimCoupon{Template: "t", Person: "bob"}, coupon.OK, "t-3"},
	} {
		outcome := coupon.Decide(w, &coupon.Request{ID: fmt.Sprint(i), Key: fmt.Sprint(i), At: noon, Fact: step.fact})
		if outcome.Code != step.code || outcome.Answer.Coupon != step.coupon {
			t.Errorf("step %d: got %+v, want %s %s", i, outcome.Answer, step.code, step.coupon)
		}
	}
	if changes := w.Seal(); len(changes.Coupons) != 3 || changes.Templates[0].Row.Issued != 3 {
		t.Errorf("made %d coupons, counted %d", len(changes.Coupons), changes.Templates[0].Row.Issued)
	}
}
