package coupon

import "time"

// OperationRow is one ledger row: immutable evidence of one change.
type OperationRow struct {
	ID        string
	Coupon    string
	Operation Operation
	// From and To are the versions; To is always From + 1.
	From, To           int64
	FromState, ToState State
	Reason             string
	Order              string
	LeaseID            string
	RedemptionID       string
	Payment, Refund    string
	// Cause is the id of the message that led to the change, Actor who sent it.
	Cause, Actor string
	// BusinessKey is unique per coupon and protects the effect when the same
	// fact comes again under another message id; "" needs no protection.
	BusinessKey string
	RequestHash []byte
	// Original is the operation that this one takes back.
	Original      string
	PolicyVersion int64
	// ValidUntil is the coupon's validity after the operation.
	ValidUntil time.Time
	At         time.Time
}

// LeaseRow is the evidence of a lease granted or renewed.
type LeaseRow struct {
	LeaseID       string
	Coupon        string
	Version       int64
	Generation    int64
	Order         string
	TokenHash     TokenHash
	Purpose       Purpose
	Deadline      time.Time
	AcquiredAt    int64
	Renewal       bool
	OperationID   string
	GrantedAtTime time.Time
}

// Timer asks for a LeaseDue at Due.
type Timer struct {
	Coupon, Order, LeaseID string
	TokenHash              TokenHash
	Version                int64
	Due                    time.Time
	// Rearmed says that the timer row exists already and only its message is
	// sent again.
	Rearmed bool
}

// RedemptionRow is the evidence of a redemption; unique per coupon and cycle.
type RedemptionRow struct {
	Redemption
	Coupon string
	At     time.Time
}

// RefundDecision is the evidence of what a refund did to one coupon.
type RefundDecision struct {
	Order, Refund, Coupon string
	// Decision is the verdict with its ground, such as "RETURN:FULL".
	Decision      string
	PolicyVersion int64
	RedemptionID  string
	// Payable, Paid and Refunded are the sums the decision was taken on.
	Payable, Paid, Refunded int64
	OperationID             string
	At                      time.Time
}

// RefundRow is one distinct refund to record.
type RefundRow struct {
	Order string
	Refund
	Cause string
}

// ReviewRow is one case for a person.
type ReviewRow struct {
	ID         string
	Order      string
	Coupon     string
	Reason     ReviewReason
	Suggestion string
	Cause      string
	At         time.Time
	Evidence   Evidence
}

// Receipt is the inbox row of one message, written once, with its outcome.
type Receipt struct {
	ID     string
	Hash   [32]byte
	At     time.Time
	Kind   string
	Order  string
	Code   Code
	Status Status
	// Done is the database time of the decision.
	Done time.Time
}

// EventKind is the short name of an outgoing event.
type EventKind string

const (
	EventIssued           EventKind = "CouponIssued"
	EventLocked           EventKind = "CouponLocked"
	EventLockRejected     EventKind = "CouponLockRejected"
	EventLeaseRenewed     EventKind = "CouponLeaseRenewed"
	EventRedeemed         EventKind = "CouponRedeemed"
	EventReleased         EventKind = "CouponReleased"
	EventExpired          EventKind = "CouponExpired"
	EventReturned         EventKind = "CouponReturned"
	EventRetired          EventKind = "CouponRetired"
	EventReturnDeclined   EventKind = "CouponReturnDeclined"
	EventRefundDecided    EventKind = "RefundCouponDecided"
	EventVoided           EventKind = "CouponVoided"
	EventReversed         EventKind = "RedemptionReversed"
	EventConflictDetected EventKind = "CouponConflictDetected"
	EventReviewOpened     EventKind = "ReviewOpened"
	EventReviewResolved   EventKind = "ReviewResolved"
	EventClaimRejected    EventKind = "CouponClaimRejected"
	EventSoldOut          EventKind = "CampaignSoldOut"
)

// Refusal is why one coupon of an order was not obtained.
type Refusal struct {
	Coupon string
	Code   Code
}

// Event is a fact about a coupon to tell the world; the handlers translate it
// to a message. Events of one coupon are ordered by its version.
type Event struct {
	// ID is the id of the outgoing message.
	ID     string
	Kind   EventKind
	Coupon string
	Order  string
	// Operation is the ledger row behind the event; nil for refusals,
	// conflicts, reviews and decisions.
	Operation *OperationRow
	State     State
	Version   int64
	LeaseID   string
	Cause     string
	Trace     string
	At        time.Time

	Lease      *LeaseRow
	Redemption *Redemption
	Refusals   []Refusal
	Review     *ReviewRow
	Resolution *Resolution
	Decision   *RefundDecision
	// Currency is that of the amounts in Decision.
	Currency   string
	Code       ReviewReason
	Template   string
	Batch      string
	ValidFrom  time.Time
	ValidUntil time.Time
	// Customer is who owns, or asked for, the coupon. Refused is why a claim was.
	Customer string
	Refused  Code
	// Discount is what an issued coupon is worth, TemplateVersion the terms that it is
	// issued under.
	Discount        *Discount
	TemplateVersion int64
	// Total and Generation are those of a campaign that is sold out.
	Total, Generation int64
}

// CouponChange is the final row of one coupon and the version it was read at;
// Base 0 inserts.
type CouponChange struct {
	Base int64
	Row  *Coupon
}

// OutboxRow is one encoded group of messages to publish after the commit, in
// order; its content is opaque to the core and to the store.
type OutboxRow struct {
	Shard    int
	Messages int
	Payload  []byte
}

// Changes is everything one transaction has to write, in the order in which it
// was decided. Rows hold final values, evidence is append-only.
type Changes struct {
	Coupons     []CouponChange
	Orders      []*Order
	Templates   []TemplateChange
	Versions    []*TemplateVersion
	Uses        []*Uses
	Claims      []*Claims
	Operations  []*OperationRow
	Leases      []*LeaseRow
	Timers      []Timer
	Redemptions []RedemptionRow
	Refunds     []RefundRow
	Decisions   []*RefundDecision
	Reviews     []*ReviewRow
	Resolutions []*Resolution
	Receipts    []*Receipt
	Answers     []*Answer
	Flows       []FlowRow
	Audits      []*AuditRow
	Replies     []*Reply
	Events      []*Event
	Outbox      []OutboxRow
}
