package ledgertest

import (
	"context"
	"fmt"
	"testing"

	"couponlease/internal/coupon"
)

// recounts: counting again finds nothing to correct, whatever the same transaction counts
// before.
func recounts(t *testing.T, b *bench) {
	b.campaign(t, func(c *coupon.Terms) { c.Total, c.Budget, c.UsesPerPerson, c.PerPerson = 9, 3, 2, 4 })
	recount := coupon.RecountTemplate{Template: "T"}
	b.order(t, coupon.Noop, "k0", recount)
	held := b.claimed(t, coupon.OK, "k1", "ann", "")
	b.claimed(t, coupon.OK, "k2", "ann", "B")
	b.ask(t, coupon.Created, "", coupon.ImportCoupon{Code: "old", Template: "T", Owner: "ann"})
	b.order(t, coupon.OK, "k3", coupon.LockCoupon{Coupon: held, Order: "A", Customer: "ann"})
	requests := []coupon.Request{
		b.command("k4", recount), b.command("k5", claim("ann", "")), b.command("k6", recount),
		b.request("", coupon.ImportCoupon{Code: "other", Template: "T"}), b.command("k7", recount),
		b.command("k8", coupon.LockCoupon{Coupon: "old", Order: "B", Customer: "ann"}), b.command("k9", recount),
	}
	outcomes, err := b.apply(context.Background(), requests...)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []coupon.Code{
		coupon.Noop, coupon.OK, coupon.Noop, coupon.Created, coupon.Noop, coupon.OK, coupon.Noop,
	} {
		if outcomes[i].Code != want {
			t.Errorf("request %d was answered %+v, want %s", i, outcomes[i], want)
		}
	}
	b.counted(t, 3, 2)
	if row := b.template(t); row.Held != 2 || row.Generation != 1 {
		t.Errorf("the template is %+v", row)
	}
	b.order(t, coupon.Noop, "k10", recount)
	b.order(t, coupon.Duplicate, "k10", recount)
	b.order(t, coupon.UnknownTemplate, "k11", coupon.RecountTemplate{Template: "nowhere"})
	if _, err := b.apply(context.Background(), b.command("k12", coupon.CreateTemplate{Template: "U", Terms: coupon.Unlimited()}),
		b.command("k13", coupon.RecountTemplate{Template: "U"})); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]coupon.Code{"k13": coupon.Noop, "k6": coupon.Noop} {
		if kept, err := b.ledger.Answer(context.Background(), key); err != nil || kept == nil || kept.Code != want {
			t.Errorf("%s was answered %+v, %v", key, kept, err)
		}
	}
	codes := b.atOnce(t, crowd, func(i int) coupon.Request {
		if i%2 == 0 {
			return b.command(fmt.Sprint("at once ", i), recount)
		}
		return b.command(fmt.Sprint("at once ", i), claim(fmt.Sprint("u", i), ""))
	})
	if codes[coupon.Noop] != crowd/2 || codes[coupon.OK] != crowd/2 {
		t.Errorf("answers: %v", codes)
	}
}
