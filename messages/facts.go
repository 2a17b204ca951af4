package messages

import (
	"encoding/json"
	"time"
)

// MaxCoupons is how many coupons one order may name.
const MaxCoupons = 64

// A Fact is a message by which another service tells what happened. The set is
// closed: OrderPlaced, PaymentSucceeded, OrderClosed and RefundApproved.
type Fact interface {
	Message
	fact()
}

func (OrderPlaced) fact()      {}
func (PaymentSucceeded) fact() {}
func (OrderClosed) fact()      {}
func (RefundApproved) fact()   {}

// OrderPlaced is the fact that a buyer placed an order, or placed it again with
// a higher revision.
type OrderPlaced struct {
	// OrderID names the order.
	OrderID string `json:"orderId" jsonschema:"minLength=1,maxLength=200"`
	// CustomerID names the buyer; for a guest, the guest's session.
	CustomerID string `json:"customerId" jsonschema:"minLength=1,maxLength=200"`
	// Coupons are the coupons the buyer wants to use; empty when there are none.
	Coupons []CouponRef `json:"coupons" jsonschema:"maxItems=64"`
	// Payable is what is left to pay after all discounts. 0 redeems at once.
	Payable Money `json:"payable"`
	// Lease is how long the coupons are held: a number of seconds, null for no
	// end, or absent for the default.
	Lease LeaseTerm `json:"leaseSeconds,omitzero"`
	// QuoteID names the quote that the order came from.
	QuoteID string `json:"quoteId,omitempty" jsonschema:"minLength=1,maxLength=200,nullable"`
	// Supersedes names an earlier order of the buyer whose coupons move here.
	Supersedes string `json:"supersedes,omitempty" jsonschema:"minLength=1,maxLength=200,nullable"`
	// ParentOrderID joins split orders: one use of a coupon for the parent.
	ParentOrderID string `json:"parentOrderId,omitempty" jsonschema:"minLength=1,maxLength=200,nullable"`
	// Revision grows when the order is placed again with other coupons.
	Revision int64 `json:"revision,omitempty" jsonschema:"minimum=0,maximum=9007199254740991,nullable"`
	// OccurredAt is when the order was placed; if absent, the message's time.
	OccurredAt time.Time `json:"occurredAt,omitzero" jsonschema:"nullable"`
}

// CouponRef is one coupon that an order names.
type CouponRef struct {
	// Code is compared without letter case and outer white space.
	Code string `json:"code" jsonschema:"minLength=1,maxLength=200"`
	// LeaseToken proves that the buyer's quote holds the coupon already.
	LeaseToken Token `json:"leaseToken,omitempty" jsonschema:"minLength=1,maxLength=200,nullable"`
	// Discount is what the coupon took off the order.
	Discount *Money `json:"discount,omitempty" jsonschema:"nullable"`
}

// MarshalJSON writes no coupons as an empty list: the field is required.
func (o OrderPlaced) MarshalJSON() ([]byte, error) {
	type plain OrderPlaced
	if o.Coupons == nil {
		o.Coupons = []CouponRef{}
	}
	return json.Marshal(plain(o))
}

// DecodeOrderPlaced reads the data. The error is a *Malformed.
func DecodeOrderPlaced(e Envelope) (OrderPlaced, error) {
	r, at := e.open(TypeOrderPlaced)
	o := OrderPlaced{OrderID: r.text(at, "orderId"), CustomerID: r.text(at, "customerId")}
	r.each(at, "coupons", 0, MaxCoupons, func(element int32) {
		if o.Coupons == nil {
			o.Coupons = make([]CouponRef, 0, 4)
		}
		o.Coupons = append(o.Coupons, CouponRef{
			Code:       r.text(element, "code"),
			LeaseToken: Token(r.optionalText(element, "leaseToken")),
			Discount:   r.optionalMoney(element, "discount"),
		})
	})
	o.Payable = r.money(at, "payable", 0)
	o.Lease = r.leaseTerm(at, "leaseSeconds")
	o.QuoteID = r.optionalText(at, "quoteId")
	o.Supersedes = r.optionalText(at, "supersedes")
	o.ParentOrderID = r.optionalText(at, "parentOrderId")
	o.Revision, _ = r.integer(at, "revision", 0, MaxNumber)
	o.OccurredAt = r.occurred(at, e)
	return o, r.err()
}

// PaymentSucceeded is the fact that money for an order came in. An order may
// have several payments.
type PaymentSucceeded struct {
	// OrderID names the order that was paid.
	OrderID string `json:"orderId" jsonschema:"minLength=1,maxLength=200"`
	// PaymentID names the payment: the same id is the same money.
	PaymentID string `json:"paymentId" jsonschema:"minLength=1,maxLength=200"`
	// Amount is what was paid, more than 0.
	Amount Money `json:"amount"`
	// Discounted is false when the order was re-priced without its coupons
	// before it was paid; absent means true.
	Discounted *bool `json:"discounted,omitempty" jsonschema:"nullable"`
	// ParentOrderID joins split orders.
	ParentOrderID string `json:"parentOrderId,omitempty" jsonschema:"minLength=1,maxLength=200,nullable"`
	// OccurredAt is when the payment succeeded; if absent, the message's time.
	OccurredAt time.Time `json:"occurredAt,omitzero" jsonschema:"nullable"`
}

// IsDiscounted reports whether the price that was paid counts on the coupons.
func (p PaymentSucceeded) IsDiscounted() bool { return p.Discounted == nil || *p.Discounted }

// DecodePaymentSucceeded reads the data. The error is a *Malformed.
func DecodePaymentSucceeded(e Envelope) (PaymentSucceeded, error) {
	r, at := e.open(TypePaymentSucceeded)
	p := PaymentSucceeded{
		OrderID:       r.text(at, "orderId"),
		PaymentID:     r.text(at, "paymentId"),
		Amount:        r.money(at, "amount", 1),
		Discounted:    r.boolean(at, "discounted"),
		ParentOrderID: r.optionalText(at, "parentOrderId"),
		OccurredAt:    r.occurred(at, e),
	}
	return p, r.err()
}

// OrderClosed is the fact that an order ended, or that one attempt to pay it did.
type OrderClosed struct {
	// OrderID names the order that was closed.
	OrderID string `json:"orderId" jsonschema:"minLength=1,maxLength=200"`
	// Reason says why; one that begins with payment_ concerns one attempt only.
	Reason string `json:"reason" jsonschema:"minLength=1,maxLength=200"`
	// ParentOrderID joins split orders.
	ParentOrderID string `json:"parentOrderId,omitempty" jsonschema:"minLength=1,maxLength=200,nullable"`
	// OccurredAt is when the order was closed; if absent, the message's time.
	OccurredAt time.Time `json:"occurredAt,omitzero" jsonschema:"nullable"`
}

// DecodeOrderClosed reads the data. The error is a *Malformed.
func DecodeOrderClosed(e Envelope) (OrderClosed, error) {
	r, at := e.open(TypeOrderClosed)
	c := OrderClosed{
		OrderID:       r.text(at, "orderId"),
		Reason:        r.text(at, "reason"),
		ParentOrderID: r.optionalText(at, "parentOrderId"),
		OccurredAt:    r.occurred(at, e),
	}
	return c, r.err()
}

// RefundApproved is the fact that money of an order goes back.
type RefundApproved struct {
	// OrderID names the order that is refunded.
	OrderID string `json:"orderId" jsonschema:"minLength=1,maxLength=200"`
	// RefundID names the refund: the same id is the same money.
	RefundID string `json:"refundId" jsonschema:"minLength=1,maxLength=200"`
	// Amount is what goes back, more than 0.
	Amount Money `json:"amount"`
	// Reason says why, such as customer or chargeback.
	Reason string `json:"reason" jsonschema:"minLength=1,maxLength=200"`
	// ParentOrderID joins split orders.
	ParentOrderID string `json:"parentOrderId,omitempty" jsonschema:"minLength=1,maxLength=200,nullable"`
	// OccurredAt is when the refund was approved; if absent, the message's time.
	OccurredAt time.Time `json:"occurredAt,omitzero" jsonschema:"nullable"`
}

// DecodeRefundApproved reads the data. The error is a *Malformed.
func DecodeRefundApproved(e Envelope) (RefundApproved, error) {
	r, at := e.open(TypeRefundApproved)
	a := RefundApproved{
		OrderID:       r.text(at, "orderId"),
		RefundID:      r.text(at, "refundId"),
		Amount:        r.money(at, "amount", 1),
		Reason:        r.text(at, "reason"),
		ParentOrderID: r.optionalText(at, "parentOrderId"),
		OccurredAt:    r.occurred(at, e),
	}
	return a, r.err()
}
