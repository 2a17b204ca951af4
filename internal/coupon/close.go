package coupon

import "slices"

// orderClosed records a close and settles. A close that comes before its order
// leaves a tombstone; a close never undoes a redemption.
func (w *World) orderClosed(f OrderClosed, at Fields) Outcome {
	o, c := w.order(f.Order), Close{Reason: f.Reason, At: at.At}
	known := o.hasClose(c)
	if !known && len(o.Closes) >= MaxCloses {
		return tooMany(o.ID)
	}
	if dead := w.admit(o, f.Parent, ""); dead != nil {
		return *dead
	}
	if !known {
		o.Closes = append(o.Closes, c)
		w.touchOrder(o)
	}
	g, s := w.settleOrder(o)
	switch {
	case !g.placed():
		return Outcome{Status: Applied, Code: Tombstone}
	case s.released > 0:
		return Outcome{Status: Applied, Code: Released}
	case s.reviews > 0:
		return Outcome{Status: Applied, Code: InReview}
	case w.usesAny(g):
		return Outcome{Status: Applied, Code: NoopPaid}
	case g.split() && g.closed(true) == nil:
		return Outcome{Status: Applied, Code: WaitSiblings}
	default:
		return Outcome{Status: Applied, Code: Noop}
	}
}

func (o *Order) hasClose(c Close) bool {
	return slices.ContainsFunc(o.Closes, func(known Close) bool {
		return known.Reason == c.Reason && known.At.Equal(c.At)
	})
}

// usesAny says whether a coupon is used by the group now.
func (w *World) usesAny(g group) bool {
	return slices.ContainsFunc(g.head.Named, func(named Named) bool {
		c := w.coupons[named.Coupon]
		return c != nil && c.UsedBy(g.head.ID)
	})
}

// hasAny says whether a coupon is leased to the group, or has been used by it.
func (w *World) hasAny(g group) bool {
	return slices.ContainsFunc(g.head.Named, func(named Named) bool {
		c := w.coupons[named.Coupon]
		return named.RedemptionID != "" || c != nil && c.LeasedTo(g.head.ID)
	})
}
