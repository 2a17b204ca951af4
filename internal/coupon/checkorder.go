package coupon

import "fmt"

// CheckOrder proves that a paid order that named a coupon ended as redeemed,
// returned or in review. lookup gives the row of a coupon, nil if unknown, and
// related the rows of linked orders.
func CheckOrder(o *Order, lookup func(string) *Coupon, related func(string) *Order) []Violation {
	if o.Parent != "" {
		return nil // its head is checked
	}
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
	g := w.groupOf(o)
	var violations []Violation
	for i := range o.Named {
		named := &o.Named[i]
		if detail := g.unsettled(named, lookup(named.Coupon)); detail != "" {
			violations = append(violations, Violation{Invariant: 12, Order: o.ID, Coupon: named.Coupon, Detail: detail})
		}
	}
	return violations
}

// unsettled says what still had to follow for a coupon; "" when nothing has.
func (g group) unsettled(named *Named, c *Coupon) string {
	m := g.next(named, c)
	for _, known := range named.Reviews {
		if known == m.review || m.recover {
			return ""
		}
	}
	switch {
	case m.redeem:
		return "paid and leased, but not redeemed"
	case m.recover && g.needsPerson():
		return "paid, but neither redeemed nor in review"
	case m.release:
		return fmt.Sprintf("closed (%s), but still leased", m.reason)
	case m.reverse:
		return fmt.Sprintf("given up (%s), but still used", m.reason)
	case m.review != "":
		return fmt.Sprintf("review %s was never opened", m.review)
	default:
		return ""
	}
}

// needsPerson says whether an order without its coupon is a case at all.
func (g group) needsPerson() bool { return g.withoutLease() != (move{}) }
