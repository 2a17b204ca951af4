package coupon

// ReportFault asks for a case about what reconciliation has found and no rule can settle:
// DOUBLE_USE, USED_WITHOUT_REDEMPTION or DISCOUNT_WITHOUT_REDEMPTION. Nothing else changes,
// and there is one case for each order, coupon and fault, however often it is asked for.
type ReportFault struct {
	Fault         Fault
	Order, Coupon string
}

func (f ReportFault) Orders() []string  { return present(f.Order) }
func (f ReportFault) Coupons() []string { return present(f.Coupon) }
func (ReportFault) kind() string        { return "ReportFault" }

func (f ReportFault) carryOut(w *World, a *Answer, _ Fields) {
	a.Order = f.Order
	row, c := w.orders[f.Order], w.coupons[f.Coupon]
	switch {
	case c == nil:
		a.refuse(UnknownCoupon)
		return
	case row == nil || !row.Known():
		a.refuse(UnknownOrder)
		return
	}
	g := w.groupOf(row)
	// An order that never named the coupon has the case itself.
	named := g.head.named(c.ID)
	if !f.stands(g, named, c) || !w.openReview(g, named, ReviewReason(f.Fault), false) {
		a.same(Noop, c)
		return
	}
	a.Status, a.Code = Applied, InReview
	a.stands(c)
}

// stands says whether what was found may still be so, as far as the rows at hand tell.
func (f ReportFault) stands(g group, named *Named, c *Coupon) bool {
	switch f.Fault {
	case FaultDoubleUse:
		return true // the coupon's row knows one of the uses only
	case FaultUsedWithoutRedemption:
		return c.State == Used
	case FaultDiscountWithoutRedemption:
		return named != nil && g.discounted(named, c, func(string, string) bool { return false })
	default:
		return false
	}
}
