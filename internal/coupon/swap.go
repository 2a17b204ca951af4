package coupon

import "slices"

func (f SwapCoupons) carryOut(w *World, a *Answer, at Fields) {
	f.Add = distinct(f.Add)
	o := w.order(f.Order)
	g := w.groupOf(o)
	switch {
	case !o.Placed:
		a.refuse(Rejected(UnknownOrder))
	case g.superseded() || g.closed(true) != nil:
		a.refuse(Rejected(OrderAlreadyClosed))
	case at.At.Before(o.PlacedAt):
		a.refuse(Rejected(StaleRevision))
	case g.split() && len(f.Drop) > 0: // its parts share the coupons of their parent
		a.refuse(Rejected(NotApplicable))
	case len(g.head.Named)+len(f.Add) > MaxNamed:
		a.refuse(Rejected(TooManyFacts))
	default:
		w.swap(g, o, f, a)
	}
}

// swap judges everything and then does everything.
func (w *World) swap(g group, o *Order, f SwapCoupons, a *Answer) {
	next := w.swapped(g, o, f)
	refusals := w.refuseDrops(g, f)
	obtainable, lacking := w.judge(g, next)
	refusals = append(refusals, obtainable...)
	for _, wanted := range f.Add {
		if named := g.head.named(wanted.Coupon); named != nil && named.RedemptionID != "" && !w.holds(g, wanted.Coupon) {
			refusals = append(refusals, Refusal{Coupon: wanted.Coupon, Code: AlreadyUsed})
		}
	}
	if len(refusals) > 0 {
		a.refuse(NotSwapped)
		a.Refusals = refusals
		return
	}
	for i := range g.head.Named {
		if slices.Contains(f.Drop, g.head.Named[i].Coupon) {
			g.head.Named[i].Dropped = true
		}
	}
	for _, wanted := range f.Add {
		named := g.head.name(wanted.Coupon)
		named.Discount = wanted.Discount
		w.adopt(g.head, named)
	}
	g.head.sortNamed()
	w.touchOrder(o)
	w.touchOrder(g.head)
	w.take(g, next, lacking)
	w.settleOrder(o)
	a.Status, a.Code = Applied, OK
}

// swapped is the placement that the order would have made instead: what it holds
// and keeps, and what it wants now.
func (w *World) swapped(g group, o *Order, f SwapCoupons) OrderPlaced {
	next := OrderPlaced{Order: o.ID, Customer: o.Customer, Payable: o.Payable, Lease: f.Lease}
	for i := range g.head.Named {
		named := &g.head.Named[i]
		if !named.Dropped && !slices.Contains(f.Drop, named.Coupon) && w.holds(g, named.Coupon) {
			next.Wanted = append(next.Wanted, Wanted{Coupon: named.Coupon, Discount: named.Discount})
		}
	}
	next.Wanted = distinct(append(next.Wanted, f.Add...))
	return next
}

// holds says whether the group has the coupon, leased or used.
func (w *World) holds(g group, id string) bool {
	c := w.coupons[id]
	return c != nil && (c.LeasedTo(g.head.ID) || c.UsedBy(g.head.ID))
}

// refuseDrops says which coupons cannot be given up, because the order has not got
// them.
func (w *World) refuseDrops(g group, f SwapCoupons) []Refusal {
	var refusals []Refusal
	for _, id := range f.Drop {
		named := g.head.named(id)
		switch {
		case w.coupons[id] == nil:
			refusals = append(refusals, Refusal{Coupon: id, Code: UnknownCoupon})
		case named == nil || named.Dropped || !w.holds(g, id):
			refusals = append(refusals, Refusal{Coupon: id, Code: LeaseGone})
		}
	}
	return refusals
}
