package coupon

// Code is the answer to a request, stored with the inbox row and shown by the
// timeline.
type Code string

// Refusals. Precedence lists them in the order in which they are tried.
const (
	UnknownCoupon       Code = "UNKNOWN_COUPON"
	IdempotencyMismatch Code = "IDEMPOTENCY_MISMATCH"
	Duplicate           Code = "DUPLICATE"
	TokenMismatch       Code = "TOKEN_MISMATCH"
	Voided              Code = "VOIDED"
	AlreadyRefunded     Code = "REFUNDED"
	ExpiredState        Code = "EXPIRED"
	AlreadyLocked       Code = "ALREADY_LOCKED"
	AlreadyUsed         Code = "ALREADY_USED"
	NotOwner            Code = "NOT_OWNER"
	TemplateOffline     Code = "TEMPLATE_OFFLINE"
	NotStarted          Code = "NOT_STARTED"
	UseLimitReached     Code = "USE_LIMIT_REACHED"
	BudgetExhausted     Code = "BUDGET_EXHAUSTED"
	// NotTaken marks a coupon that was free but left alone, because another
	// coupon of the same order was refused and the order stacks ALL or nothing.
	NotTaken Code = "STACKING_ALL"
	// Returned marks, where an order remembers why it has a coupon no longer, that
	// a refund ended its use.
	Returned Code = "RETURNED"
)

// Refusals of commands, besides those above.
const (
	// LeaseGone: the coupon is not leased any more.
	LeaseGone Code = "LEASE_GONE"
	// VersionConflict: the token is right, but the lease was renewed since; or the
	// coupon, or the operation to take back, is another than the one named.
	VersionConflict Code = "VERSION_CONFLICT"
	// RenewCap: the lease would outlive the validity by more than the grace.
	RenewCap Code = "RENEW_CAP"
	// InUse: a leased coupon is only withdrawn with force.
	InUse Code = "IN_USE"
	// ExistingRedemption: the order has redeemed the coupon already.
	ExistingRedemption Code = "EXISTING_REDEMPTION"
	// NotSwapped: some coupon of a swap could not be had or given up; each has a
	// reason of its own.
	NotSwapped Code = "REJECTED"
	// UnknownReview: there is no such case, or it is about something else.
	UnknownReview Code = "UNKNOWN_REVIEW"
	// CodeTaken: a coupon to issue has a code that exists.
	CodeTaken Code = "CODE_TAKEN"
	// UnknownOrder: a swap names an order that was never placed.
	UnknownOrder Code = "UNKNOWN_ORDER"
)

// Refusals of claims and of changes to templates, besides those above.
const (
	TemplateIsPaused  Code = "TEMPLATE_PAUSED"
	IdentityRequired  Code = "IDENTITY_REQUIRED"
	QuotaExhausted    Code = "QUOTA_EXHAUSTED"
	LimitReached      Code = "LIMIT_REACHED"
	DailyLimitReached Code = "DAILY_LIMIT_REACHED"
	// BelowIssued: the total would be less than what was issued.
	BelowIssued Code = "BELOW_ISSUED"
	// NotCounted: uses were not counted so far, so that they cannot be limited from now on.
	NotCounted Code = "NOT_COUNTED"
	// TemplateExists: there is one of that name with other terms.
	TemplateExists Code = "TEMPLATE_EXISTS"
	// BatchRequired: a coupon whose code is to be made belongs to a batch.
	BatchRequired Code = "BATCH_REQUIRED"
	// InvalidTerms: what a template would say is impossible in itself.
	InvalidTerms Code = "INVALID_TERMS"
)

// IllegalState refuses what the coupon's state does not allow, such as
// "ILLEGAL_STATE:USED".
func IllegalState(s State) Code { return Code("ILLEGAL_STATE:" + s) }

// Answers to facts and timers.
const (
	OK                 Code = "OK"
	Redeemed           Code = "REDEEMED"
	Released           Code = "RELEASED"
	InReview           Code = "REVIEW"
	Noop               Code = "NOOP"
	NoopPaid           Code = "NOOP_PAID"
	NoopStale          Code = "NOOP_STALE"
	NoopNotDue         Code = "NOOP_NOT_DUE"
	RedeemedFromFact   Code = "REDEEMED_FROM_FACT"
	Parked             Code = "PARKED"
	Tombstone          Code = "TOMBSTONE"
	WaitSiblings       Code = "WAIT_SIBLINGS"
	OrderAlreadyClosed Code = "ORDER_ALREADY_CLOSED"
	AlreadyPaid        Code = "ALREADY_PAID"
	NotApplicable      Code = "NOT_APPLICABLE"
	DuplicateEvent     Code = "DUPLICATE_EVENT"
	DuplicatePayment   Code = "DUPLICATE_PAYMENT"
	DuplicateRefund    Code = "DUPLICATE_REFUND"
	// StaleRevision: a newer revision of the order is already known.
	StaleRevision Code = "STALE_REVISION"
	// Recounted: counters were wrong, and say now what they count.
	Recounted Code = "RECOUNTED"
	// Restocked: a stock in the pool in front of the engine was wrong, and was loaded anew.
	Restocked Code = "RESTOCKED"
	// NotRestocked: the pool did not take it.
	NotRestocked Code = "NOT_RESTOCKED"
)

// Answers to import and to the validity sweep.
const (
	Created Code = "CREATED"
	Skipped Code = "SKIPPED"
	Lapsed  Code = "EXPIRED"
)

// Reasons for a dead letter: the message can never be applied as it is.
const (
	// IDReuse: the same message id came with another body.
	IDReuse Code = "ID_REUSE"
	// TimeOutOfRange: the fact claims to have happened too far in the future.
	TimeOutOfRange Code = "TIME_OUT_OF_RANGE"
	// UnknownTemplate: an issue names a template nobody defined.
	UnknownTemplate Code = "UNKNOWN_TEMPLATE"
	// UnknownPolicy: a template names a return policy nobody defined.
	UnknownPolicy Code = "UNKNOWN_POLICY"
	// Settled: something followed for an order that was settled again.
	Settled Code = "SETTLED"
	// TooManyFacts: an order has more facts than any order may have.
	TooManyFacts Code = "TOO_MANY_FACTS"
	// BuyerMismatch: an order supersedes, or joins, an order of another buyer.
	BuyerMismatch Code = "BUYER_MISMATCH"
	// CurrencyMismatch: the facts of one order disagree about the currency.
	CurrencyMismatch Code = "CURRENCY_MISMATCH"
)

// Rejected wraps the refusal of an order, such as "REJECTED:ALREADY_LOCKED".
func Rejected(code Code) Code { return "REJECTED:" + code }

// LeasePrecedence is the same for commands that show a token.
func LeasePrecedence() []Code {
	return []Code{UnknownCoupon, IdempotencyMismatch, Duplicate, LeaseGone, TokenMismatch, VersionConflict, RenewCap}
}

// Precedence is the order in which the refusals of a lock are tried; the first
// that holds is the answer. Documentation and tests use this same list.
func Precedence() []Code {
	return []Code{
		UnknownCoupon, IdempotencyMismatch, Duplicate, TokenMismatch, Voided, AlreadyRefunded,
		ExpiredState, AlreadyLocked, AlreadyUsed, NotOwner, TemplateOffline, NotStarted,
		ExpiredState, UseLimitReached, BudgetExhausted,
	}
}

// Status says what the caller does with a message once it has its answer.
type Status string

const (
	// Applied: facts or coupons changed; final.
	Applied Status = "APPLIED"
	// Unchanged: final, and nothing changed (stale, no-op, already so).
	Unchanged Status = "UNCHANGED"
	// Refused: final, nothing changed on a coupon, an event says why.
	Refused Status = "REFUSED"
	// Repeated: the message had been processed before; Outcome holds that answer.
	Repeated Status = "REPEATED"
	// Dead: the message can never be applied; it belongs to the dead letters.
	Dead Status = "DEAD"
)

// Outcome is the answer to one request.
type Outcome struct {
	Status Status
	// Code is the answer; for Repeated it is DUPLICATE_EVENT, or DUPLICATE for a
	// command.
	Code Code
	// First is the answer given the first time, when Status is Repeated.
	First Code
	// Detail explains a Dead outcome to a person; it never holds a secret.
	Detail string
	// Answer is what a command is told; nil for everything else.
	Answer *Answer
}
