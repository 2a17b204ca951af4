// Package coupon is the core: states, operations, settlement, replay and the
// invariants. It is pure. Time, ids and tokens come in as arguments, decisions
// go out as values, and nothing here knows a database, a broker or a clock.
package coupon

import "strings"

// State is where a coupon stands.
type State string

const (
	// None is the state before issue.
	None State = ""
	// Available: in the wallet, usable.
	Available State = "AVAILABLE"
	// Locked: leased to exactly one order.
	Locked State = "LOCKED"
	// Used: exactly one active redemption.
	Used State = "USED"
	// Refunded: given back for good; terminal.
	Refunded State = "REFUNDED"
	// Expired: validity over.
	Expired State = "EXPIRED"
	// Void: withdrawn; only an operator may reverse it.
	Void State = "VOID"
)

// States lists every state of an issued coupon.
func States() []State { return []State{Available, Locked, Used, Refunded, Expired, Void} }

// Operation is one way to change a coupon. Each adds exactly one to the version
// and writes exactly one ledger row.
type Operation string

const (
	Issue   Operation = "ISSUE"
	Lock    Operation = "LOCK"
	Renew   Operation = "RENEW"
	Redeem  Operation = "REDEEM"
	Release Operation = "RELEASE"
	Expire  Operation = "EXPIRE"
	Return  Operation = "RETURN"
	Retire  Operation = "RETIRE"
	Reverse Operation = "REVERSE"
	// Withdraw makes a coupon VOID; the ledger calls it VOID.
	Withdraw Operation = "VOID"
)

// Purpose says why a lease was taken.
type Purpose string

const (
	PurposeQuote Purpose = "QUOTE"
	PurposeOrder Purpose = "ORDER"
	PurposeTill  Purpose = "TILL"
)

// Reasons the core itself gives to operations; OrderClosed gives its own.
const (
	ReasonLeaseExpired       = "LEASE_EXPIRED"
	ReasonRecover            = "RECOVER"
	ReasonBindOrder          = "BIND_ORDER"
	ReasonAfterLeaseDeadline = "AFTER_LEASE_DEADLINE"
	ReasonSuperseded         = "SUPERSEDED"
	ReasonCarriedOver        = "CARRIED_OVER"
	ReasonRevised            = "REVISED"
	ReasonZeroPayable        = "ZERO_PAYABLE"
	ReasonValidityOver       = "VALIDITY_OVER"
	ReasonGivenBack          = "GIVEN_BACK"
	ReasonAdmin              = "ADMIN"
)

// ReasonSupersedes is the reason of the lock that follows a supersession.
func ReasonSupersedes(order string) string { return "SUPERSEDES:" + order }

// ReviewReason names what a person has to look at.
type ReviewReason string

const (
	ReviewLatePaymentTaken    ReviewReason = "LATE_PAYMENT_COUPON_TAKEN"
	ReviewLatePaymentExpired  ReviewReason = "LATE_PAYMENT_COUPON_EXPIRED"
	ReviewPaidWithVoided      ReviewReason = "PAID_WITH_VOIDED_COUPON"
	ReviewLatePaymentOnClosed ReviewReason = "LATE_PAYMENT_ON_CLOSED_ORDER"
	ReviewPaidWithoutLease    ReviewReason = "PAID_WITHOUT_LEASE"
	ReviewDoublePayment       ReviewReason = "DOUBLE_PAYMENT"
	// ReviewPaidAfterReturn: money came in after a full refund had given the
	// coupon back, so a discount stands without a redemption.
	ReviewPaidAfterReturn ReviewReason = "PAID_AFTER_RETURN"
	// ReviewReturnPolicy: the return policy itself asked for a person.
	ReviewReturnPolicy ReviewReason = "RETURN_POLICY"
	// ReviewOrphanPayment: money came in for an order that was not placed for long.
	ReviewOrphanPayment ReviewReason = "ORPHAN_PAYMENT"
	// ReviewDoubleUse, ReviewUsedWithoutRedemption and ReviewDiscountWithoutRedemption:
	// reconciliation has found the fault of the same name, and only a person can tell what
	// is right.
	ReviewDoubleUse                 = ReviewReason(FaultDoubleUse)
	ReviewUsedWithoutRedemption     = ReviewReason(FaultUsedWithoutRedemption)
	ReviewDiscountWithoutRedemption = ReviewReason(FaultDiscountWithoutRedemption)
)

// Suggestion is the outcome the core proposes for a review; "" proposes none.
func (r ReviewReason) Suggestion() string {
	switch r {
	case ReviewLatePaymentOnClosed:
		return "REFUND_PAYMENT"
	case ReviewDoublePayment:
		return "REFUND_SURPLUS"
	case ReviewPaidWithoutLease:
		return "REPRICE"
	case ReviewOrphanPayment:
		return "REFUND_PAYMENT"
	default:
		return ""
	}
}

// Fold gives the identity of a coupon code: codes are trimmed and compared
// without letter case.
func Fold(code string) string { return strings.ToLower(strings.TrimSpace(code)) }
