// Package policy decides what happens to a coupon when money goes back. It is
// pure: a policy is an immutable, numbered document, and a decision is a value.
//
// A refund says what happens to the money; the policy that was in force when
// the coupon was issued says what happens to the coupon.
package policy

import (
	"fmt"
	"strconv"
	"strings"
)

// Decision is what a refund does to a redeemed coupon.
type Decision string

const (
	// Return gives the coupon back to the wallet (or lets it expire, see Expired).
	Return Decision = "RETURN"
	// Retire ends the coupon for good.
	Retire Decision = "RETIRE"
	// Keep leaves the coupon used.
	Keep Decision = "KEEP"
	// Void withdraws the coupon.
	Void Decision = "VOID"
	// Review leaves the coupon used and asks a person.
	Review Decision = "REVIEW"
)

// Ends says whether the decision ends the use of the coupon.
func (d Decision) Ends() bool { return d == Return || d == Retire || d == Void }

// Ground names why a decision was taken.
type Ground string

const (
	GroundFull        Ground = "FULL"
	GroundPartial     Ground = "PARTIAL"
	GroundChargeback  Ground = "CHARGEBACK"
	GroundOverpayment Ground = "OVERPAYMENT"
	// GroundReview: a person decided, not the policy.
	GroundReview Ground = "REVIEW"
)

// ReasonChargeback is the refund reason that marks money taken back by a bank.
const ReasonChargeback = "chargeback"

// Policy is one immutable version of the return rules.
type Policy struct {
	// Version numbers the document; a coupon keeps the version of its issue.
	Version int64 `json:"version"`
	// Full, Partial and Chargeback are the decisions per kind of refund.
	Full       Decision `json:"full"`
	Partial    Decision `json:"partial"`
	Chargeback Decision `json:"chargeback"`
	// ExtendDays gives a coupon whose validity is over that many days more when
	// it is returned; 0 lets it expire.
	ExtendDays int `json:"extendDays"`
	// BudgetBack gives the template's use budget back with a returned coupon.
	BudgetBack bool `json:"budgetBack"`
}

// DefaultVersion is the version of Default.
const DefaultVersion int64 = 1

// Default returns the coupon on a full refund and keeps it otherwise.
func Default() Policy {
	return Policy{Version: DefaultVersion, Full: Return, Partial: Keep, Chargeback: Keep}
}

// Validate reports the first thing that makes the policy unusable.
func (p Policy) Validate() error {
	for _, rule := range []struct {
		name     string
		decision Decision
	}{{"full", p.Full}, {"partial", p.Partial}, {"chargeback", p.Chargeback}} {
		switch rule.decision {
		case Return, Retire, Keep, Void, Review:
		default:
			return fmt.Errorf("policy %d: %s is %q; want RETURN, RETIRE, KEEP, VOID or REVIEW",
				p.Version, rule.name, rule.decision)
		}
	}
	if p.ExtendDays < 0 || p.ExtendDays > maxExtendDays {
		return fmt.Errorf("policy %d: extendDays is %d; want 0 to %d", p.Version, p.ExtendDays, maxExtendDays)
	}
	return nil
}

const maxExtendDays = 3650

// ParseExpired reads the rule for coupons whose validity is over: "EXPIRE" or
// "EXTEND:n" with n days.
func ParseExpired(text string) (days int, err error) {
	if text == "" || text == "EXPIRE" {
		return 0, nil
	}
	number, found := strings.CutPrefix(text, "EXTEND:")
	if !found {
		return 0, fmt.Errorf("expired rule %q: want EXPIRE or EXTEND:n", text)
	}
	days, err = strconv.Atoi(number)
	if err != nil || days < 1 || days > maxExtendDays {
		return 0, fmt.Errorf("expired rule %q: want 1 to %d days", text, maxExtendDays)
	}
	return days, nil
}

// Facts are the money facts of one order at the moment of the decision, in
// minor units; a refund counts once however often its message came.
type Facts struct {
	// Payable is what the order asked for, Paid the sum of distinct payments.
	Payable, Paid int64
	// Refunded is the sum of distinct refunds, the one at hand included;
	// chargebacks do not count.
	Refunded int64
	// Reason is the reason of the refund at hand.
	Reason string
}

// Surplus is what was paid above the payable amount.
func (f Facts) Surplus() int64 { return max(0, f.Paid-f.Payable) }

// Verdict is a decision with its ground.
type Verdict struct {
	Decision Decision
	Ground   Ground
}

// String gives the form kept as evidence, such as "RETURN:FULL".
func (v Verdict) String() string { return string(v.Decision) + ":" + string(v.Ground) }

// Decide judges one refund. A chargeback is judged first, then a refund that
// only takes a surplus back, then full against partial over all refunds.
func (p Policy) Decide(f Facts) Verdict {
	switch {
	case f.Reason == ReasonChargeback:
		return Verdict{p.Chargeback, GroundChargeback}
	case f.Surplus() > 0 && f.Refunded <= f.Surplus():
		return Verdict{Keep, GroundOverpayment}
	case f.Refunded >= f.Paid:
		return Verdict{p.Full, GroundFull}
	default:
		return Verdict{p.Partial, GroundPartial}
	}
}
