package handlers

import (
	"couponlease/internal/coupon"
	"couponlease/messages"
)

// PaymentSucceeded: money for an order came in; redeem what it holds.
func PaymentSucceeded(e messages.Envelope) ([]coupon.Request, error) {
	m, err := messages.DecodePaymentSucceeded(e)
	if err != nil {
		return nil, err
	}
	r := request(e, coupon.PaymentSucceeded{
		Order: m.OrderID, Parent: m.ParentOrderID, Payment: m.PaymentID,
		Amount: m.Amount.Amount, Currency: m.Amount.Currency, FullPrice: !m.IsDiscounted(),
	})
	r.At = m.OccurredAt
	return []coupon.Request{r}, nil
}
