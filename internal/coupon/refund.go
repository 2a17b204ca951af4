package coupon

import (
	"cmp"
	"slices"

	"couponlease/internal/policy"
)

// refundOf is a refund and the order it was told for.
type refundOf struct {
	order  *Order
	refund *Refund
}

// refunds lists the distinct refunds of the group, oldest first.
func (g group) refunds() []refundOf {
	var all []refundOf
	for _, order := range g.money {
		for i := range order.Refunds {
			all = append(all, refundOf{order, &order.Refunds[i]})
		}
	}
	slices.SortFunc(all, func(a, b refundOf) int {
		return cmp.Or(a.refund.At.Compare(b.refund.At), cmp.Compare(a.refund.ID, b.refund.ID))
	})
	return all
}

// judgeRefunds applies the return policy to every refund that has no decision
// for this coupon yet, oldest first, until the coupon is no longer used. Refunds
// add up, but for chargebacks: a bank takes money back, nobody gave it.
func (w *World) judgeRefunds(g group, named *Named, c *Coupon, s *settled) {
	var open []refundOf
	var decided int64
	for _, item := range g.refunds() {
		switch {
		case !slices.Contains(item.refund.Decided, c.ID):
			open = append(open, item)
		case !item.refund.chargeback():
			decided += item.refund.Amount
		}
	}
	paid, _, _ := g.payments()
	for _, item := range open {
		if !c.UsedBy(g.head.ID) {
			return
		}
		facts := policy.Facts{Payable: g.payable(), Paid: paid, Reason: item.refund.Reason}
		if !item.refund.chargeback() {
			decided += item.refund.Amount
		}
		facts.Refunded = decided
		item.refund.Decided = append(item.refund.Decided, c.ID)
		w.touchOrder(item.order)
		s.decisions = append(s.decisions, w.decideRefund(g, named, c, item, facts))
	}
}

func (r *Refund) chargeback() bool { return r.Reason == policy.ReasonChargeback }

// decideRefund takes one decision, carries it out and keeps the evidence.
func (w *World) decideRefund(g group, named *Named, c *Coupon, item refundOf, facts policy.Facts) string {
	rules := w.policyOf(c.Redemption.PolicyVersion)
	verdict := rules.Decide(facts)
	evidence := &RefundDecision{
		Order: item.order.ID, Refund: item.refund.ID, Coupon: c.ID, Decision: verdict.String(),
		PolicyVersion: rules.Version, RedemptionID: c.Redemption.ID,
		Payable: facts.Payable, Paid: facts.Paid, Refunded: facts.Refunded, At: w.Now,
	}
	w.changes.Decisions = append(w.changes.Decisions, evidence)
	w.decisionEvent(EventRefundDecided, c, item.order.ID, evidence)
	if !verdict.Decision.Ends() {
		w.decisionEvent(EventReturnDeclined, c, item.order.ID, evidence)
		if verdict.Decision == policy.Review {
			w.openReview(g, named, ReviewReturnPolicy, false)
		}
		return verdict.String()
	}
	named.Refusal = Returned
	w.touchOrder(g.head)
	evidence.OperationID = w.endUse(c, verdict.Decision, rules, OperationRow{
		Reason: verdict.String(), Refund: item.refund.ID,
	})
	return verdict.String()
}

// endUse gives the coupon back to the wallet, retires or withdraws it. One that
// goes back although its validity is over expires, or gets some days more, as
// the policy says.
func (w *World) endUse(c *Coupon, decision policy.Decision, rules policy.Policy, row OperationRow) string {
	var to State
	var kind EventKind
	switch decision {
	case policy.Retire:
		row.Operation, to, kind = Retire, Refunded, EventRetired
	case policy.Void:
		row.Operation, to, kind = Withdraw, Void, EventVoided
		c.VoidedFrom = Used
	default:
		row.Operation, to, kind = Return, w.freeState(c), EventReturned
		if to == Expired && rules.ExtendDays > 0 {
			c.ValidUntil = w.Now.AddDate(0, 0, rules.ExtendDays)
			to = Available
		}
	}
	op := w.undo(c, to, row, rules.BudgetBack)
	w.announce(kind, c, op)
	return op.ID
}

func (w *World) decisionEvent(kind EventKind, c *Coupon, order string, d *RefundDecision) {
	w.event(kind, c, order).Decision = d
}

// useAgain is for money that became known after a refund had ended the use. If
// the refunds would not have ended it, had that money been known, the order uses
// the coupon after all; if the coupon is gone, or the money came after the
// close, a person decides, so that no discount stands unseen.
func (w *World) useAgain(g group, named *Named, c *Coupon, m move, s *settled) move {
	if c == nil || slices.Contains(named.Reviews, ReviewPaidAfterReturn) {
		return move{}
	}
	rules := w.policyOf(named.PolicyVersion)
	timely, all := g.timely()
	switch {
	case g.refundsEnd(rules, all):
		return move{}
	case g.refundsEnd(rules, timely):
		return move{review: ReviewPaidAfterReturn}
	}
	if w.refuse(c, claim{order: g.head.ID, customer: g.head.Customer, honoured: true}, newTally()) != "" {
		return move{review: ReviewPaidAfterReturn}
	}
	w.lock(c, grant{order: g.head.ID, reason: ReasonRecover, purpose: PurposeOrder})
	w.redeemFor(g, named, c, m.payment, ReasonRecover)
	s.redeemed++
	return move{refunds: true}
}

// refundsEnd says whether the refunds known now end a use for which so much was
// paid.
func (g group) refundsEnd(rules policy.Policy, paid int64) bool {
	var sum int64
	for _, item := range g.refunds() {
		if !item.refund.chargeback() {
			sum += item.refund.Amount
		}
		verdict := rules.Decide(policy.Facts{
			Payable: g.payable(), Paid: paid, Refunded: sum, Reason: item.refund.Reason,
		})
		if verdict.Decision.Ends() {
			return true
		}
	}
	return false
}

// timely gives the sum of the payments up to the close, and of all.
func (g group) timely() (timely, all int64) {
	end := g.closed(false)
	for _, order := range g.money {
		for i := range order.Payments {
			payment := &order.Payments[i]
			all += payment.Amount
			if end == nil || !payment.At.After(end.At) {
				timely += payment.Amount
			}
		}
	}
	return timely, all
}

// refundApproved records a refund; the coupon's fate is a second decision.
func (w *World) refundApproved(f RefundApproved, at Fields) Outcome {
	o := w.order(f.Order)
	if slices.ContainsFunc(o.Refunds, func(r Refund) bool { return r.ID == f.Refund }) {
		return Outcome{Status: Unchanged, Code: DuplicateRefund}
	}
	if len(o.Refunds) >= MaxRefunds {
		return tooMany(o.ID)
	}
	if dead := w.admit(o, f.Parent, f.Currency); dead != nil {
		return *dead
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
