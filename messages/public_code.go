package messages

import "strings"

// What buyers may see when a coupon is refused.
const (
	PublicNotAvailable = "NOT_AVAILABLE"
	PublicLimitReached = "LIMIT_REACHED"
	PublicTryAgain     = "TRY_AGAIN"
)

// What buyers may see when a claim is refused, besides the above.
const (
	PublicSoldOut        = "SOLD_OUT"
	PublicNotValidNow    = "NOT_VALID_NOW"
	PublicSignInRequired = "SIGN_IN_REQUIRED"
)

// publicCodes lists every refusal of a coupon. Somebody who tries codes must
// not learn which of them exist, so whatever can be answered without owning the
// coupon or a lease on it looks like UNKNOWN_COUPON. That includes the answers
// of coupons that whoever holds the code may use (limits, validity, a budget),
// of a wrong token or a key used twice, and of a free coupon that was left
// alone because another one of the order was refused.
var publicCodes = map[string]string{
	"UNKNOWN_COUPON":       PublicNotAvailable,
	"IDEMPOTENCY_MISMATCH": PublicNotAvailable,
	"TOKEN_MISMATCH":       PublicNotAvailable,
	"VOIDED":               PublicNotAvailable,
	"REFUNDED":             PublicNotAvailable,
	"EXPIRED":              PublicNotAvailable,
	"ALREADY_LOCKED":       PublicNotAvailable,
	"ALREADY_USED":         PublicNotAvailable,
	"NOT_OWNER":            PublicNotAvailable,
	"TEMPLATE_OFFLINE":     PublicNotAvailable,
	"NOT_STARTED":          PublicNotAvailable,
	"USE_LIMIT_REACHED":    PublicNotAvailable,
	"BUDGET_EXHAUSTED":     PublicNotAvailable,
	"STACKING_ALL":         PublicNotAvailable,
	"ORDER_ALREADY_CLOSED": PublicNotAvailable,
	"LEASE_GONE":           PublicNotAvailable,
	"ILLEGAL_STATE":        PublicNotAvailable,
	"IN_USE":               PublicNotAvailable,
	"EXISTING_REDEMPTION":  PublicNotAvailable,
	"REJECTED":             PublicNotAvailable,
	"RETURNED":             PublicNotAvailable,
	"TIME_OUT_OF_RANGE":    PublicNotAvailable,
	"UNKNOWN_ORDER":        PublicNotAvailable,

	// These come after the token was found right: the asker owns the lease.
	"VERSION_CONFLICT": PublicTryAgain,
	"RENEW_CAP":        PublicLimitReached,

	"RETRYABLE_ERROR": PublicTryAgain,
}

// PublicCode is what a buyer may see of a coupon's refusal code. What a code says
// after a colon, as in ILLEGAL_STATE:USED, makes no difference. A code that is not
// listed is NOT_AVAILABLE.
func PublicCode(code string) string {
	code, _, _ = strings.Cut(code, ":")
	if public, ok := publicCodes[code]; ok {
		return public
	}
	return PublicNotAvailable
}

// publicClaimReasons lists every refusal of a claim. A campaign is public, so
// more may be said than about a coupon.
var publicClaimReasons = map[string]string{
	"QUOTA_EXHAUSTED":      PublicSoldOut,
	"LIMIT_REACHED":        PublicLimitReached,
	"DAILY_LIMIT_REACHED":  PublicLimitReached,
	"NOT_STARTED":          PublicNotValidNow,
	"EXPIRED":              PublicNotValidNow,
	"IDENTITY_REQUIRED":    PublicSignInRequired,
	"TEMPLATE_PAUSED":      PublicNotAvailable,
	"TEMPLATE_OFFLINE":     PublicNotAvailable,
	"UNKNOWN_TEMPLATE":     PublicNotAvailable,
	"IDEMPOTENCY_MISMATCH": PublicNotAvailable,
	"RETRYABLE_ERROR":      PublicTryAgain,
}

// PublicClaimReason is what a customer may see of a claim's refusal code. A
// code that is not listed is NOT_AVAILABLE.
func PublicClaimReason(code string) string {
	if public, ok := publicClaimReasons[code]; ok {
		return public
	}
	return PublicNotAvailable
}
