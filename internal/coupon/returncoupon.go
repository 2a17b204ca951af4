package coupon

import "slices"

// ReturnCoupon asks to apply the return policy to a coupon that an order has used,
// for a refund of everything that was paid, agreed outside; at a till, the order is
// the redeem number.
type ReturnCoupon struct {
	Coupon, Order, Refund, Reason string
}

func (f ReturnCoupon) Orders() []string  { return present(f.Order) }
func (f ReturnCoupon) Coupons() []string { return []string{f.Coupon} }
func (ReturnCoupon) kind() string        { return "ReturnCoupon" }

func (f ReturnCoupon) carryOut(w *World, a *Answer, at Fields) {
	o := w.order(f.Order)
	g := w.groupOf(o)
	c := w.coupons[f.Coupon]
	switch {
	case c == nil:
		a.refuse(UnknownCoupon)
	case slices.ContainsFunc(o.Refunds, func(r Refund) bool { return r.ID == f.Refund }):
		a.same(DuplicateRefund, c) // a refund decides once
	case c.State == Used && !c.UsedBy(g.head.ID):
		a.refuse(AlreadyUsed)
	case c.State != Used:
		a.refuse(IllegalState(c.State))
	case len(o.Refunds) >= MaxRefunds:
		a.refuse(TooManyFacts)
	default:
		w.returnFor(g, o, c, f, a, at)
	}
}

// returnFor records the refund and lets the policy decide.
func (w *World) returnFor(g group, o *Order, c *Coupon, f ReturnCoupon, a *Answer, at Fields) {
	named := g.head.name(c.ID)
	w.adopt(g.head, named)
	g.head.sortNamed()
	refund := Refund{ID: f.Refund, Amount: g.unrefunded(), Reason: f.Reason, At: at.At}
	o.Refunds = append(o.Refunds, refund)
	w.changes.Refunds = append(w.changes.Refunds, RefundRow{Order: o.ID, Refund: refund, Cause: w.request.ID})
	w.touchOrder(o)
	w.touchOrder(g.head)
	first := len(w.changes.Decisions)
	if g.placed() {
		w.settleOrder(o)
	} else {
		w.judgeRefunds(g, g.head.named(c.ID), c, &settled{}) // a till's redemption was never placed
	}
	a.Status, a.Code = Applied, OK
	a.stands(c)
	for _, decision := range w.changes.Decisions[first:] {
		if decision.Coupon == c.ID && decision.Refund == f.Refund {
			a.Code, a.Operation = Code(decision.Decision), decision.OperationID
		}
	}
}

// unrefunded is what was paid and has not gone back yet.
func (g group) unrefunded() int64 {
	rest, _, _ := g.payments()
	for _, item := range g.refunds() {
		if !item.refund.chargeback() {
			rest -= item.refund.Amount
		}
	}
	return max(0, rest)
}
