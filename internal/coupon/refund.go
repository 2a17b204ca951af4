package coupon

import (
	"cmp"
	"slices"

	"couponlease/internal/policy"
)

// judgeRefunds applies the return policy to every refund that has no decision
// for this coupon yet, oldest first, until the coupon is no longer used.
func (w *World) judgeRefunds(g group, named *Named, c *Coupon, s *settled) {
	type undecided struct {
		order  *Order
		refund *Refund
	}
	var open []undecided
	var decided int64
	for _, order := range g.money {
		for i := range order.Refunds {
			refund := &order.Refunds[i]
			if slices.Contains(refund.Decided, c.ID) {
				decided += refund.Amount
				continue
			}
			open = append(open, undecided{order, refund})
		}
	}
	slices.SortFunc(open, func(a, b undecided) int {
		return cmp.Or(a.refund.At.Compare(b.refund.At), cmp.Compare(a.refund.ID, b.refund.ID))
	})
	paid, _, _ := g.payments()
	for _, item := range open {
		if !c.UsedBy(g.head.ID) {
			return
		}
		decided += item.refund.Amount
		facts := policy.Facts{
			Payable: g.payable(), Paid: paid, Refunded: decided, Reason: item.refund.Reason,
		}
		item.refund.Decided = append(item.refund.Decided, c.ID)
		w.touchOrder(item.order)
		s.decisions = append(s.decisions, w.decideRefund(g, named, c, item.order, item.refund, facts))
	}
}

// decideRefund takes one decision, carries it out and keeps the evidence.
func (w *World) decideRefund(
	g group, named *Named, c *Coupon, order *Order, refund *Refund, facts policy.Facts,
) string {
	rules := w.policyOf(c.Redemption.PolicyVersion)
	verdict := rules.Decide(facts)
	evidence := &RefundDecision{
		Order: order.ID, Refund: refund.ID, Coupon: c.ID, Decision: verdict.String(),
		PolicyVersion: rules.Version, RedemptionID: c.Redemption.ID,
		Payable: facts.Payable, Paid: facts.Paid, Refunded: facts.Refunded, At: w.Now,
	}
	w.changes.Decisions = append(w.changes.Decisions, evidence)
	w.decisionEvent(EventRefundDecided, c, order, evidence)
	row := OperationRow{Reason: verdict.String(), Refund: refund.ID}
	switch verdict.Decision {
	case policy.Return:
		evidence.OperationID = w.giveBack(c, row, rules)
	case policy.Retire:
		row.Operation = Retire
		evidence.OperationID = w.endUse(c, Refunded, row, EventRetired, rules)
	case policy.Void:
		row.Operation = Withdraw
		evidence.OperationID = w.endUse(c, Void, row, EventVoided, rules)
	case policy.Review:
		w.decisionEvent(EventReturnDeclined, c, order, evidence)
		w.openReview(g.head, named, ReviewReturnPolicy, false)
	default:
		w.decisionEvent(EventReturnDeclined, c, order, evidence)
	}
	return verdict.String()
}

// giveBack returns the coupon to the wallet; one whose validity is over expires
// or gets some days more, as the policy says.
func (w *World) giveBack(c *Coupon, row OperationRow, rules policy.Policy) string {
	to := w.freeState(c)
	if to == Expired && rules.ExtendDays > 0 {
		c.ValidUntil = w.Now.AddDate(0, 0, rules.ExtendDays)
		to = Available
	}
	row.Operation = Return
	return w.endUse(c, to, row, EventReturned, rules)
}

func (w *World) endUse(c *Coupon, to State, row OperationRow, kind EventKind, rules policy.Policy) string {
	if to == Void {
		c.VoidedFrom = Used
	}
	op := w.undo(c, to, row, rules.BudgetBack)
	w.announce(kind, c, op)
	return op.ID
}

func (w *World) decisionEvent(kind EventKind, c *Coupon, order *Order, d *RefundDecision) {
	event := w.event(kind, c, order.ID)
	event.Decision, event.Currency = d, order.Currency
}

// refundApproved records a refund; the coupon's fate is a second decision.
func (w *World) refundApproved(f RefundApproved, at Fields) Outcome {
	o, dead := w.fact(f.Order, f.Parent, f.Currency)
	if dead != nil {
		return *dead
	}
	for i := range o.Refunds {
		if o.Refunds[i].ID == f.Refund {
			return Outcome{Status: Unchanged, Code: DuplicateRefund}
		}
	}
	if len(o.Refunds) >= MaxRefunds {
		return tooMany(f.Order)
	}
	refund := Refund{ID: f.Refund, Amount: f.Amount, Reason: f.Reason, At: at.At}
	o.Refunds = append(o.Refunds, refund)
	w.changes.Refunds = append(w.changes.Refunds, RefundRow{Order: o.ID, Refund: refund, Cause: w.request.ID})
	w.touchOrder(o)
	g, s := w.settleOrder(o)
	_, _, paid := g.paid()
	switch {
	case len(s.decisions) > 0:
		return Outcome{Status: Applied, Code: Code(s.decisions[0])}
	case s.reviews > 0:
		return Outcome{Status: Applied, Code: InReview}
	case g.placed() && paid:
		return Outcome{Status: Applied, Code: NotApplicable}
	default:
		return Outcome{Status: Applied, Code: Parked}
	}
}
