package handlers

import (
	"couponlease/internal/coupon"
	"couponlease/messages"
)

// RedeemRequested: a till holds a coupon while the shop does its own work. The
// request is its own key.
func RedeemRequested(e messages.Envelope) ([]coupon.Request, error) {
	m, err := messages.DecodeRedeemRequested(e)
	if err != nil {
		return nil, err
	}
	head := messages.CommandHead{
		IdempotencyKey: coupon.RedeemNumber(m.RequestID), OccurredAt: m.OccurredAt,
	}
	return command(e, head, coupon.RedeemRequested{
		Coupon: coupon.Fold(m.Code), Request: m.RequestID, Customer: m.CustomerID, Lease: term(m.Lease),
	}), nil
}
