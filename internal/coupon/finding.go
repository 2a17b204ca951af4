package coupon

import (
	"fmt"
	"time"
)

// Fault names one thing that reconciliation looks for.
type Fault string

// What is looked for in our own books.
const (
	// FaultUsedWithoutRedemption: a coupon is USED and nothing proves by whom.
	FaultUsedWithoutRedemption Fault = "USED_WITHOUT_REDEMPTION"
	// FaultDoubleUse: several orders have redeemed the same coupon.
	FaultDoubleUse Fault = "DOUBLE_USE"
	// FaultPaidNotRedeemed: a paid order has not redeemed what it may redeem.
	FaultPaidNotRedeemed Fault = "PAID_NOT_REDEEMED"
	// FaultClosedStillLocked: an order that is over still holds a coupon.
	FaultClosedStillLocked Fault = "CLOSED_STILL_LOCKED"
	// FaultGivenUpStillHeld: an order holds a coupon that it has given up.
	FaultGivenUpStillHeld Fault = "GIVEN_UP_STILL_HELD"
	// FaultReviewNotOpened: a person should decide, and was not asked.
	FaultReviewNotOpened Fault = "REVIEW_NOT_OPENED"
	// FaultDiscountWithoutRedemption: a paid order was given a discount for a coupon
	// that it has not redeemed.
	FaultDiscountWithoutRedemption Fault = "DISCOUNT_WITHOUT_REDEMPTION"
	// FaultOrphanPayment: money came for an order that was never placed.
	FaultOrphanPayment Fault = "ORPHAN_PAYMENT"
	// FaultReturnNotDone: a refund gave a coupon back, and the coupon knows nothing of it.
	FaultReturnNotDone Fault = "RETURN_NOT_DONE"
	// FaultReturnNotPublished: a coupon was given back, and nobody has been told.
	FaultReturnNotPublished Fault = "RETURN_NOT_PUBLISHED"
	// FaultLedgerGap: the versions of a ledger are not one after the other.
	FaultLedgerGap Fault = "LEDGER_GAP"
	// FaultOrphanLease: a lease that nothing is going to end, or that nothing proves.
	FaultOrphanLease Fault = "ORPHAN_LEASE"
	// FaultOldOpenLease: an open-ended lease has lasted for long.
	FaultOldOpenLease Fault = "OLD_OPEN_LEASE"
	// FaultStaleFlow: a redemption at a till has neither ended nor a lease.
	FaultStaleFlow Fault = "STALE_FLOW"
	// FaultDrift: a counter is not what it counts.
	FaultDrift Fault = "DRIFT"
	// FaultQuotaDrift: the pool in front of the engine does not hold what a campaign has left.
	FaultQuotaDrift Fault = "QUOTA_DRIFT"
)

// What is looked for in the exports of other systems.
const (
	// FaultPaidUnknown: paid there, unknown here.
	FaultPaidUnknown Fault = "UPSTREAM_PAYMENT_UNKNOWN"
	// FaultRefundUnknown: refunded there, unknown here.
	FaultRefundUnknown Fault = "UPSTREAM_REFUND_UNKNOWN"
	// FaultClosedUpstream: closed there, open here.
	FaultClosedUpstream Fault = "UPSTREAM_CLOSE_UNKNOWN"
	// FaultAmountDiffers: the same payment, refund or order over another sum.
	FaultAmountDiffers Fault = "AMOUNT_DIFFERS"
	// FaultNotUpstream: known here, unknown there.
	FaultNotUpstream Fault = "NOT_UPSTREAM"
)

// Severity says how soon somebody has to look, P0 first.
type Severity string

const (
	// SeverityP0: a promise about money is broken now.
	SeverityP0 Severity = "P0"
	// SeverityP1: somebody has the wrong coupon or the wrong money.
	SeverityP1 Severity = "P1"
	// SeverityP2: the books are right about coupons and wrong about something else.
	SeverityP2 Severity = "P2"
	// SeverityP3: worth knowing.
	SeverityP3 Severity = "P3"
)

// OwnFaults lists what is looked for in our own books, UpstreamFaults what in exports.
func OwnFaults() []Fault {
	return []Fault{
		FaultUsedWithoutRedemption, FaultDoubleUse, FaultPaidNotRedeemed, FaultClosedStillLocked,
		FaultGivenUpStillHeld, FaultReviewNotOpened, FaultDiscountWithoutRedemption, FaultOrphanPayment,
		FaultReturnNotDone, FaultReturnNotPublished, FaultLedgerGap, FaultOrphanLease, FaultOldOpenLease,
		FaultStaleFlow, FaultDrift, FaultQuotaDrift,
	}
}

// UpstreamFaults lists what is looked for in the exports of other systems.
func UpstreamFaults() []Fault {
	return []Fault{FaultPaidUnknown, FaultRefundUnknown, FaultClosedUpstream, FaultAmountDiffers, FaultNotUpstream}
}

// Severity says how soon somebody has to look.
func (c Fault) Severity() Severity {
	switch c {
	case FaultUsedWithoutRedemption, FaultDoubleUse:
		return SeverityP0
	case FaultPaidNotRedeemed, FaultClosedStillLocked, FaultGivenUpStillHeld, FaultReviewNotOpened,
		FaultDiscountWithoutRedemption, FaultReturnNotDone, FaultLedgerGap, FaultPaidUnknown, FaultRefundUnknown:
		return SeverityP1
	case FaultOldOpenLease:
		return SeverityP3
	default:
		return SeverityP2
	}
}

// Finding is one thing that is not as it should be.
type Finding struct {
	Fault Fault `json:"check"`
	// Subject is unique within the check: found again, it is the same finding.
	Subject string `json:"subject"`
	// Order, Coupon and Template are what it is about; empty where they are not.
	Order    string `json:"orderId,omitempty"`
	Coupon   string `json:"couponId,omitempty"`
	Template string `json:"templateId,omitempty"`
	Detail   string `json:"detail"`
}

// String gives one line for people.
func (f Finding) String() string {
	return fmt.Sprintf("%s %s %s: %s", f.Fault.Severity(), f.Fault, f.Subject, f.Detail)
}

// Patience is how long something may be as it is before it is a finding.
type Patience struct {
	// Payment is how long a payment may wait for its order.
	Payment time.Duration
	// Lease is how long after its deadline a lease may still be there.
	Lease time.Duration
	// Publish is how long an event may wait to be published.
	Publish time.Duration
	// OpenLease is how long an open-ended lease may last.
	OpenLease time.Duration
}

// DefaultPatience are the usual waits.
func DefaultPatience() Patience {
	return Patience{
		Payment: time.Hour, Lease: 10 * time.Minute, Publish: 15 * time.Minute, OpenLease: 30 * 24 * time.Hour,
	}
}

// Moment is when books are judged, and how patiently.
type Moment struct {
	Now time.Time
	Patience
}

// longer says whether something has lasted longer than it may.
func (m Moment) longer(since time.Time, than time.Duration) bool { return m.Now.Sub(since) > than }
