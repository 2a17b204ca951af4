package coupon

import (
	"crypto/sha256"
	"time"

	"couponlease/internal/policy"
)

// Request is one message asked of the engine. The message is the fact; what is
// done to coupons because of it is the core's decision.
type Request struct {
	// ID is the message's identity in the inbox; "" keeps no inbox row, for
	// requests whose effect protects itself.
	ID string
	// Hash is the SHA-256 of the canonical body: same ID, other Hash is ID_REUSE.
	Hash [sha256.Size]byte
	// At is the message's own, immutable time.
	At time.Time
	// Trace is the W3C traceparent of the message, or "".
	Trace string
	// Actor is who asked, for the ledger: a handler or an operator.
	Actor string
	// Key is the idempotency key of a command, whose Hash is that of its content; ""
	// for everything else.
	Key string
	// Reply says where the answer to a command goes; nil asks for none.
	Reply *ReplyTo
	// Audit asks for a row of the audit log, for commands that a person gives; nil
	// for everything else.
	Audit *Audit
	Fact  Fact
}

// Fact is one of the types below.
type Fact interface {
	// Orders lists the order ids whose rows the decision needs.
	Orders() []string
	// Coupons lists the coupon ids (folded) whose rows the decision needs, on
	// top of those that the orders named before.
	Coupons() []string
}

// Wanted is one coupon an order asks for.
type Wanted struct {
	// Coupon is the folded code.
	Coupon string
	// Token is the hash of the quote lease's token, nil without one.
	Token    *TokenHash
	Discount int64
}

// OrderPlaced: an order names its coupons.
type OrderPlaced struct {
	Order    string
	Customer string
	Wanted   []Wanted
	Payable  int64
	Currency string
	// Lease is how long the coupons are held; 0 takes the rule's default,
	// OpenEnded never lapses by itself.
	Lease      time.Duration
	OpenEnded  bool
	QuoteID    string
	Supersedes string
	Parent     string
	Revision   int64
}

// PaymentSucceeded: money for an order came in.
type PaymentSucceeded struct {
	Order, Parent, Payment string
	Amount                 int64
	Currency               string
	// FullPrice says that the order was re-priced without the discount.
	FullPrice bool
}

// OrderClosed: an order, or with a reason payment_* one attempt, ended.
type OrderClosed struct{ Order, Parent, Reason string }

// RefundApproved: money goes back.
type RefundApproved struct {
	Order, Parent, Refund string
	Amount                int64
	Currency              string
	Reason                string
}

// LeaseDue: the deadline of a lease may have come.
type LeaseDue struct {
	Coupon, Order, LeaseID string
	TokenHash              TokenHash
	Version                int64
	// PaidFact is the id of a payment known from elsewhere; "" for none.
	PaidFact string
}

// ImportCoupon: one existing code becomes a coupon; a known code is skipped.
type ImportCoupon struct {
	Code, Template, Owner, Batch string
	// ValidFrom and ValidUntil win over the template's; zero takes those.
	ValidFrom, ValidUntil time.Time
}

// ValidityOver: the validity of a coupon may be over.
type ValidityOver struct{ Coupon string }

// DefineTemplate creates a template, or leaves an existing one as it is.
type DefineTemplate struct{ Template Template }

// DefinePolicy creates a policy version, or leaves an existing one as it is.
type DefinePolicy struct{ Policy policy.Policy }

func present(ids ...string) []string {
	out := ids[:0]
	for _, id := range ids {
		if id != "" {
			out = append(out, id)
		}
	}
	return out
}

func (f OrderPlaced) Orders() []string      { return present(f.Order, f.Parent, f.Supersedes) }
func (f PaymentSucceeded) Orders() []string { return present(f.Order, f.Parent) }
func (f OrderClosed) Orders() []string      { return present(f.Order, f.Parent) }
func (f RefundApproved) Orders() []string   { return present(f.Order, f.Parent) }
func (f LeaseDue) Orders() []string         { return present(f.Order) }
func (ImportCoupon) Orders() []string       { return nil }
func (ValidityOver) Orders() []string       { return nil }
func (DefineTemplate) Orders() []string     { return nil }
func (DefinePolicy) Orders() []string       { return nil }

func (f OrderPlaced) Coupons() []string {
	ids := make([]string, len(f.Wanted))
	for i, wanted := range f.Wanted {
		ids[i] = wanted.Coupon
	}
	return ids
}
func (PaymentSucceeded) Coupons() []string { return nil }
func (OrderClosed) Coupons() []string      { return nil }
func (RefundApproved) Coupons() []string   { return nil }
func (f LeaseDue) Coupons() []string       { return []string{f.Coupon} }
func (f ImportCoupon) Coupons() []string   { return []string{Fold(f.Code)} }
func (f ValidityOver) Coupons() []string   { return []string{f.Coupon} }
func (DefineTemplate) Coupons() []string   { return nil }
func (DefinePolicy) Coupons() []string     { return nil }
