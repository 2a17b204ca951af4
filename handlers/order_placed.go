package handlers

import (
	"time"

	"couponlease/internal/coupon"
	"couponlease/messages"
)

// OrderPlaced: a buyer placed an order; lease its coupons to it.
func OrderPlaced(e messages.Envelope) ([]coupon.Request, error) {
	m, err := messages.DecodeOrderPlaced(e)
	if err != nil {
		return nil, err
	}
	f := coupon.OrderPlaced{
		Order: m.OrderID, Customer: m.CustomerID, Wanted: wanted(m.Coupons),
		Payable: m.Payable.Amount, Currency: m.Payable.Currency,
		OpenEnded: m.Lease.IsOpen(), QuoteID: m.QuoteID, Supersedes: m.Supersedes,
		Parent: m.ParentOrderID, Revision: m.Revision,
	}
	if seconds, ok := m.Lease.Seconds(); ok {
		f.Lease = time.Duration(seconds) * time.Second
	}
	r := request(e, f)
	r.At = m.OccurredAt
	return []coupon.Request{r}, nil
}

// wanted folds the codes; the same code twice in one order counts once.
func wanted(refs []messages.CouponRef) []coupon.Wanted {
	list := make([]coupon.Wanted, 0, len(refs))
	seen := make(map[string]bool, len(refs))
	for _, ref := range refs {
		id := coupon.Fold(ref.Code)
		if seen[id] {
			continue
		}
		seen[id] = true
		w := coupon.Wanted{Coupon: id}
		if ref.LeaseToken != "" {
			hash := coupon.HashToken(string(ref.LeaseToken))
			w.Token = &hash
		}
		if ref.Discount != nil {
			w.Discount = ref.Discount.Amount
		}
		list = append(list, w)
	}
	return list
}
