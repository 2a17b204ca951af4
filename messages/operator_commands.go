package messages

import "time"

// ReturnCoupon asks to apply the return policy to a used coupon, for a refund
// that was agreed outside.
type ReturnCoupon struct {
	CommandHead
	// Code names the used coupon.
	Code string `json:"code" jsonschema:"minLength=1,maxLength=200"`
	// OrderID names the order that used it.
	OrderID string `json:"orderId" jsonschema:"minLength=1,maxLength=200"`
	// RefundID names the refund: one refund decides once.
	RefundID string `json:"refundId" jsonschema:"minLength=1,maxLength=200"`
	// Reason says why.
	Reason string `json:"reason" jsonschema:"minLength=1,maxLength=200"`
	// Actor is who asks.
	Actor string `json:"actor" jsonschema:"minLength=1,maxLength=200"`
}

// DecodeReturnCoupon reads the data. The error is a *Malformed.
func DecodeReturnCoupon(e Envelope) (ReturnCoupon, error) {
	r, at := e.open(TypeReturnCoupon)
	c := ReturnCoupon{
		CommandHead: r.head(at, e),
		Code:        r.text(at, "code"),
		OrderID:     r.text(at, "orderId"),
		RefundID:    r.text(at, "refundId"),
		Reason:      r.text(at, "reason"),
		Actor:       r.text(at, "actor"),
	}
	return c, r.err()
}

// VoidCoupon asks to withdraw a coupon.
type VoidCoupon struct {
	CommandHead
	// Code names the coupon.
	Code string `json:"code" jsonschema:"minLength=1,maxLength=200"`
	// Force withdraws it even while an order leases it; absent means false.
	Force bool `json:"force,omitempty" jsonschema:"nullable"`
	// Reason says why.
	Reason string `json:"reason" jsonschema:"minLength=1,maxLength=200"`
	// Actor is who asks.
	Actor string `json:"actor" jsonschema:"minLength=1,maxLength=200"`
}

// DecodeVoidCoupon reads the data. The error is a *Malformed.
func DecodeVoidCoupon(e Envelope) (VoidCoupon, error) {
	r, at := e.open(TypeVoidCoupon)
	force := r.boolean(at, "force")
	c := VoidCoupon{
		CommandHead: r.head(at, e),
		Code:        r.text(at, "code"),
		Force:       force != nil && *force,
		Reason:      r.text(at, "reason"),
		Actor:       r.text(at, "actor"),
	}
	return c, r.err()
}

// ReverseChange asks to undo a redemption, or the withdrawal of a coupon.
type ReverseChange struct {
	CommandHead
	// Code names the coupon.
	Code string `json:"code" jsonschema:"minLength=1,maxLength=200"`
	// OperationID names the operation to undo.
	OperationID string `json:"operationId" jsonschema:"minLength=1,maxLength=200"`
	// ExpectedVersion refuses the command if the coupon has another version;
	// absent accepts any.
	ExpectedVersion int64 `json:"expectedVersion,omitempty" jsonschema:"minimum=1,maximum=9007199254740991,nullable"`
	// Reason says why.
	Reason string `json:"reason" jsonschema:"minLength=1,maxLength=200"`
	// Actor is who asks.
	Actor string `json:"actor" jsonschema:"minLength=1,maxLength=200"`
}

// DecodeReverseChange reads the data. The error is a *Malformed.
func DecodeReverseChange(e Envelope) (ReverseChange, error) {
	r, at := e.open(TypeReverseChange)
	c := ReverseChange{
		CommandHead: r.head(at, e),
		Code:        r.text(at, "code"),
		OperationID: r.text(at, "operationId"),
		Reason:      r.text(at, "reason"),
		Actor:       r.text(at, "actor"),
	}
	c.ExpectedVersion, _ = r.integer(at, "expectedVersion", 1, MaxNumber)
	return c, r.err()
}

// IssueCoupons asks to put coupons into wallets.
type IssueCoupons struct {
	CommandHead
	// TemplateID names the campaign.
	TemplateID string `json:"templateId" jsonschema:"minLength=1,maxLength=200"`
	// BatchID names the batch of the campaign.
	BatchID string `json:"batchId,omitempty" jsonschema:"minLength=1,maxLength=200,nullable"`
	// Coupons to issue: all that are not there yet, or none when the campaign has not
	// enough left. A code that exists is skipped, and a customer who has a coupon of the
	// batch is as well.
	Coupons []IssueItem `json:"coupons" jsonschema:"minItems=1,maxItems=500"`
	// Actor is who asks.
	Actor string `json:"actor" jsonschema:"minLength=1,maxLength=200"`
}

// IssueItem is one coupon to issue.
type IssueItem struct {
	// Code is what the buyer will type; absent to have one made, for which the batch and
	// the customer have to be named.
	Code string `json:"code,omitempty" jsonschema:"minLength=1,maxLength=200,nullable"`
	// CustomerID names the owner; absent for a code that whoever holds it may use.
	CustomerID string `json:"customerId,omitempty" jsonschema:"minLength=1,maxLength=200,nullable"`
	// ValidFrom is when the validity begins; absent takes the campaign's.
	ValidFrom time.Time `json:"validFrom,omitzero" jsonschema:"nullable"`
	// ValidUntil is when the validity is over; absent takes the campaign's.
	ValidUntil time.Time `json:"validUntil,omitzero" jsonschema:"nullable"`
}

// DecodeIssueCoupons reads the data. The error is a *Malformed.
func DecodeIssueCoupons(e Envelope) (IssueCoupons, error) {
	r, at := e.open(TypeIssueCoupons)
	c := IssueCoupons{
		CommandHead: r.head(at, e),
		TemplateID:  r.text(at, "templateId"),
		BatchID:     r.optionalText(at, "batchId"),
		Actor:       r.text(at, "actor"),
	}
	r.each(at, "coupons", 1, MaxIssue, func(element int32) {
		c.Coupons = append(c.Coupons, IssueItem{
			Code:       r.optionalText(element, "code"),
			CustomerID: r.optionalText(element, "customerId"),
			ValidFrom:  r.optionalTime(element, "validFrom"),
			ValidUntil: r.optionalTime(element, "validUntil"),
		})
	})
	return c, r.err()
}
