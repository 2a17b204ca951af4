package handlers

import (
	"time"

	"couponlease/internal/coupon"
	"couponlease/messages"
)

// VoidCoupon: an operator withdraws a coupon.
func VoidCoupon(e messages.Envelope) ([]coupon.Request, error) {
	m, err := messages.DecodeVoidCoupon(e)
	if err != nil {
		return nil, err
	}
	requests := command(e, m.CommandHead, coupon.VoidCoupon{
		Coupon: coupon.Fold(m.Code), Force: m.Force, Reason: m.Reason,
	})
	m.OccurredAt = time.Time{} // the log has times of its own
	return by(m.Actor, m.Reason, m, requests), nil
}
