package coupon

import "time"

// paymentSucceeded records a payment and settles. A payment that comes before
// its order is parked in the order's row, and the order finds it.
func (w *World) paymentSucceeded(f PaymentSucceeded, at Fields) Outcome {
	o := w.order(f.Order)
	if known := o.payment(f.Payment); known != nil {
		return w.paidBefore(o, known, at.At)
	}
	if len(o.Payments) >= MaxPayments {
		return tooMany(o.ID)
	}
	if dead := w.admit(o, f.Parent, f.Currency); dead != nil {
		return *dead
	}
	o.Payments = append(o.Payments,
		Payment{ID: f.Payment, Amount: f.Amount, At: at.At, FullPrice: f.FullPrice})
	w.touchOrder(o)
	g, s := w.settleOrder(o)
	switch {
	case s.redeemed > 0:
		return Outcome{Status: Applied, Code: Redeemed}
	case s.cases > 0:
		return Outcome{Status: Applied, Code: InReview}
	case !g.placed():
		return Outcome{Status: Applied, Code: Parked}
	default:
		return Outcome{Status: Applied, Code: Noop}
	}
}

// paidBefore answers a payment that is known. It may be told with different
// times; the earliest holds, so that the end does not depend on which came
// first.
func (w *World) paidBefore(o *Order, known *Payment, at time.Time) Outcome {
	if !at.Before(known.At) {
		return Outcome{Status: Unchanged, Code: DuplicatePayment}
	}
	known.At = at
	w.touchOrder(o)
	w.settleOrder(o)
	return Outcome{Status: Applied, Code: DuplicatePayment}
}

func (o *Order) payment(id string) *Payment {
	for i := range o.Payments {
		if o.Payments[i].ID == id {
			return &o.Payments[i]
		}
	}
	return nil
}
