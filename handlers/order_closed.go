package handlers

import (
	"couponlease/internal/coupon"
	"couponlease/messages"
)

// OrderClosed: an order, or one attempt to pay it, ended; release what it holds.
func OrderClosed(e messages.Envelope) ([]coupon.Request, error) {
	m, err := messages.DecodeOrderClosed(e)
	if err != nil {
		return nil, err
	}
	r := request(e, coupon.OrderClosed{Order: m.OrderID, Parent: m.ParentOrderID, Reason: m.Reason})
	r.At = m.OccurredAt
	return []coupon.Request{r}, nil
}
