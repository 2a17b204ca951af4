package handlers

import (
	"couponlease/internal/coupon"
	"couponlease/messages"
)

// ReleaseLease: the owner of a lease gives the coupon back.
func ReleaseLease(e messages.Envelope) ([]coupon.Request, error) {
	m, err := messages.DecodeReleaseLease(e)
	if err != nil {
		return nil, err
	}
	return command(e, m.CommandHead, coupon.ReleaseLease{
		Coupon: coupon.Fold(m.Code), Token: coupon.HashToken(string(m.LeaseToken)), Version: m.LeaseVersion,
		Reason: m.Reason,
	}), nil
}
