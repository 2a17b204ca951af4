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
