package coupon

import "slices"

// move is what follows for one coupon of one order from the facts known now.
type move struct {
	// redeem, recover, release and reverse are the operations; at most one is
	// set.
	redeem, recover, release, reverse bool
	reason, payment                   string
	// review opens a case for a person; conflict also tells the world.
	review   ReviewReason
	conflict bool
	// refunds says that refunds have to be judged for this coupon.
	refunds bool
	// again says that a refund ended the use, and that the money known by now
	// has to be held against that.
	again bool
	// forget says that the order gives the coupon up, as if it had never had it.
	forget bool
}

// settled counts what a settlement did.
type settled struct {
	redeemed, released int
	// reviews counts all cases opened, cases those about a coupon.
	reviews, cases int
	decisions      []string
	// chain counts the later groups settled along.
	chain int
}

// next is the settlement table: it looks at the facts of the group and at one
// of its coupons and says what follows. It is pure and has no memory of how the
// facts arrived, which is why every order of delivery ends the same.
func (g group) next(named *Named, c *Coupon) move {
	if named.Dropped || g.superseded() || !g.placed() {
		return g.leave(named, c)
	}
	paidAt, payment, paid := g.paid()
	end := g.closed(false)
	late := paid && end != nil && paidAt.After(end.At)
	held := g.head.has(named, c)
	switch {
	case c != nil && c.UsedBy(g.head.ID):
		m := move{refunds: true}
		if late {
			m.review, m.conflict = ReviewLatePaymentOnClosed, true
		}
		return m
	case late:
		return g.latePayment(held)
	case named.RedemptionID != "": // its use by this order is over
		return move{again: paid && named.Refusal == Returned, payment: payment}
	case paid && held:
		return move{redeem: true, payment: payment, reason: zeroReason(payment)}
	case paid && named.Refusal != "":
		return g.withoutLease(named)
	case paid && named.lost():
		return move{} // a person has the case; nothing happens behind their back
	case paid && payment == "" && g.closed(true) == nil:
		return move{} // nothing to pay, and not obtained
	case paid:
		return move{recover: true, payment: payment}
	case held && g.closed(true) != nil:
		return move{release: true, reason: g.closed(true).Reason}
	default:
		return move{}
	}
}

// has says whether the order holds the coupon. A quote under its own name is not enough
// once its placement was refused: it did not get all that it wanted, or showed the
// wrong token.
func (o *Order) has(named *Named, c *Coupon) bool {
	return c != nil && c.LeasedTo(o.ID) && (c.Lease.Purpose == PurposeOrder || named.Refusal == "")
}

// lost says whether a person decides about this coupon, because a payment found
// it taken, expired or void.
func (n *Named) lost() bool {
	return slices.ContainsFunc(n.Reviews, func(r ReviewReason) bool {
		return r == ReviewLatePaymentTaken || r == ReviewLatePaymentExpired || r == ReviewPaidWithVoided
	})
}

// leave is what follows for a coupon that the order no longer wants, because a
// revision dropped it or a later order took this one's place.
func (g group) leave(named *Named, c *Coupon) move {
	reason := ReasonRevised
	if g.superseded() {
		reason = ReasonSuperseded
	}
	switch {
	case c == nil || !g.placed():
		return move{}
	case c.UsedBy(g.head.ID):
		return move{reverse: true, reason: reason, forget: true}
	case c.LeasedTo(g.head.ID):
		return move{release: true, reason: reason, forget: true}
	default:
		return move{}
	}
}

// zeroReason marks a redemption for which nothing had to be paid.
func zeroReason(payment string) string {
	if payment == "" {
		return ReasonZeroPayable
	}
	return ""
}

// latePayment: money came for an order that had been closed before. There is no
// redemption, and a lease that is still there ends as the close wanted.
func (g group) latePayment(held bool) move {
	m := move{review: ReviewLatePaymentOnClosed, conflict: true}
	if held {
		m.release, m.reason = true, g.closed(false).Reason
	}
	return m
}

// withoutLease: refused at placement, paid all the same. An order that had a lease
// before is late for its coupon, one that never had is without.
func (g group) withoutLease(named *Named) move {
	reason := ReviewPaidWithoutLease
	if named.LeaseID != "" {
		reason = named.Refusal.late()
	}
	if !g.needsPerson() {
		return move{}
	}
	return move{review: reason, conflict: reason != ReviewPaidWithoutLease}
}

// needsPerson says whether an order without its coupon is a case at all. One that
// was re-priced without the discount, or that had nothing to pay, is none.
func (g group) needsPerson() bool {
	_, _, count := g.payments()
	return count > 0 && !g.fullPrice()
}

// late gives the review for a payment that finds its coupon refused so.
func (c Code) late() ReviewReason {
	switch c {
	case Voided:
		return ReviewPaidWithVoided
	case ExpiredState:
		return ReviewLatePaymentExpired
	case UnknownCoupon, NotOwner, NotTaken:
		return ReviewPaidWithoutLease
	default:
		return ReviewLatePaymentTaken
	}
}

// settle carries out what follows for every coupon of the group.
func (w *World) settle(g group) settled {
	var s settled
	for i := range g.head.Named {
		named := &g.head.Named[i]
		w.carryOut(g, named, g.next(named, w.coupons[named.Coupon]), &s)
	}
	w.doublePayment(g, &s)
	return s
}

func (w *World) carryOut(g group, named *Named, m move, s *settled) {
	c := w.coupons[named.Coupon]
	switch {
	case m.redeem:
		w.redeemFor(g, named, c, m.payment, m.reason)
		s.redeemed++
		m.refunds = true
	case m.recover:
		m = w.recoverFor(g, named, c, m, s)
	case m.release:
		w.release(c, m.reason)
		w.touchOrder(g.head)
		s.released++
	case m.reverse:
		w.reverse(c, m.reason)
		w.touchOrder(g.head)
	case m.again:
		m = w.useAgain(g, named, c, m, s)
	}
	if m.forget {
		named.LeaseID, named.RedemptionID = "", ""
	}
	if m.review != "" && w.openReview(g, named, m.review, m.conflict) {
		s.reviews++
		s.cases++
	}
	if m.refunds {
		w.judgeRefunds(g, named, c, s)
	}
}

func (w *World) redeemFor(g group, named *Named, c *Coupon, payment, reason string) *OperationRow {
	op := w.redeem(c, payment, reason)
	named.RedemptionID, named.LeaseID = c.Redemption.ID, c.Redemption.LeaseID
	named.PolicyVersion = c.PolicyVersion
	named.Refusal = ""
	w.touchOrder(g.head)
	return op
}

// recoverFor redeems for an order whose lease is gone, if the coupon is free;
// else the conflict goes to a person.
func (w *World) recoverFor(g group, named *Named, c *Coupon, m move, s *settled) move {
	code := w.refuse(c, claim{order: g.head.ID, customer: g.head.Customer, honoured: true}, newTally())
	if code == "" {
		w.lock(c, grant{order: g.head.ID, reason: ReasonRecover, purpose: PurposeOrder})
		w.redeemFor(g, named, c, m.payment, ReasonRecover)
		s.redeemed++
		return move{refunds: true}
	}
	if reason := code.late(); reason != ReviewPaidWithoutLease {
		return move{review: reason, conflict: true}
	}
	named.Refusal = code
	w.touchOrder(g.head)
	return g.withoutLease(named)
}

// openReview opens a case once per order, coupon and reason.
func (w *World) openReview(g group, named *Named, reason ReviewReason, conflict bool) bool {
	head := g.head
	reviews, coupon := &head.Reviews, ""
	if named != nil {
		reviews, coupon = &named.Reviews, named.Coupon
	}
	if slices.Contains(*reviews, reason) {
		return false
	}
	*reviews = append(*reviews, reason)
	w.touchOrder(head)
	row := &ReviewRow{
		ID: w.Source.ID(), Order: head.ID, Coupon: coupon, Reason: reason,
		Suggestion: reason.Suggestion(), Cause: w.request.ID, At: w.Now, Evidence: w.evidence(g, named),
	}
	w.changes.Reviews = append(w.changes.Reviews, row)
	if conflict {
		w.reviewEvent(EventConflictDetected, row)
	}
	w.reviewEvent(EventReviewOpened, row)
	return true
}

func (w *World) reviewEvent(kind EventKind, row *ReviewRow) {
	event := w.event(kind, w.coupons[row.Coupon], row.Order)
	event.Coupon, event.Review, event.Code = row.Coupon, row, row.Reason
}

// doublePayment: further payments are normal until they exceed what was asked.
func (w *World) doublePayment(g group, s *settled) {
	if !g.placed() || !g.wantsAny() {
		return
	}
	if paid, _, count := g.payments(); count > 1 && paid > g.payable() {
		if w.openReview(g, nil, ReviewDoublePayment, false) {
			s.reviews++
		}
	}
}

func (g group) wantsAny() bool {
	for i := range g.head.Named {
		if !g.head.Named[i].Dropped {
			return true
		}
	}
	return false
}
