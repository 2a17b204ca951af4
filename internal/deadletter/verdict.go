package deadletter

import "couponlease/internal/coupon"

// Answered gives the outcome of a replay whose message was answered, by the answers to
// its requests: the most that one of them did. The second result is the code of that
// answer.
func Answered(outcomes []coupon.Outcome) (Outcome, coupon.Code) {
	best, code := Stale, coupon.Noop
	rank := map[Outcome]int{Stale: 0, Duplicate: 1, Applied: 2}
	for i := range outcomes {
		one := answered(&outcomes[i])
		if i == 0 || rank[one] > rank[best] {
			best, code = one, outcomes[i].Code
			if outcomes[i].First != "" {
				code = outcomes[i].First
			}
		}
	}
	return best, code
}

func answered(o *coupon.Outcome) Outcome {
	switch o.Code {
	case coupon.DuplicateEvent, coupon.Duplicate, coupon.DuplicatePayment, coupon.DuplicateRefund:
		return Duplicate
	}
	switch o.Status {
	case coupon.Repeated:
		return Duplicate
	case coupon.Unchanged:
		return Stale
	default:
		return Applied
	}
}

// Verdict is what would come of replaying a letter now.
type Verdict string

// The verdicts.
const (
	WouldApply Verdict = "WOULD_APPLY"
	// WouldRepeat: it was applied before, and nothing would change.
	WouldRepeat Verdict = "DUPLICATE"
	// WouldBeStale: it means nothing any more, or not yet.
	WouldBeStale Verdict = "STALE"
	// StillMalformed: it cannot be read.
	StillMalformed Verdict = "STILL_MALFORMED"
	// StillFails: it can be read, and can still not be applied.
	StillFails Verdict = "WOULD_FAIL"
	// NeedsSender: it would not be sent, because its lease token is not kept. Only its
	// sender can send it again.
	NeedsSender Verdict = "NEEDS_SENDER"
	// OutsideWindow: it would be applied, but happened so long ago that its id is not
	// remembered: whether it was applied before is known from business keys only.
	OutsideWindow Verdict = "OUTSIDE_WINDOW"
)

// Judge gives the verdict on a letter whose requests would get these answers now;
// remembered says that the inbox would know the message.
func Judge(outcomes []coupon.Outcome, remembered bool) (Verdict, string) {
	for i := range outcomes {
		if outcomes[i].Status == coupon.Dead {
			return StillFails, string(outcomes[i].Code) + ": " + outcomes[i].Detail
		}
	}
	outcome, code := Answered(outcomes)
	switch {
	case outcome == Duplicate:
		return WouldRepeat, string(code)
	case outcome == Stale:
		return WouldBeStale, string(code)
	case !remembered:
		return OutsideWindow, string(code)
	default:
		return WouldApply, string(code)
	}
}
