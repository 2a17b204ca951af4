package handlers

import (
	"couponlease/internal/coupon"
	"couponlease/messages"
)

// LockCoupon: a checkout holds a coupon while the buyer decides.
func LockCoupon(e messages.Envelope) ([]coupon.Request, error) {
	m, err := messages.DecodeLockCoupon(e)
	if err != nil {
		return nil, err
	}
	return command(e, m.CommandHead, coupon.LockCoupon{
		Coupon: coupon.Fold(m.Code), Order: m.OrderID, Customer: m.CustomerID, Lease: term(m.Lease),
	}), nil
}
