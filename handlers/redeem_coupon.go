package handlers

import (
	"couponlease/internal/coupon"
	"couponlease/messages"
)

// RedeemCoupon: the owner of a lease uses the coupon.
func RedeemCoupon(e messages.Envelope) ([]coupon.Request, error) {
	m, err := messages.DecodeRedeemCoupon(e)
	if err != nil {
		return nil, err
	}
	return command(e, m.CommandHead, coupon.RedeemCoupon{
		Coupon: coupon.Fold(m.Code), Order: m.OrderID, Token: coupon.HashToken(string(m.LeaseToken)),
		Version: m.LeaseVersion, Payment: m.PaymentID,
	}), nil
}
