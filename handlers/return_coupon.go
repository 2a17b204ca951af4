package handlers

import (
	"time"

	"couponlease/internal/coupon"
	"couponlease/messages"
)

// ReturnCoupon: somebody agreed a refund outside; the return policy decides.
func ReturnCoupon(e messages.Envelope) ([]coupon.Request, error) {
	m, err := messages.DecodeReturnCoupon(e)
	if err != nil {
		return nil, err
	}
	requests := command(e, m.CommandHead, coupon.ReturnCoupon{
		Coupon: coupon.Fold(m.Code), Order: m.OrderID, Refund: m.RefundID, Reason: m.Reason,
	})
	m.OccurredAt = time.Time{} // the log has times of its own
	return by(m.Actor, m.Reason, m, requests), nil
}
