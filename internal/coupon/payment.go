package coupon

// paymentSucceeded records a payment and settles. A payment that comes before
// its order is parked in the order's row, and the order finds it.
func (w *World) paymentSucceeded(f PaymentSucceeded, at Fields) Outcome {
	o, dead := w.fact(f.Order, f.Parent, f.Currency)
	if dead != nil {
		return *dead
	}
	if known := o.payment(f.Payment); known != nil {
		// The same payment may be told with different times; the earliest
		// holds, so that the end does not depend on which came first.
		if at.At.Before(known.At) {
			known.At = at.At
			w.touchOrder(o)
			w.settleOrder(o)
		}
		return Outcome{Status: Unchanged, Code: DuplicatePayment}
	}
	if len(o.Payments) >= MaxPayments {
		return tooMany(f.Order)
	}
	o.Payments = append(o.Payments,
		Payment{ID: f.Payment, Amount: f.Amount, At: at.At, FullPrice: f.FullPrice})
	w.touchOrder(o)
	g, s := w.settleOrder(o)
	if s.redeemed == 0 {
		w.paidAfterReturn(g)
	}
	switch {
	case !g.placed():
		return Outcome{Status: Applied, Code: Parked}
	case s.redeemed > 0:
		return Outcome{Status: Applied, Code: Redeemed}
	case w.inReview():
		return Outcome{Status: Applied, Code: InReview}
	default:
		return Outcome{Status: Applied, Code: Noop}
	}
}

// paidAfterReturn asks a person about money that came after the coupon had
// been given back: a discount would stand without a redemption.
func (w *World) paidAfterReturn(g group) {
	if paid, _, _ := g.payments(); paid <= g.refunded() {
		return
	}
	for i := range g.head.Named {
		named := &g.head.Named[i]
		c := w.coupons[named.Coupon]
		if named.RedemptionID != "" && !named.Dropped && c != nil && !c.UsedBy(g.head.ID) && !g.superseded() {
			w.openReview(g.head, named, ReviewPaidAfterReturn, false)
		}
	}
}

func (o *Order) payment(id string) *Payment {
	for i := range o.Payments {
		if o.Payments[i].ID == id {
			return &o.Payments[i]
		}
	}
	return nil
}

// inReview says whether the request at hand opened a review for a coupon.
func (w *World) inReview() bool {
	for i := len(w.changes.Reviews) - 1; i >= 0; i-- {
		row := w.changes.Reviews[i]
		if row.Cause != w.request.ID {
			return false
		}
		if row.Coupon != "" {
			return true
		}
	}
	return false
}
