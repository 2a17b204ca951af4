package handlers

import (
	"couponlease/internal/coupon"
	"couponlease/messages"
)

// SwapCoupons: an order wants other coupons instead of those that it has.
func SwapCoupons(e messages.Envelope) ([]coupon.Request, error) {
	m, err := messages.DecodeSwapCoupons(e)
	if err != nil {
		return nil, err
	}
	f := coupon.SwapCoupons{Order: m.OrderID, Lease: term(m.Lease)}
	for _, item := range m.Add {
		w := coupon.Wanted{Coupon: coupon.Fold(item.Code)}
		if item.Discount != nil {
			w.Discount = item.Discount.Amount
		}
		f.Add = append(f.Add, w)
	}
	for _, code := range m.Drop {
		f.Drop = append(f.Drop, coupon.Fold(code))
	}
	return command(e, m.CommandHead, f), nil
}
