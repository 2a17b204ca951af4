package store

import "couponlease/internal/coupon"

// scanOperationRow reads the columns of range_operations.sql.
func scanOperationRow(row scanTarget) (o coupon.OperationRow, err error) {
	err = row.Scan(operationTargets(&o)...)
	return o, err
}

func operationTargets(o *coupon.OperationRow) []any {
	return []any{
		&o.ID, &o.Coupon, toText{(*string)(&o.Operation)}, &o.From, &o.To, toText{(*string)(&o.FromState)},
		toText{(*string)(&o.ToState)}, &o.Reason, &o.Order, toText{&o.LeaseID}, toText{&o.RedemptionID}, &o.Payment,
		&o.Refund, &o.Cause, &o.Actor, toText{&o.BusinessKey}, &o.RequestHash, toText{&o.Original}, &o.PolicyVersion,
		toTime{&o.ValidUntil}, toTime{&o.At},
	}
}

// scanLeaseRow reads the columns of range_leases.sql.
func scanLeaseRow(row scanTarget) (l coupon.LeaseRow, err error) {
	err = row.Scan(&l.LeaseID, &l.Coupon, &l.Version, &l.Generation, &l.Order, toHash{(*[32]byte)(&l.TokenHash)},
		toText{(*string)(&l.Purpose)}, toTime{&l.Deadline}, &l.AcquiredAt, &l.Renewal, &l.OperationID,
		toTime{&l.GrantedAtTime})
	return l, err
}

// scanRedemptionRow reads the columns of range_redemptions.sql.
func scanRedemptionRow(row scanTarget) (r coupon.RedemptionRow, err error) {
	err = row.Scan(&r.ID, &r.Coupon, &r.Cycle, &r.Order, &r.Payment, &r.LeaseID, &r.OperationID, &r.PolicyVersion,
		toTime{&r.At})
	return r, err
}

// scanDecisionRow reads the columns of range_decisions.sql.
func scanDecisionRow(row scanTarget) (d coupon.RefundDecision, err error) {
	err = row.Scan(&d.Order, &d.Refund, &d.Coupon, &d.Decision, &d.PolicyVersion, &d.RedemptionID, &d.Payable, &d.Paid,
		&d.Refunded, toText{&d.OperationID}, toTime{&d.At})
	return d, err
}
