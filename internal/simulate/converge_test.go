package simulate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

// facts deals a set of facts about one order, at distinct seconds.
func facts(t *rapid.T) []told {
	seconds := rapid.Permutation(many(100)).Draw(t, "seconds")
	var all []told
	add := func(label string, fact coupon.Fact) {
		all = append(all, told{label: fmt.Sprint(label, " ", len(all)), at: seconds[len(all)], fact: fact})
	}
	amounts := rapid.SampledFrom([]int64{100, 60, 40, 30})
	for revision := range rapid.IntRange(1, 2).Draw(t, "placements") {
		f := coupon.OrderPlaced{Order: "A", Customer: "u1", Payable: 100, Revision: int64(revision)}
		for _, id := range rapid.SampledFrom([][]string{{"c1"}, {"c2"}, {"c1", "c2"}}).Draw(t, "coupons") {
			f.Wanted = append(f.Wanted, coupon.Wanted{Coupon: id})
		}
		add("placed", f)
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "payments") {
		add("paid", coupon.PaymentSucceeded{Order: "A", Payment: fmt.Sprint("p", i), Amount: amounts.Draw(t, "amount")})
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "refunds") {
		add("refunded", coupon.RefundApproved{
			Order: "A", Refund: fmt.Sprint("r", i), Amount: amounts.Draw(t, "amount"),
			Reason: rapid.SampledFrom([]string{"customer", "customer", policy.ReasonChargeback}).Draw(t, "reason"),
		})
	}
	for range rapid.IntRange(0, 2).Draw(t, "closes") {
		add("closed", coupon.OrderClosed{
			Order: "A", Reason: rapid.SampledFrom([]string{"timeout", "payment_failed"}).Draw(t, "reason"),
		})
	}
	return all
}

func many(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// outcome is how a set of facts ended.
type outcome struct {
	Coupons []string
	Reviews []string
}

// deliver tells the facts in the order given, each so many times, and lets what
// timers are left fire.
func deliver(t *rapid.T, messages []told, times []int) outcome {
	now := start
	ledger := NewLedger(func() time.Time { return now }, coupon.DefaultRules(), NewSource("order"))
	decide := func(request coupon.Request) {
		if _, err := ledger.decideAll([]coupon.Request{request}); err != nil {
			t.Fatal(err)
		}
		if broken, err := ledger.Violations(noContext); err != nil || len(broken) > 0 {
			t.Fatalf("%+v: %v %v", request.Fact, broken, err)
		}
	}
	decide(coupon.Request{Fact: coupon.DefineTemplate{
		Template: coupon.Template{ID: "T1", Terms: coupon.Terms{Budget: 9, UsesPerPerson: 9}},
	}})
	for _, code := range []string{"c1", "c2"} {
		decide(coupon.Request{Fact: coupon.ImportCoupon{Code: code, Template: "T1", Owner: "u1"}})
	}
	for i, m := range messages {
		for again := range times[i] {
			decide(coupon.Request{
				ID: fmt.Sprint(m.label, again), At: start.Add(time.Duration(m.at) * time.Second), Fact: m.fact,
			})
		}
	}
	now = now.Add(time.Hour)
	timers, err := ledger.DueTimers(noContext, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, timer := range timers {
		decide(coupon.Request{Fact: coupon.LeaseDue{
			Coupon: timer.Coupon, Order: timer.Order, LeaseID: timer.LeaseID, TokenHash: timer.TokenHash, Version: timer.Version,
		}})
	}
	var end outcome
	for _, id := range sortedKeys(ledger.coupons) {
		c := ledger.coupons[id]
		end.Coupons = append(end.Coupons, fmt.Sprintf("%s %s %t", id, c.State, c.UsedBy("A")))
	}
	for _, review := range ledger.reviews {
		end.Reviews = append(end.Reviews, fmt.Sprintf("%s %s", review.Coupon, review.Reason))
	}
	slices.Sort(end.Reviews)
	return end
}

// lateIn says whether a payment is later than a close: then it matters what was
// known when it came.
func lateIn(messages []told) bool {
	for _, payment := range messages {
		for _, closing := range messages {
			c, closes := closing.fact.(coupon.OrderClosed)
			_, pays := payment.fact.(coupon.PaymentSucceeded)
			if pays && closes && !strings.HasPrefix(c.Reason, "payment_") && payment.at > closing.at {
				return true
			}
		}
	}
	return false
}

// TestFactsConverge: any facts about one order end the same, in whatever order
// and number they come.
func TestFactsConverge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		messages := facts(t)
		if lateIn(messages) {
			t.Skip("a late payment")
		}
		once := make([]int, len(messages))
		for i := range once {
			once[i] = 1
		}
		want := deliver(t, messages, once)
		shuffled := rapid.Permutation(messages).Draw(t, "delivery")
		times := rapid.SliceOfN(rapid.IntRange(1, 2), len(messages), len(messages)).Draw(t, "times")
		if diff := cmp.Diff(want, deliver(t, shuffled, times)); diff != "" {
			var trail []string
			for _, m := range shuffled {
				trail = append(trail, fmt.Sprintf("%s@%d %+v", m.label, m.at, m.fact))
			}
			t.Errorf("%s\n(-in one order +in another):\n%s", strings.Join(trail, "\n"), diff)
		}
	})
}
