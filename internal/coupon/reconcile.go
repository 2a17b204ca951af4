package coupon

import "time"

// SettleOrder asks to settle an order again from what is known of it. An order that is
// settled stays as it is.
type SettleOrder struct{ Order string }

// SettleLease asks to judge the current lease of a coupon as its timer does. Order is
// the one that is thought to hold it.
type SettleLease struct{ Coupon, Order string }

// EndFlow asks to end a redemption at a till that has begun and not ended, and whose lease
// is gone. Whoever holds the coupon now keeps it.
type EndFlow struct{ Coupon, RedeemNo string }

// ReportOrphan asks for a case about a payment whose order has not come. Patience is how
// long it may wait.
type ReportOrphan struct {
	Order    string
	Patience time.Duration
}

func (f SettleOrder) Orders() []string  { return present(f.Order) }
func (f SettleLease) Orders() []string  { return present(f.Order) }
func (f ReportOrphan) Orders() []string { return present(f.Order) }
func (EndFlow) Orders() []string        { return nil }
func (SettleOrder) Coupons() []string   { return nil }
func (f SettleLease) Coupons() []string { return present(f.Coupon) }
func (ReportOrphan) Coupons() []string  { return nil }
func (f EndFlow) Coupons() []string     { return present(f.Coupon) }
func (SettleOrder) kind() string        { return "SettleOrder" }
func (SettleLease) kind() string        { return "SettleLease" }
func (ReportOrphan) kind() string       { return "ReportOrphan" }
func (EndFlow) kind() string            { return "EndFlow" }

func (f SettleOrder) carryOut(w *World, a *Answer, _ Fields) {
	a.Order = f.Order
	row := w.orders[f.Order]
	if row == nil || !row.Known() {
		a.refuse(UnknownOrder)
		return
	}
	touches, operations := w.touches, len(w.changes.Operations)
	_, s := w.settleOrder(row)
	switch {
	case s.redeemed > 0:
		a.Status, a.Code = Applied, Redeemed
	case s.released > 0:
		a.Status, a.Code = Applied, Released
	case s.reviews > 0:
		a.Status, a.Code = Applied, InReview
	case len(s.decisions) > 0:
		a.Status, a.Code = Applied, Code(s.decisions[0])
	case w.touches != touches || len(w.changes.Operations) != operations:
		a.Status, a.Code = Applied, Settled
	default:
		a.Status, a.Code = Unchanged, Noop
	}
}

func (f SettleLease) carryOut(w *World, a *Answer, at Fields) {
	c := w.coupons[f.Coupon]
	switch {
	case c == nil:
		a.refuse(UnknownCoupon)
		return
	case c.State != Locked:
		a.refuse(LeaseGone)
		return
	case c.Lease.Order != f.Order:
		a.refuse(AlreadyLocked) // and its order's row is not the one that was read
		return
	}
	lease := *c.Lease
	outcome := w.leaseDue(LeaseDue{
		Coupon: c.ID, Order: lease.Order, LeaseID: lease.ID, TokenHash: lease.TokenHash, Version: lease.Version,
	}, at)
	a.Status, a.Code = outcome.Status, outcome.Code
	a.Order, a.LeaseID = lease.Order, lease.ID
	a.State, a.Version = c.State, c.Version
}

func (f ReportOrphan) carryOut(w *World, a *Answer, _ Fields) {
	a.Order = f.Order
	row := w.orders[f.Order]
	if row == nil || !row.Known() {
		a.refuse(UnknownOrder)
		return
	}
	g := w.groupOf(row)
	if g.orphan(row, Moment{Now: w.Now, Patience: Patience{Payment: f.Patience}}) == nil {
		a.Status, a.Code = Unchanged, Noop
		return
	}
	w.openReview(group{head: row, parts: g.parts, money: []*Order{row}}, nil, ReviewOrphanPayment, false)
	a.Status, a.Code = Applied, InReview
}

func (f EndFlow) carryOut(w *World, a *Answer, _ Fields) {
	a.Order = f.RedeemNo
	c, flow := w.coupons[f.Coupon], w.openFlow(f.RedeemNo)
	switch {
	case c == nil:
		a.refuse(UnknownCoupon)
		return
	case flow == nil, flow.Coupon != c.ID, c.Lease != nil && c.Lease.ID == flow.LeaseID:
		a.same(Noop, c)
		return
	}
	end := *flow
	end.Step, end.Operation, end.Reason, end.Cause, end.At = FlowReleased, "", string(LeaseGone), a.Cause, w.Now
	if r := c.Redemption; r != nil && r.LeaseID == flow.LeaseID {
		end.Step, end.Operation, end.Reason, end.Payment = FlowSuccess, r.OperationID, "", r.Payment
	}
	w.changes.Flows = append(w.changes.Flows, end)
	a.Status, a.Code = Applied, Released
	if end.Step == FlowSuccess {
		a.Code = Redeemed
	}
	a.stands(c)
}

// openFlow gives how a redemption at a till began that has not ended, nil if there is none.
func (w *World) openFlow(redeemNo string) *FlowRow {
	flow, begun := w.flows[redeemNo]
	if !begun {
		return nil
	}
	for i := range w.changes.Flows {
		if step := &w.changes.Flows[i]; step.RedeemNo == redeemNo && step.Step.Ends() {
			return nil
		}
	}
	return &flow
}
