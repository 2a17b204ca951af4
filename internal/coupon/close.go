package coupon

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
	for _, known := range o.Closes {
		if known.Reason == c.Reason && known.At.Equal(c.At) {
			return true
		}
	}
	return false
}

// usesAny says whether a coupon is used by the group now.
func (w *World) usesAny(g group) bool {
	for i := range g.head.Named {
		if c := w.coupons[g.head.Named[i].Coupon]; c != nil && c.UsedBy(g.head.ID) {
			return true
		}
	}
	return false
}
