package handlers

import (
	"couponlease/internal/coupon"
	"couponlease/messages"
)

// RenewLease: the owner of a lease wants more time.
func RenewLease(e messages.Envelope) ([]coupon.Request, error) {
	m, err := messages.DecodeRenewLease(e)
	if err != nil {
		return nil, err
	}
	return command(e, m.CommandHead, coupon.RenewLease{
		Coupon: coupon.Fold(m.Code), Token: coupon.HashToken(string(m.LeaseToken)), Version: m.LeaseVersion,
		Lease: term(m.Lease), OpenEnded: m.Lease.IsOpen(),
	}), nil
}
