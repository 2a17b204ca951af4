package console

import (
	"slices"
	"testing"

	"couponlease/internal/coupon"
)

// Whoever is refused is told what to do, whatever the code.
func TestEveryRefusalHasAHint(t *testing.T) {
	refusals := slices.Concat(coupon.Precedence(), coupon.LeasePrecedence(), []coupon.Code{
		coupon.InUse, coupon.NotSwapped, coupon.TooManyFacts, coupon.TimeOutOfRange, coupon.NotTaken,
		coupon.UnknownReview, coupon.CodeTaken, coupon.UnknownTemplate,
		coupon.IllegalState(coupon.Used), coupon.Rejected(coupon.UnknownOrder), coupon.Rejected(coupon.OrderAlreadyClosed),
		coupon.Rejected(coupon.StaleRevision), coupon.Rejected(coupon.NotApplicable), coupon.Rejected(coupon.TooManyFacts),
	})
	for _, code := range refusals {
		if code == coupon.Duplicate {
			continue // no refusal
		}
		if hint("VoidCoupon", code) == "" {
			t.Errorf("%s: no hint", code)
		}
	}
	if hint("ReverseChange", coupon.VersionConflict) == hint("RenewLease", coupon.VersionConflict) {
		t.Error("the version of a lease and that of a coupon are not told apart")
	}
}
