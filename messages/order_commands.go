package messages

import "time"

// MaxRequestID is the longest id of a till's request, in characters; the redeem
// number that is made of it has to fit where an order id does.
const MaxRequestID = 190

// MaxSwap is how many coupons one SwapCoupons may drop, and how many it may add.
const MaxSwap = 50

// RedeemRequested asks, for a till, to hold a coupon while the shop does its own
// work. The till confirms with a RedeemCoupon or gives up with a ReleaseLease; if
// it does neither, the lease, which is short, lapses. The request id makes
// repeating it safe, as an idempotency key does for other commands.
type RedeemRequested struct {
	// RequestID names the till's request: the same id with the same content gets
	// the first answer again.
	RequestID string `json:"requestId" jsonschema:"minLength=1,maxLength=190"`
	// Code is compared without letter case and outer white space.
	Code string `json:"code" jsonschema:"minLength=1,maxLength=200"`
	// CustomerID names the buyer; absent if nobody is known.
	CustomerID string `json:"customerId,omitempty" jsonschema:"minLength=1,maxLength=200,nullable"`
	// Lease is a number of seconds, or absent for the default. A till's lease
	// always has an end.
	Lease LeaseTerm `json:"leaseSeconds,omitzero"`
	// OccurredAt is when the till asked; if absent, the message's time.
	OccurredAt time.Time `json:"occurredAt,omitzero" jsonschema:"nullable"`
}

// RedeemNumber is the number that a till's request runs under: the order that
// holds its lease, the key of its answer, and what its records are found by.
func RedeemNumber(requestID string) string { return redeemNumberPrefix + requestID }

const redeemNumberPrefix = "RD"

// DecodeRedeemRequested reads the data. The error is a *Malformed.
func DecodeRedeemRequested(e Envelope) (RedeemRequested, error) {
	r, at := e.open(TypeRedeemRequested)
	c := RedeemRequested{
		RequestID:  r.textUpTo(r.need(at, "requestId"), MaxRequestID),
		Code:       r.text(at, "code"),
		CustomerID: r.optionalText(at, "customerId"),
		Lease:      r.endingLease(at, "leaseSeconds"),
		OccurredAt: r.occurred(at, e),
	}
	return c, r.err()
}

// SwapCoupons asks to replace coupons of an order: all that are added are
// obtained and all that are dropped are given back, or nothing changes.
type SwapCoupons struct {
	CommandHead
	// OrderID names the order.
	OrderID string `json:"orderId" jsonschema:"minLength=1,maxLength=200"`
	// Drop has the codes of coupons that the order gives back.
	Drop []string `json:"drop,omitempty" jsonschema:"maxItems=50,minLength=1,maxLength=200,nullable"`
	// Add has the coupons that the order wants instead. Drop and add must not
	// both be empty.
	Add []SwapItem `json:"add,omitempty" jsonschema:"maxItems=50,nullable"`
	// Lease is how long the added coupons are held: a number of seconds, or absent
	// for the default.
	Lease LeaseTerm `json:"leaseSeconds,omitzero"`
}

// SwapItem is one coupon that an order wants.
type SwapItem struct {
	// Code is compared without letter case and outer white space.
	Code string `json:"code" jsonschema:"minLength=1,maxLength=200"`
	// Discount is what the coupon takes off the order.
	Discount *Money `json:"discount,omitempty" jsonschema:"nullable"`
}

// DecodeSwapCoupons reads the data. The error is a *Malformed.
func DecodeSwapCoupons(e Envelope) (SwapCoupons, error) {
	r, at := e.open(TypeSwapCoupons)
	c := SwapCoupons{CommandHead: r.head(at, e), OrderID: r.text(at, "orderId")}
	r.elements(r.find(at, "drop"), 0, MaxSwap, func(element int32) {
		c.Drop = append(c.Drop, r.textAt(element))
	})
	r.elements(r.find(at, "add"), 0, MaxSwap, func(element int32) {
		if r.object(element) {
			c.Add = append(c.Add, SwapItem{
				Code: r.text(element, "code"), Discount: r.optionalMoney(element, "discount"),
			})
		}
	})
	c.Lease = r.endingLease(at, "leaseSeconds")
	if len(c.Drop)+len(c.Add) == 0 {
		r.refuse(FieldInvalid, at, "drop and add must not both be empty")
	}
	return c, r.err()
}
