package messages

import "time"

// Change is what every event carries: which coupon, for which order, after
// which operation, because of which message. All of it is always present; an
// empty text or 0 says that the event has no such thing, as when an order is
// rejected that held no lease.
type Change struct {
	// CouponID names the coupon.
	CouponID string `json:"couponId"`
	// OrderID names the order.
	OrderID string `json:"orderId"`
	// StateVersion is the coupon's version after the operation. It orders the
	// events of one coupon. After a lock or a renewal it is the version of the
	// lease too, which a command may present as leaseVersion.
	StateVersion int64 `json:"stateVersion" jsonschema:"minimum=0"`
	// OperationID names the ledger row.
	OperationID string `json:"operationId"`
	// LeaseID names the lease the operation took, used or ended.
	LeaseID string `json:"leaseId"`
	// CausationID is the id of the message that caused the event.
	CausationID string `json:"causationId"`
	// OccurredAt is when it happened, on the database's clock.
	OccurredAt time.Time `json:"occurredAt"`
}

// CouponLocked tells that an order leased a coupon.
type CouponLocked struct {
	Change
	// State is LOCKED.
	State string `json:"state"`
	// Purpose is QUOTE, ORDER or TILL.
	Purpose string `json:"purpose" jsonschema:"enum=QUOTE,enum=ORDER,enum=TILL"`
	// Deadline is when the lease may be released; absent if it has no end.
	Deadline time.Time `json:"deadline,omitzero"`
	// Reason is empty for a plain lock, else why, such as RECOVER or SUPERSEDES:order.
	Reason string `json:"reason,omitempty"`
}

// CouponLockRejected tells that an order did not get its coupons.
type CouponLockRejected struct {
	Change
	// Reasons has one entry for each coupon that was refused.
	Reasons []Rejection `json:"reasons" jsonschema:"minItems=1"`
}

// Rejection is why one coupon was refused.
type Rejection struct {
	// CouponID names the coupon; for a code that no coupon has, it is the code.
	CouponID string `json:"couponId"`
	// Code is the exact refusal, for services. It must not reach buyers, as it
	// shows which coupons exist.
	Code string `json:"code"`
	// PublicCode is what buyers may see: see PublicCode.
	PublicCode string `json:"publicCode"`
}

// CouponLeaseRenewed tells that a lease has a new deadline.
type CouponLeaseRenewed struct {
	Change
	// State is LOCKED.
	State string `json:"state"`
	// Deadline is when the lease may be released; absent if it has no end.
	Deadline time.Time `json:"deadline,omitzero"`
	// Reason is empty for a plain renewal, or BIND_ORDER.
	Reason string `json:"reason,omitempty"`
}

// CouponRedeemed tells that a coupon is used up by a paid order.
type CouponRedeemed struct {
	Change
	// State is USED.
	State string `json:"state"`
	// RedemptionID names the redemption.
	RedemptionID string `json:"redemptionId"`
	// PaymentID names the payment; empty when nothing was payable.
	PaymentID string `json:"paymentId,omitempty"`
	// Reason is empty for a plain redemption, or RECOVER or CARRIED_OVER.
	Reason string `json:"reason,omitempty"`
	// Flags marks what is worth knowing, such as AFTER_LEASE_DEADLINE.
	Flags []string `json:"flags,omitempty"`
	// PolicyVersion is the return policy that will decide about refunds.
	PolicyVersion int64 `json:"policyVersion,omitempty"`
}

// CouponReleased tells that a lease ended without a redemption.
type CouponReleased struct {
	Change
	// State is AVAILABLE, or EXPIRED when the coupon's validity is over.
	State string `json:"state"`
	// Reason is the close's reason, or LEASE_EXPIRED, or the command's.
	Reason string `json:"reason"`
}

// CouponExpired tells that an unused coupon's validity is over.
type CouponExpired struct {
	Change
	// State is EXPIRED.
	State string `json:"state"`
	// Reason says which check found it.
	Reason string `json:"reason,omitempty"`
}

// CouponReturned tells that a refund gave the buyer the coupon back.
type CouponReturned struct {
	Change
	// State is AVAILABLE, or EXPIRED when the coupon's validity is over.
	State string `json:"state"`
	// RefundID names the refund.
	RefundID string `json:"refundId"`
	// Reason is the decision and its ground, such as RETURN:FULL.
	Reason string `json:"reason"`
	// RedemptionID names the redemption that was undone.
	RedemptionID string `json:"redemptionId,omitempty"`
	// PolicyVersion is the return policy that decided.
	PolicyVersion int64 `json:"policyVersion,omitempty"`
	// ValidUntil is the end of validity from now on; absent if there is none.
	ValidUntil time.Time `json:"validUntil,omitzero"`
}

// CouponRetired tells that a refund ended the coupon for good.
type CouponRetired struct {
	Change
	// State is REFUNDED.
	State string `json:"state"`
	// RefundID names the refund.
	RefundID string `json:"refundId"`
	// Reason is the decision and its ground, such as RETIRE:FULL.
	Reason string `json:"reason"`
	// RedemptionID names the redemption that was undone.
	RedemptionID string `json:"redemptionId,omitempty"`
	// PolicyVersion is the return policy that decided.
	PolicyVersion int64 `json:"policyVersion,omitempty"`
	// ReissuedAs names the coupon that replaces this one, if there is one.
	ReissuedAs string `json:"reissuedAs,omitempty"`
}

// CouponReturnDeclined tells that a refund left the coupon used.
type CouponReturnDeclined struct {
	Change
	RefundDecision
}

// RefundCouponDecided tells what a refund means for a coupon, whatever it is.
type RefundCouponDecided struct {
	Change
	RefundDecision
}

// RefundDecision is what the return policy made of a refund.
type RefundDecision struct {
	// RefundID names the refund.
	RefundID string `json:"refundId"`
	// RedemptionID names the redemption it is about.
	RedemptionID string `json:"redemptionId,omitempty"`
	// Decision is the decision and its ground, such as KEEP:PARTIAL.
	Decision string `json:"decision"`
	// PolicyVersion is the return policy that decided.
	PolicyVersion int64 `json:"policyVersion" jsonschema:"minimum=0"`
	// Refunded is the sum of the order's distinct refunds so far.
	Refunded Money `json:"refunded"`
	// Paid is the sum of the order's distinct payments.
	Paid Money `json:"paid"`
	// Payable is what the order had to pay.
	Payable Money `json:"payable"`
}

// CouponVoided tells that a coupon was withdrawn.
type CouponVoided struct {
	Change
	// State is VOID.
	State string `json:"state"`
	// Reason is the operator's or the policy's.
	Reason string `json:"reason"`
	// OriginalOperationID names the operation that this one undoes, if any.
	OriginalOperationID string `json:"originalOperationId,omitempty"`
}

// RedemptionReversed tells that an operation was undone: a redemption, or the
// withdrawal of a coupon.
type RedemptionReversed struct {
	Change
	// State is what the coupon is now.
	State string `json:"state"`
	// Reason is the operator's, or SUPERSEDED.
	Reason string `json:"reason"`
	// OriginalOperationID names the operation that was undone.
	OriginalOperationID string `json:"originalOperationId"`
	// RedemptionID names the redemption that was undone, if it was one.
	RedemptionID string `json:"redemptionId,omitempty"`
}

// CouponIssued tells that a coupon came into a wallet.
type CouponIssued struct {
	Change
	// State is AVAILABLE.
	State string `json:"state"`
	// TemplateID names the campaign.
	TemplateID string `json:"templateId"`
	// BatchID names the batch of the campaign.
	BatchID string `json:"batchId,omitempty"`
	// CustomerID names the owner; empty for a code that whoever holds it may use.
	CustomerID string `json:"customerId,omitempty"`
	// ValidFrom is when the validity begins; absent if it always held.
	ValidFrom time.Time `json:"validFrom,omitzero"`
	// ValidUntil is when the validity is over; absent if it never is.
	ValidUntil time.Time `json:"validUntil,omitzero"`
	// PolicyVersion is the return policy that holds for this coupon.
	PolicyVersion int64 `json:"policyVersion,omitempty"`
	// TemplateVersion is the version of the campaign's terms that holds for this coupon.
	TemplateVersion int64 `json:"templateVersion,omitempty"`
	// Discount is what the coupon is worth; absent if the campaign does not say.
	Discount *Discount `json:"discount,omitempty"`
}

// Discount says how a coupon makes an order cheaper.
type Discount struct {
	// Kind is AMOUNT_OFF (an amount, on an order of at least minSpend), PERCENT_OFF, or
	// NO_THRESHOLD (an amount, on any order).
	Kind string `json:"kind" jsonschema:"enum=AMOUNT_OFF,enum=PERCENT_OFF,enum=NO_THRESHOLD"`
	// Amount is what is taken off; absent for PERCENT_OFF.
	Amount *Money `json:"amount,omitempty"`
	// BasisPoints are hundredths of a percent: 2000 is 20 percent off; absent for sums.
	BasisPoints int64 `json:"basisPoints,omitempty" jsonschema:"minimum=1,maximum=10000"`
	// MinSpend is the least that an order has to be worth; absent if any will do.
	MinSpend *Money `json:"minSpend,omitempty"`
}

// CouponClaimRejected tells that a customer did not get a coupon.
type CouponClaimRejected struct {
	Change
	// TemplateID names the campaign.
	TemplateID string `json:"templateId"`
	// BatchID names the batch of the campaign.
	BatchID string `json:"batchId,omitempty"`
	// CustomerID names who asked.
	CustomerID string `json:"customerId,omitempty"`
	// Reason is one of the public claim reasons: see PublicClaimReason.
	Reason string `json:"reason" jsonschema:"enum=SOLD_OUT,enum=LIMIT_REACHED,enum=NOT_VALID_NOW,enum=SIGN_IN_REQUIRED,enum=NOT_AVAILABLE,enum=TRY_AGAIN"`
}

// CampaignSoldOut tells that a campaign has nothing left: once, and again when it was edited
// since and has nothing left.
type CampaignSoldOut struct {
	Change
	// TemplateID names the campaign.
	TemplateID string `json:"templateId"`
	// Total is how many coupons it had.
	Total int64 `json:"total"`
	// Generation counts its stocks: the event is sent once for each.
	Generation int64 `json:"generation"`
}

// CouponConflictDetected tells that facts and coupon do not fit together.
type CouponConflictDetected struct {
	Change
	// Code says how, such as ORDER_CLOSED.
	Code string `json:"code"`
	// PaymentID names the payment that does not fit, if it is one.
	PaymentID string `json:"paymentId,omitempty"`
}

// ReviewOpened tells that a person has to decide.
type ReviewOpened struct {
	Change
	// ReviewID names the review.
	ReviewID string `json:"reviewId"`
	// Reason says why, such as PAID_WITHOUT_LEASE.
	Reason string `json:"reason"`
	// Suggestion is the proposed outcome, such as REFUND_PAYMENT.
	Suggestion string `json:"suggestion,omitempty"`
}

// ReviewResolved tells what a person decided.
type ReviewResolved struct {
	Change
	// ReviewID names the review.
	ReviewID string `json:"reviewId"`
	// Reason is the one the review was opened with.
	Reason string `json:"reason"`
	// Outcome is the decision, such as HONOUR_AT_MERCHANT_COST.
	Outcome string `json:"outcome"`
	// Actor is who decided.
	Actor string `json:"actor"`
}
