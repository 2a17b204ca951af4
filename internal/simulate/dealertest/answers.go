package dealertest

import (
	"strings"

	"couponlease/internal/coupon"
)

// Answer is one way in which commands of a kind are answered.
type Answer struct {
	Kind   string
	Status coupon.Status
	Code   coupon.Code
}

// AnswerTo gives the answer to a command; false for everything else, and for repairs,
// which are asked by reconciliation alone. Of a return only the decision counts, not its
// ground, and of a batch not how many there were.
func AnswerTo(request *coupon.Request, outcome *coupon.Outcome) (Answer, bool) {
	switch request.Fact.(type) {
	case coupon.SettleOrder, coupon.SettleLease, coupon.ReportOrphan, coupon.EndFlow, coupon.ReportFault:
		return Answer{}, false
	}
	if _, command := request.Fact.(coupon.Command); !command {
		return Answer{}, false
	}
	code := outcome.Code
	if _, batch := request.Fact.(coupon.IssueCoupons); outcome.Status == coupon.Applied || batch {
		decision, _, _ := strings.Cut(string(code), ":")
		code = coupon.Code(decision)
	}
	return Answer{coupon.Kind(request.Fact), outcome.Status, code}, true
}

// Answers are all that commands can be answered. Script gets every one of them, and no
// other traffic gets another.
func Answers() map[Answer]bool {
	all := map[Answer]bool{}
	for kind, codes := range refusals() {
		for _, code := range append(codes, coupon.IdempotencyMismatch, coupon.TimeOutOfRange) {
			all[Answer{kind, coupon.Refused, code}] = true
		}
		all[Answer{kind, coupon.Repeated, coupon.Duplicate}] = true
		all[Answer{kind, coupon.Applied, coupon.OK}] = true
	}
	for _, decision := range []coupon.Code{"RETURN", "RETIRE", "KEEP", "VOID", "REVIEW"} {
		all[Answer{"ReturnCoupon", coupon.Applied, decision}] = true
	}
	delete(all, Answer{"IssueCoupons", coupon.Applied, coupon.OK}) // it tells how many
	all[Answer{"IssueCoupons", coupon.Applied, "ISSUED"}] = true
	all[Answer{"IssueCoupons", coupon.Unchanged, "ISSUED"}] = true
	all[Answer{"ClaimCoupon", coupon.Unchanged, coupon.Duplicate}] = true
	all[Answer{"CreateTemplate", coupon.Unchanged, coupon.Noop}] = true
	all[Answer{"EditTemplate", coupon.Unchanged, coupon.Noop}] = true
	all[Answer{"LockCoupon", coupon.Unchanged, coupon.Duplicate}] = true
	all[Answer{"RedeemCoupon", coupon.Unchanged, coupon.ExistingRedemption}] = true
	all[Answer{"ReturnCoupon", coupon.Unchanged, coupon.DuplicateRefund}] = true
	return all
}

// refusals lists, by kind of command, what only that kind is refused for.
func refusals() map[string][]coupon.Code {
	obtain := []coupon.Code{
		coupon.UnknownCoupon, coupon.Voided, coupon.AlreadyRefunded, coupon.ExpiredState, coupon.AlreadyLocked,
		coupon.AlreadyUsed, coupon.NotOwner, coupon.TemplateOffline, coupon.NotStarted, coupon.UseLimitReached,
		coupon.BudgetExhausted, coupon.RenewCap,
	}
	lease := func(more ...coupon.Code) []coupon.Code {
		return append(more, coupon.UnknownCoupon, coupon.LeaseGone, coupon.TokenMismatch, coupon.VersionConflict)
	}
	illegal := func(states ...coupon.State) []coupon.Code {
		codes := []coupon.Code{coupon.UnknownCoupon}
		for _, state := range states {
			codes = append(codes, coupon.IllegalState(state))
		}
		return codes
	}
	return map[string][]coupon.Code{
		"LockCoupon":      obtain,
		"RedeemRequested": append([]coupon.Code{}, obtain...),
		"RenewLease":      lease(coupon.RenewCap),
		"ReleaseLease":    lease(),
		"RedeemCoupon":    lease(coupon.AlreadyLocked, coupon.IllegalState(coupon.Locked), coupon.OrderAlreadyClosed),
		"SwapCoupons": {
			coupon.NotSwapped, coupon.Rejected(coupon.UnknownOrder), coupon.Rejected(coupon.OrderAlreadyClosed),
			coupon.Rejected(coupon.StaleRevision), coupon.Rejected(coupon.NotApplicable), coupon.Rejected(coupon.TooManyFacts),
			coupon.UnknownCoupon, // under the key of another, when it names one coupon
		},
		"VoidCoupon": append(illegal(coupon.Used, coupon.Refunded, coupon.Expired, coupon.Void), coupon.InUse),
		"ReverseChange": append(illegal(coupon.Available, coupon.Locked, coupon.Refunded, coupon.Expired),
			coupon.VersionConflict, coupon.UseLimitReached, coupon.BudgetExhausted),
		"ReturnCoupon": append(illegal(coupon.Available, coupon.Locked, coupon.Refunded, coupon.Expired, coupon.Void),
			coupon.AlreadyUsed, coupon.TooManyFacts),
		"ClaimCoupon": {
			coupon.UnknownTemplate, coupon.TemplateOffline, coupon.TemplateIsPaused, coupon.NotStarted, coupon.ExpiredState,
			coupon.IdentityRequired, coupon.QuotaExhausted, coupon.LimitReached, coupon.DailyLimitReached,
		},
		"IssueCoupons": {
			coupon.UnknownTemplate, coupon.TemplateOffline, coupon.ExpiredState, coupon.BatchRequired,
			coupon.IdentityRequired, coupon.QuotaExhausted,
		},
		"CreateTemplate": {coupon.TemplateExists, coupon.InvalidTerms, coupon.UnknownPolicy},
		"EditTemplate": {
			coupon.UnknownTemplate, coupon.VersionConflict, coupon.InvalidTerms, coupon.UnknownPolicy, coupon.BelowIssued,
			coupon.NotCounted,
		},
	}
}
