package coupon

import "cmp"

func (f VoidCoupon) carryOut(w *World, a *Answer, _ Fields) {
	c := w.coupons[f.Coupon]
	switch {
	case c == nil:
		a.refuse(UnknownCoupon)
	case c.State == Locked && !f.Force:
		a.refuse(InUse)
	case !Allowed(Withdraw, c.State, Void) || c.State == Used:
		a.refuse(IllegalState(c.State)) // only a return policy withdraws what was used
	default:
		a.done(c, w.withdraw(c, cmp.Or(f.Reason, ReasonAdmin)))
	}
}

// withdraw makes a coupon VOID that nobody has used, and ends its lease.
func (w *World) withdraw(c *Coupon, reason string) *OperationRow {
	row := OperationRow{Operation: Withdraw, Reason: reason}
	lease := c.Lease
	if lease != nil {
		row.Order, row.LeaseID = lease.Order, lease.ID
	}
	c.Lease, c.VoidedFrom = nil, c.State
	op := w.apply(c, Void, row)
	if lease != nil {
		w.hold(c, -1, -1)
		w.endFlow(c, lease, FlowReleased, op)
	}
	w.announce(EventVoided, c, op)
	return op
}

func (f ReverseChange) carryOut(w *World, a *Answer, _ Fields) {
	c := w.coupons[f.Coupon]
	if c == nil {
		a.refuse(UnknownCoupon)
		return
	}
	var original string
	last, lastKnown := w.last(c)
	switch {
	case c.State == Used:
		original = c.Redemption.OperationID
	case c.State == Void && lastKnown:
		original = last.Operation.ID
	default:
		a.refuse(IllegalState(c.State))
		return
	}
	if f.Operation != "" && f.Operation != original || f.ExpectedVersion != 0 && f.ExpectedVersion != c.Version {
		a.refuse(VersionConflict)
		return
	}
	reason := cmp.Or(f.Reason, ReasonAdmin)
	if c.State == Used {
		a.Order = c.Redemption.Order
		a.done(c, w.reverse(c, reason))
		return
	}
	if code := w.refuseRevival(c, last); code != "" {
		a.refuse(code)
		return
	}
	a.done(c, w.revive(c, last, reason))
	a.Order = last.Operation.Order
}

// refuseRevival: a use that comes back needs room again in the limits that had got
// it back.
func (w *World) refuseRevival(c *Coupon, last Last) Code {
	t := w.templates[c.Template]
	switch {
	case last.Operation.FromState != Used || t == nil:
		return ""
	case t.UsesPerPerson != NoLimit && c.Owner != "" && w.usesOf(t.ID, c.Owner).Held >= t.UsesPerPerson:
		return UseLimitReached
	case t.Budget != NoLimit && t.Held >= t.Budget && w.policyOf(last.Redemption.PolicyVersion).BudgetBack:
		return BudgetExhausted
	default:
		return ""
	}
}

// last gives the latest ledger row of a coupon and the redemption that it names.
func (w *World) last(c *Coupon) (Last, bool) {
	last, known := w.lasts[c.ID]
	for i := len(w.changes.Operations) - 1; i >= 0; i-- {
		if op := w.changes.Operations[i]; op.Coupon == c.ID {
			last.Operation, known = *op, true
			break
		}
	}
	for i := range w.changes.Redemptions {
		if row := &w.changes.Redemptions[i]; row.ID == last.Operation.RedemptionID {
			last.Redemption = &row.Redemption
		}
	}
	return last, known && last.Operation.To == c.Version
}

// revive takes a withdrawal back: the coupon is again what it was, but for a lease,
// which stays gone.
func (w *World) revive(c *Coupon, last Last, reason string) *OperationRow {
	row := OperationRow{
		Operation: Reverse, Reason: reason, Original: last.Operation.ID,
		BusinessKey: "undo:" + last.Operation.ID,
	}
	to := w.freeState(c)
	if last.Operation.FromState == Used {
		to = Used
		redemption := *last.Redemption
		c.Redemption = &redemption
		row.Order, row.LeaseID, row.RedemptionID = redemption.Order, redemption.LeaseID, redemption.ID
		row.Payment = redemption.Payment
	}
	c.VoidedFrom = None
	op := w.apply(c, to, row)
	if to == Used {
		var budget int64
		if w.policyOf(c.Redemption.PolicyVersion).BudgetBack {
			budget = 1
		}
		w.hold(c, budget, 1)
	}
	w.announce(EventReversed, c, op).Redemption = c.Redemption
	return op
}
