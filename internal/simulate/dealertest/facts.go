package dealertest

import (
	"fmt"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

// fact makes up something new: a fact, a timer, a sweep, an import or a command.
func (d *Dealer) fact() coupon.Fact {
	if oneIn(d.chance, 2, "command") {
		return d.command()
	}
	order, parent := d.order()
	amount := pick(d.chance, "amount", int64(100), 100, 40, 60, 10)
	number := 1 + d.chance.Below(3, "number")
	switch pick(d.chance, "kind", 0, 0, 0, 1, 1, 1, 2, 3, 3, 4, 4, 5, 6) {
	case 0:
		return d.placement(order, parent)
	case 1:
		return coupon.PaymentSucceeded{
			Order: order, Parent: parent, Payment: fmt.Sprint("p", number), Amount: amount,
			FullPrice: oneIn(d.chance, 10, "full price"),
		}
	case 2:
		return coupon.OrderClosed{
			Order: order, Parent: parent, Reason: pick(d.chance, "reason", "timeout", "cancelled", "payment_failed"),
		}
	case 3:
		return coupon.RefundApproved{
			Order: order, Parent: parent, Refund: fmt.Sprint("r", number), Amount: amount,
			Reason: pick(d.chance, "reason", "customer", "customer", policy.ReasonChargeback),
		}
	case 4:
		return d.timer()
	case 5:
		return coupon.ValidityOver{Coupon: d.code()}
	default:
		return coupon.ImportCoupon{Code: d.known(), Template: d.template(0), Owner: "u2"}
	}
}

// order picks an order, and its parent: C and D are always, sometimes and never parts
// of one order.
func (d *Dealer) order() (order, parent string) {
	letter := pick(d.chance, "order", "A", "B", "C", "D")
	if letter == "C" || letter == "D" {
		if pick(d.chance, "part", true, true, false) {
			parent = d.name("P")
		}
	}
	return d.name(letter), parent
}

// code picks a coupon; c5 is not there, until it is imported. Now and then it is one that
// was claimed, if one was.
func (d *Dealer) code() string {
	if oneIn(d.chance, 16, "claimed") {
		return d.claimed(d.template(d.chance.Below(2, "template")), 1+d.chance.Below(2, "claim"))
	}
	return d.known()
}

// known picks a coupon whose code nobody has to make.
func (d *Dealer) known() string {
	return d.name(pick(d.chance, "coupon", "c1", "c2", "c3", "c4", "c5"))
}

func (d *Dealer) placement(order, parent string) coupon.Fact {
	f := coupon.OrderPlaced{
		Order: order, Parent: parent, Customer: "u1", Payable: pick(d.chance, "payable", int64(100), 100, 0),
		Revision: pick(d.chance, "revision", int64(0), 0, 1, 2), Lease: d.term(),
	}
	f.OpenEnded = f.Lease == 0 && oneIn(d.chance, 5, "open")
	if oneIn(d.chance, 6, "edited") {
		f.Supersedes = d.name(pick(d.chance, "supersedes", "A", "C", "B"))
	}
	if oneIn(d.chance, 10, "stranger") {
		f.Customer = "u2"
	}
	for range d.chance.Below(4, "coupons") {
		wanted := coupon.Wanted{Coupon: d.code()}
		if oneIn(d.chance, 3, "with token") {
			token := d.shown(wanted.Coupon).token
			wanted.Token = &token
		}
		f.Wanted = append(f.Wanted, wanted)
	}
	return f
}

// term asks for a lease of some length, or of the usual one.
func (d *Dealer) term() time.Duration { return pick(d.chance, "lease", 0, 30*time.Second) }

// timer picks a lease that was granted or renewed, or none that ever was.
func (d *Dealer) timer() coupon.Fact {
	id := d.code()
	rows := d.sight(id).Leases
	if len(rows) == 0 {
		return coupon.LeaseDue{Coupon: id, Order: d.name("A"), LeaseID: neverGranted, Version: 2}
	}
	row := &rows[d.chance.Below(len(rows), "lease")]
	f := coupon.LeaseDue{
		Coupon: id, Order: row.Order, LeaseID: row.LeaseID, TokenHash: row.TokenHash, Version: row.Version,
	}
	if oneIn(d.chance, 10, "known paid") {
		f.PaidFact = "p1"
	}
	return f
}

// neverGranted is the id of no lease.
const neverGranted = "00000000-0000-7000-8000-000000000000"
