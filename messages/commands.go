package messages

import (
	"strings"
	"time"
)

// MaxIssue is how many coupons one IssueCoupons may name.
const MaxIssue = 500

// CommandHead is what every command carries.
type CommandHead struct {
	// IdempotencyKey makes repeating a command safe: the same key with the same
	// content gets the first answer again. Keys that begin with RD are redeem
	// numbers, and tills alone have them.
	IdempotencyKey string `json:"idempotencyKey" jsonschema:"minLength=1,maxLength=200"`
	// OccurredAt is when the command was given; if absent, the message's time.
	OccurredAt time.Time `json:"occurredAt,omitzero" jsonschema:"nullable"`
}

func (r *reader) head(at int32, e Envelope) CommandHead {
	head := CommandHead{IdempotencyKey: r.text(at, "idempotencyKey"), OccurredAt: r.occurred(at, e)}
	if r.fault == nil && strings.HasPrefix(head.IdempotencyKey, redeemNumberPrefix) {
		r.refuse(FieldInvalid, r.find(at, "idempotencyKey"), "must not begin with "+redeemNumberPrefix+": those are redeem numbers")
	}
	return head
}

// token is a required lease token.
func (r *reader) token(at int32) Token { return Token(r.text(at, "leaseToken")) }

// leaseVersion is 0 when absent.
func (r *reader) leaseVersion(at int32) int64 {
	version, _ := r.integer(at, "leaseVersion", 1, MaxNumber)
	return version
}

// LockCoupon asks to lease a coupon to a quote: an order that is not placed yet.
// The answer has the lease's token and version; OrderPlaced with that token takes
// the lease over.
type LockCoupon struct {
	CommandHead
	// Code is compared without letter case and outer white space.
	Code string `json:"code" jsonschema:"minLength=1,maxLength=200"`
	// OrderID names the quote that is to hold the lease.
	OrderID string `json:"orderId" jsonschema:"minLength=1,maxLength=200"`
	// CustomerID names the buyer; absent if nobody is known.
	CustomerID string `json:"customerId,omitempty" jsonschema:"minLength=1,maxLength=200,nullable"`
	// Lease is a number of seconds, or absent for the default. A quote's lease
	// always has an end.
	Lease LeaseTerm `json:"leaseSeconds,omitzero"`
}

// DecodeLockCoupon reads the data. The error is a *Malformed.
func DecodeLockCoupon(e Envelope) (LockCoupon, error) {
	r, at := e.open(TypeLockCoupon)
	c := LockCoupon{
		CommandHead: r.head(at, e),
		Code:        r.text(at, "code"),
		OrderID:     r.text(at, "orderId"),
		CustomerID:  r.optionalText(at, "customerId"),
		Lease:       r.endingLease(at, "leaseSeconds"),
	}
	return c, r.err()
}

// RenewLease asks for a later deadline of a lease.
type RenewLease struct {
	CommandHead
	// Code names the leased coupon.
	Code string `json:"code" jsonschema:"minLength=1,maxLength=200"`
	// LeaseToken proves who owns the lease.
	LeaseToken Token `json:"leaseToken" jsonschema:"minLength=1,maxLength=200"`
	// LeaseVersion refuses the command if the lease has another version than this,
	// the stateVersion that the lock or the last renewal answered with; absent
	// accepts any.
	LeaseVersion int64 `json:"leaseVersion,omitempty" jsonschema:"minimum=1,maximum=9007199254740991,nullable"`
	// Lease counts from now: a number of seconds, null for no end, or absent for
	// the default.
	Lease LeaseTerm `json:"leaseSeconds,omitzero"`
}

// DecodeRenewLease reads the data. The error is a *Malformed.
func DecodeRenewLease(e Envelope) (RenewLease, error) {
	r, at := e.open(TypeRenewLease)
	c := RenewLease{
		CommandHead:  r.head(at, e),
		Code:         r.text(at, "code"),
		LeaseToken:   r.token(at),
		LeaseVersion: r.leaseVersion(at),
		Lease:        r.leaseTerm(at, "leaseSeconds"),
	}
	return c, r.err()
}

// ReleaseLease asks to give a leased coupon back.
type ReleaseLease struct {
	CommandHead
	// Code names the leased coupon.
	Code string `json:"code" jsonschema:"minLength=1,maxLength=200"`
	// LeaseToken proves who owns the lease.
	LeaseToken Token `json:"leaseToken" jsonschema:"minLength=1,maxLength=200"`
	// LeaseVersion refuses the command if the lease has another version than this,
	// the stateVersion that the lock or the last renewal answered with; absent
	// accepts any.
	LeaseVersion int64 `json:"leaseVersion,omitempty" jsonschema:"minimum=1,maximum=9007199254740991,nullable"`
	// Reason says why.
	Reason string `json:"reason,omitempty" jsonschema:"minLength=1,maxLength=200,nullable"`
}

// DecodeReleaseLease reads the data. The error is a *Malformed.
func DecodeReleaseLease(e Envelope) (ReleaseLease, error) {
	r, at := e.open(TypeReleaseLease)
	c := ReleaseLease{
		CommandHead:  r.head(at, e),
		Code:         r.text(at, "code"),
		LeaseToken:   r.token(at),
		LeaseVersion: r.leaseVersion(at),
		Reason:       r.optionalText(at, "reason"),
	}
	return c, r.err()
}

// RedeemCoupon asks to use a leased coupon up, as a till does to confirm what
// RedeemRequested began.
type RedeemCoupon struct {
	CommandHead
	// Code names the leased coupon.
	Code string `json:"code" jsonschema:"minLength=1,maxLength=200"`
	// OrderID names the order that holds the lease; at a till, the redeem number.
	OrderID string `json:"orderId" jsonschema:"minLength=1,maxLength=200"`
	// LeaseToken proves who owns the lease.
	LeaseToken Token `json:"leaseToken" jsonschema:"minLength=1,maxLength=200"`
	// LeaseVersion refuses the command if the lease has another version than this,
	// the stateVersion that the lock or the last renewal answered with; absent
	// accepts any.
	LeaseVersion int64 `json:"leaseVersion,omitempty" jsonschema:"minimum=1,maximum=9007199254740991,nullable"`
	// PaymentID names the payment; absent when nothing was payable.
	PaymentID string `json:"paymentId,omitempty" jsonschema:"minLength=1,maxLength=200,nullable"`
}

// DecodeRedeemCoupon reads the data. The error is a *Malformed.
func DecodeRedeemCoupon(e Envelope) (RedeemCoupon, error) {
	r, at := e.open(TypeRedeemCoupon)
	c := RedeemCoupon{
		CommandHead:  r.head(at, e),
		Code:         r.text(at, "code"),
		OrderID:      r.text(at, "orderId"),
		LeaseToken:   r.token(at),
		LeaseVersion: r.leaseVersion(at),
		PaymentID:    r.optionalText(at, "paymentId"),
	}
	return c, r.err()
}

// ClaimCoupon asks for a coupon out of a campaign. The reply's couponId is its code. A
// refusal for which the campaign's stock was enough to look at, such as QUOTA_EXHAUSTED, is
// not kept: the same command asked again is judged again.
type ClaimCoupon struct {
	CommandHead
	// TemplateID names the campaign.
	TemplateID string `json:"templateId" jsonschema:"minLength=1,maxLength=200"`
	// BatchID names a batch of the campaign, of which a customer gets one coupon, however
	// often it asks; absent for as many as the campaign's limits allow.
	BatchID string `json:"batchId,omitempty" jsonschema:"minLength=1,maxLength=200,nullable"`
	// CustomerID names who asks; a campaign with limits refuses who is unknown.
	CustomerID string `json:"customerId,omitempty" jsonschema:"minLength=1,maxLength=200,nullable"`
}

// DecodeClaimCoupon reads the data. The error is a *Malformed.
func DecodeClaimCoupon(e Envelope) (ClaimCoupon, error) {
	r, at := e.open(TypeClaimCoupon)
	c := ClaimCoupon{
		CommandHead: r.head(at, e),
		TemplateID:  r.text(at, "templateId"),
		BatchID:     r.optionalText(at, "batchId"),
		CustomerID:  r.optionalText(at, "customerId"),
	}
	return c, r.err()
}
