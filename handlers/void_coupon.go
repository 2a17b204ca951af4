package handlers

import (
	"couponlease/internal/coupon"
	"couponlease/messages"
)

// VoidCoupon: an operator withdraws a coupon.
func VoidCoupon(e messages.Envelope) ([]coupon.Request, error) {
	m, err := messages.DecodeVoidCoupon(e)
	if err != nil {
		return nil, err
	}
	return by(m.Actor, command(e, m.CommandHead, coupon.VoidCoupon{
		Coupon: coupon.Fold(m.Code), Force: m.Force, Reason: m.Reason,
	})), nil
}
