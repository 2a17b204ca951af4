package simulate

import (
	"strings"
	"testing"
	"time"

	"couponlease/internal/coupon"
)

func TestAnErasedPersonIsSomebodyNew(t *testing.T) {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	l := NewLedger(func() time.Time { return start }, coupon.DefaultRules(), NewSource(""))
	terms := coupon.Unlimited()
	terms.PerPerson, terms.UsesPerPerson = 1, 1
	ask := func(key string, fact coupon.Fact, want coupon.Code) coupon.Outcome {
		t.Helper()
		var outcome coupon.Outcome
		request := coupon.Request{ID: key, Key: key, At: start, Fact: fact}
		if err := l.Apply(t.Context(), []coupon.Request{request}, func(w *coupon.World) {
			outcome = coupon.Decide(w, &request)
			w.Seal()
		}); err != nil {
			t.Fatal(err)
		}
		if outcome.Code != want {
			t.Fatalf("%s: got %s, want %s", key, outcome.Code, want)
		}
		return outcome
	}
	ask("", coupon.DefineTemplate{Template: coupon.Template{ID: "T", Terms: terms}}, coupon.Created)
	if err := l.LinkPerson(t.Context(), "Ann@x.org", "p-4711", ""); err != nil {
		t.Fatal(err)
	}
	id := coupon.Fold(ask("k1", coupon.ClaimCoupon{Template: "T", Person: "ann@x.org"}, coupon.OK).Answer.Coupon)
	ask("k2", coupon.ClaimCoupon{Template: "T", Person: "p-4711"}, coupon.LimitReached)
	ask("o1", coupon.OrderPlaced{
		Order: "o1", Customer: "p-4711", Payable: 1, Currency: "EUR", Wanted: []coupon.Wanted{{Coupon: id}},
	}, coupon.OK)
	for _, person := range []string{"ANN@x.org", "nobody", ""} {
		if err := l.ErasePerson(t.Context(), person); err != nil {
			t.Fatal(err)
		}
	}
	history, _, err := l.History(t.Context(), id)
	if err != nil || !strings.HasPrefix(history.Coupon.Owner, "erased:") {
		t.Errorf("the coupon is %q's: %v", history.Coupon.Owner, err)
	}
	if order, err := l.Order(t.Context(), "o1"); err != nil || order.Customer != history.Coupon.Owner {
		t.Errorf("the order is %+v's: %v", order, err)
	}
	if broken, err := l.Violations(t.Context()); err != nil || len(broken) > 0 {
		t.Errorf("broken: %v, %v", broken, err)
	}
	ask("k3", coupon.ClaimCoupon{Template: "T", Person: "p-4711"}, coupon.OK)
	ask("k4", coupon.ClaimCoupon{Template: "T", Person: "ann@x.org"}, coupon.OK)
}
