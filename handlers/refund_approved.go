package handlers

import (
	"couponlease/internal/coupon"
	"couponlease/messages"
)

// RefundApproved: money goes back; the return policy decides about the coupons.
func RefundApproved(e messages.Envelope) ([]coupon.Request, error) {
	m, err := messages.DecodeRefundApproved(e)
	if err != nil {
		return nil, err
	}
	r := request(e, coupon.RefundApproved{
		Order: m.OrderID, Parent: m.ParentOrderID, Refund: m.RefundID,
		Amount: m.Amount.Amount, Currency: m.Amount.Currency, Reason: m.Reason,
	})
	r.At = m.OccurredAt
	return []coupon.Request{r}, nil
}
