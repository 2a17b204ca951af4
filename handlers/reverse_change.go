package handlers

import (
	"time"

	"couponlease/internal/coupon"
	"couponlease/messages"
)

// ReverseChange: an operator takes a redemption or a withdrawal back.
func ReverseChange(e messages.Envelope) ([]coupon.Request, error) {
	m, err := messages.DecodeReverseChange(e)
	if err != nil {
		return nil, err
	}
	requests := command(e, m.CommandHead, coupon.ReverseChange{
		Coupon: coupon.Fold(m.Code), Operation: m.OperationID, ExpectedVersion: m.ExpectedVersion, Reason: m.Reason,
	})
	m.OccurredAt = time.Time{} // the log has times of its own
	return by(m.Actor, m.Reason, m, requests), nil
}
