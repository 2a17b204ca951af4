package handlers

import (
	"couponlease/internal/coupon"
	"couponlease/messages"
)

// ClaimCoupon: somebody wants a coupon of a campaign.
func ClaimCoupon(e messages.Envelope) ([]coupon.Request, error) {
	m, err := messages.DecodeClaimCoupon(e)
	if err != nil {
		return nil, err
	}
	return command(e, m.CommandHead, coupon.ClaimCoupon{
		Template: m.TemplateID, Batch: m.BatchID, Person: m.CustomerID,
	}), nil
}
