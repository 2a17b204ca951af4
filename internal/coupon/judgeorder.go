package coupon

import (
	"fmt"
	"slices"
	"time"
)

// OrderBooks is an order with what its judgement depends on.
type OrderBooks struct {
	Order *Order
	// Coupon gives a coupon's row and Related the row of a linked order, nil if unknown.
	Coupon  func(id string) *Coupon
	Related func(id string) *Order
	// Ended says whether the ledger of a coupon ends a redemption.
	Ended func(coupon, redemption string) bool
}

// JudgeOrder gives what reconciliation finds about one order.
func JudgeOrder(b OrderBooks, m Moment) []Finding {
	g := groupFor(b.Order, b.Related)
	var findings []Finding
	if found := g.orphan(b.Order, m); found != nil {
		findings = append(findings, *found)
	}
	if b.Order.Parent != "" {
		return findings // its coupons are its head's
	}
	for i := range b.Order.Named {
		named := &b.Order.Named[i]
		c := b.Coupon(named.Coupon)
		missed := g.unsettled(named, c)
		if missed.check == "" && g.discounted(named, c, b.Ended) {
			missed = omission{FaultDiscountWithoutRedemption,
				fmt.Sprintf("paid with a discount of %d, and nothing was redeemed for it", named.Discount)}
		}
		if missed.check != "" {
			findings = append(findings, Finding{
				Fault: missed.check, Subject: b.Order.ID + "/" + named.Coupon, Order: b.Order.ID, Coupon: named.Coupon,
				Detail: missed.detail,
			})
		}
	}
	return findings
}

// orphan: money of an order came, and the order did not.
func (g group) orphan(o *Order, m Moment) *Finding {
	if g.placed() || slices.Contains(o.Reviews, ReviewOrphanPayment) {
		return nil // or a person has the case
	}
	first := o.firstPayment()
	if first == nil || !m.longer(first.At, m.Payment) {
		return nil
	}
	return &Finding{
		Fault: FaultOrphanPayment, Subject: o.ID, Order: o.ID,
		Detail: fmt.Sprintf("payment %s of %d since %s, and no such order was placed",
			first.ID, first.Amount, first.At.UTC().Format(time.RFC3339)),
	}
}

// firstPayment is the earliest one, nil if there is none.
func (o *Order) firstPayment() *Payment {
	var first *Payment
	for i := range o.Payments {
		if p := &o.Payments[i]; first == nil || p.At.Before(first.At) {
			first = p
		}
	}
	return first
}

// discounted says whether the order has a discount for a coupon that it did not redeem,
// and for no reason that the books know.
func (g group) discounted(named *Named, c *Coupon, ended func(coupon, redemption string) bool) bool {
	switch {
	case named.Discount <= 0 || named.Dropped || g.superseded() || !g.placed() || !g.needsPerson():
		return false
	case c != nil && (c.UsedBy(g.head.ID) || c.LeasedTo(g.head.ID)):
		return false
	case c != nil && c.State == Used && named.RedemptionID != "":
		return false // two orders have redeemed it, which is found about the coupon
	case named.Refusal == Returned || len(named.Reviews) > 0:
		return false // a refund took it back, or a person has the case
	default:
		return named.RedemptionID == "" || !ended(named.Coupon, named.RedemptionID)
	}
}
