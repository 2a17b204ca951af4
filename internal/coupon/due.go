package coupon

// leaseDue judges one lease whose deadline may have come. The message is a
// hint: only the row and the database's clock decide.
func (w *World) leaseDue(f LeaseDue, at Fields) Outcome {
	c := w.coupons[f.Coupon]
	if c == nil || c.State != Locked || c.Lease.ID != f.LeaseID ||
		!c.Lease.TokenHash.equal(f.TokenHash) || c.Lease.Version != f.Version {
		return Outcome{Status: Unchanged, Code: NoopStale}
	}
	if c.Lease.Deadline.IsZero() || w.Now.Before(c.Lease.Deadline) {
		w.arm(c, true)
		return Outcome{Status: Unchanged, Code: NoopNotDue}
	}
	// Of an order that nothing is known of there may be an empty row or none.
	if row := w.orders[c.Lease.Order]; row != nil && row.Known() {
		if f.PaidFact != "" && row.payment(f.PaidFact) == nil && len(row.Payments) < MaxPayments {
			row.Payments = append(row.Payments, Payment{ID: f.PaidFact, Amount: row.Payable, At: at.At})
			w.touchOrder(row)
		}
		if _, s := w.settleOrder(row); s.redeemed > 0 {
			if f.PaidFact != "" {
				return Outcome{Status: Applied, Code: RedeemedFromFact}
			}
			return Outcome{Status: Applied, Code: Redeemed}
		}
	}
	if c.State == Locked && c.Lease.ID == f.LeaseID {
		w.release(c, ReasonLeaseExpired)
	}
	return Outcome{Status: Applied, Code: Released}
}

// validityOver expires a free coupon whose validity is over.
func (w *World) validityOver(f ValidityOver) Outcome {
	c := w.coupons[f.Coupon]
	if c == nil || c.State != Available || !c.Over(w.Now) {
		return Outcome{Status: Unchanged, Code: NoopStale}
	}
	op := w.apply(c, Expired, OperationRow{Operation: Expire, Reason: ReasonValidityOver})
	w.announce(EventExpired, c, op)
	return Outcome{Status: Applied, Code: Lapsed}
}
