package reconcile

import (
	"context"
	"fmt"
	"time"

	"couponlease/internal/coupon"
)

// MaxCounted is as far as the figures of gates are counted.
const MaxCounted = 10_000

// Figures are what gates are judged by.
type Figures struct {
	// OutboxParked counts rows that were put aside, OutboxAge is the age of the oldest
	// row that waits to be published.
	OutboxParked int64
	OutboxAge    time.Duration
	// TimersOverdue counts leases that should have ended of late.
	TimersOverdue int64
	// DeadLetters counts those that nobody has dealt with.
	DeadLetters int64
	// Open counts the open findings of each fault.
	Open map[coupon.Fault]int64
	// Reconciled says whether our own books have ever been judged, and ReconciledAge how
	// long ago.
	Reconciled    bool
	ReconciledAge time.Duration
}

// Figured gives the figures; overdue is how late a lease may end.
type Figured interface {
	GateFigures(ctx context.Context, overdue time.Duration) (Figures, error)
}

// Thresholds are the most that is allowed.
type Thresholds struct {
	OutboxAge, Overdue, ReconcileAge               time.Duration
	OutboxParked, TimersOverdue, DeadLetters       int64
	DoubleUse, OrphanLease, LedgerGap, Paid, Drift int64
}

// DefaultThresholds allow what happens while all is well.
func DefaultThresholds() Thresholds {
	return Thresholds{OutboxAge: time.Minute, Overdue: time.Minute, ReconcileAge: 3 * time.Hour}
}

// Gate is one condition that a release and the people on call look at.
type Gate struct {
	Name string `json:"gate"`
	Red  bool   `json:"red"`
	// Value is what was found and Limit the most that is allowed.
	Value string `json:"value"`
	Limit string `json:"limit"`
	// Runbook is the section of OPERATIONS.md that says what to do.
	Runbook string `json:"runbook"`
}

// Names of the gates.
const (
	GateDoubleUse      = "double-use"
	GateOrphanLease    = "orphan-lease"
	GateLedgerGap      = "ledger-gap"
	GateOutboxAge      = "outbox-age"
	GateOutboxParked   = "outbox-parked"
	GateTimersOverdue  = "timers-overdue"
	GateDeadLetters    = "dead-letters"
	GatePaidUnsettled  = "paid-unsettled"
	GateDrift          = "drift"
	GateReconciliation = "reconciliation"
)

// GateFaults lists the faults whose open findings a gate counts; none for one that counts
// something else.
func GateFaults(gate string) []coupon.Fault {
	switch gate {
	case GateDoubleUse:
		return []coupon.Fault{coupon.FaultDoubleUse, coupon.FaultUsedWithoutRedemption}
	case GateOrphanLease:
		return []coupon.Fault{
			coupon.FaultOrphanLease, coupon.FaultClosedStillLocked, coupon.FaultGivenUpStillHeld, coupon.FaultStaleFlow,
		}
	case GateLedgerGap:
		return []coupon.Fault{coupon.FaultLedgerGap}
	case GatePaidUnsettled:
		return []coupon.Fault{
			coupon.FaultPaidNotRedeemed, coupon.FaultDiscountWithoutRedemption, coupon.FaultReviewNotOpened,
			coupon.FaultReturnNotDone, coupon.FaultOrphanPayment, coupon.FaultPaidUnknown, coupon.FaultRefundUnknown,
			coupon.FaultClosedUpstream,
		}
	case GateDrift:
		return []coupon.Fault{coupon.FaultDrift, coupon.FaultQuotaDrift}
	default:
		return nil
	}
}

// UngatedFaults lists the faults that no gate counts, on purpose: an old open-ended lease
// is no fault of ours, a return that is not published is counted by the gate of the outbox,
// and of a difference to another system nobody knows which side is wrong.
func UngatedFaults() []coupon.Fault {
	return []coupon.Fault{
		coupon.FaultOldOpenLease, coupon.FaultReturnNotPublished, coupon.FaultAmountDiffers, coupon.FaultNotUpstream,
	}
}

// Judge gives every gate.
func (t Thresholds) Judge(f Figures) []Gate {
	count := func(name string, value, limit int64) Gate {
		return Gate{name, value > limit, fmt.Sprint(value), fmt.Sprint(limit), "gate-" + name}
	}
	found := func(name string, limit int64) Gate {
		var sum int64
		for _, fault := range GateFaults(name) {
			sum += f.Open[fault]
		}
		return count(name, sum, limit)
	}
	lasting := func(name string, value, limit time.Duration) Gate {
		return Gate{name, value > limit, value.Round(time.Second).String(), limit.String(), "gate-" + name}
	}
	reconciled := lasting(GateReconciliation, f.ReconciledAge, t.ReconcileAge)
	if !f.Reconciled {
		reconciled.Red, reconciled.Value = true, "never"
	}
	return []Gate{
		found(GateDoubleUse, t.DoubleUse),
		found(GateOrphanLease, t.OrphanLease),
		found(GateLedgerGap, t.LedgerGap),
		lasting(GateOutboxAge, f.OutboxAge, t.OutboxAge),
		count(GateOutboxParked, f.OutboxParked, t.OutboxParked),
		count(GateTimersOverdue, f.TimersOverdue, t.TimersOverdue),
		count(GateDeadLetters, f.DeadLetters, t.DeadLetters),
		found(GatePaidUnsettled, t.Paid),
		found(GateDrift, t.Drift),
		reconciled,
	}
}
