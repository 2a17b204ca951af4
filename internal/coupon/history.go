package coupon

// History is everything kept about one coupon: the row and its evidence, in
// version order. It is what replay, the invariants and the timeline read.
type History struct {
	Coupon      *Coupon
	Operations  []OperationRow
	Leases      []LeaseRow
	Redemptions []RedemptionRow
	Decisions   []RefundDecision
}

// Ended says whether the ledger ends a redemption.
func (h History) Ended(redemption string) bool {
	for i := range h.Operations {
		if op := &h.Operations[i]; op.FromState == Used && op.RedemptionID == redemption {
			return true
		}
	}
	return false
}
