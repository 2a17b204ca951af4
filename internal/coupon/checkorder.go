package coupon

import (
	"fmt"
	"slices"
)

// CheckOrder proves that a paid order that named a coupon ended as redeemed,
// returned or in review. lookup gives the row of a coupon, nil if unknown, and
// related the rows of linked orders.
func CheckOrder(o *Order, lookup func(string) *Coupon, related func(string) *Order) []Violation {
	violations := o.twice()
	if o.Parent != "" {
		return violations // its coupons are its head's
	}
	g := groupFor(o, related)
	for i := range o.Named {
		named := &o.Named[i]
		if missed := g.unsettled(named, lookup(named.Coupon)); missed.check != "" {
			violations = append(violations,
				Violation{Invariant: 12, Order: o.ID, Coupon: named.Coupon, Detail: missed.detail})
		}
	}
	return violations
}

// groupFor gives the group of an order; related gives the rows of linked orders, nil if
// unknown.
func groupFor(o *Order, related func(string) *Order) group {
	w := &World{orders: map[string]*Order{o.ID: o}, coupons: map[string]*Coupon{}}
	pending := []*Order{o}
	for len(pending) > 0 && len(w.orders) < maxChain*MaxChildren {
		next := pending[0]
		pending = pending[1:]
		for _, id := range next.Links() {
			if w.orders[id] != nil {
				continue
			}
			if row := related(id); row != nil {
				w.orders[id] = row
				pending = append(pending, row)
			}
		}
	}
	return w.groupOf(o)
}

// twice: a payment or a refund that comes again is not a second one.
func (o *Order) twice() []Violation {
	var violations []Violation
	seen := map[string]bool{}
	for i := range o.Payments {
		if id := o.Payments[i].ID; seen[id] {
			violations = append(violations,
				Violation{Invariant: 8, Order: o.ID, Detail: fmt.Sprintf("payment %s is there twice", id)})
		}
		seen[o.Payments[i].ID] = true
	}
	clear(seen)
	for i := range o.Refunds {
		if id := o.Refunds[i].ID; seen[id] {
			violations = append(violations,
				Violation{Invariant: 8, Order: o.ID, Detail: fmt.Sprintf("refund %s is there twice", id)})
		}
		seen[o.Refunds[i].ID] = true
	}
	return violations
}

// omission is what still had to follow for a coupon; its zero value is nothing.
type omission struct {
	check  Fault
	detail string
}

// unsettled says what still had to follow for a coupon.
func (g group) unsettled(named *Named, c *Coupon) omission {
	m := g.next(named, c)
	if c != nil && c.LeasedTo(g.head.ID) && c.Lease.Purpose != PurposeOrder {
		return omission{} // a command leased it, for a short while, and asked nothing of the order; when it is due it is settled
	}
	if m.reverse && named.Refusal == Returned {
		return omission{} // an operator took back the withdrawal that had ended the use, and the order had given it up meanwhile
	}
	if slices.Contains(named.Reviews, m.review) || m.recover && len(named.Reviews) > 0 {
		return omission{}
	}
	switch {
	case m.redeem:
		return omission{FaultPaidNotRedeemed, "paid and leased, but not redeemed"}
	case m.recover && g.needsPerson():
		return omission{FaultPaidNotRedeemed, "paid, but neither redeemed nor in review"}
	case m.release && m.forget:
		return omission{FaultGivenUpStillHeld, fmt.Sprintf("given up (%s), but still leased", m.reason)}
	case m.release:
		return omission{FaultClosedStillLocked, fmt.Sprintf("closed (%s), but still leased", m.reason)}
	case m.reverse:
		return omission{FaultGivenUpStillHeld, fmt.Sprintf("given up (%s), but still used", m.reason)}
	case m.review != "":
		return omission{FaultReviewNotOpened, fmt.Sprintf("review %s was never opened", m.review)}
	default:
		return omission{}
	}
}
