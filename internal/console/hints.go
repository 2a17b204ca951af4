package console

import (
	"strings"

	"couponlease/internal/coupon"
)

// withoutToken is what an operator may do about a lease of somebody else: to give it
// back is its owner's right alone.
const withoutToken = "`couponctl timeline CODE` shows who holds the coupon; who has no token withdraws it " +
	"(`couponctl void --force`) and takes that back (`couponctl reverse`)"

// hints say, by code, what somebody who was refused can do.
var hints = map[coupon.Code]string{
	coupon.UnknownCoupon: "there is no such coupon: check the code; `couponctl coupons import` makes coupons",
	coupon.IdempotencyMismatch: "the key was used for another command: leave --key out for a new one, or repeat " +
		"the first command as it was, its reason and actor included; `couponctl audit list` may show it",
	coupon.TokenMismatch:   "the token is another lease's, perhaps an older one: " + withoutToken,
	coupon.Voided:          "the coupon is withdrawn: `couponctl reverse` takes that back",
	coupon.AlreadyRefunded: "the coupon was retired for good by a refund: issue another one",
	coupon.ExpiredState:    "the coupon's validity is over: issue another one",
	coupon.AlreadyLocked:   "another order holds the coupon: " + withoutToken,
	coupon.AlreadyUsed: "another order has used the coupon: `couponctl timeline CODE` shows which; " +
		"`couponctl reverse` takes a redemption back",
	coupon.NotOwner:           "the coupon belongs to another person, and its template is not transferable",
	coupon.TemplateOffline:    "the template is offline: no new leases until `couponctl templates resume`",
	coupon.NotStarted:         "the coupon is not valid yet: `couponctl coupons show CODE` says from when",
	coupon.UseLimitReached:    "the person uses as many coupons of the template as one may at a time",
	coupon.BudgetExhausted:    "the template's budget is used up: a release, reversal or return makes room",
	coupon.NotTaken:           "the coupon is free, but another one of the order could not be had",
	coupon.LeaseGone:          "nobody holds the coupon for this order any more: lock it again, if it is free",
	coupon.RenewCap:           "the lease would outlast the coupon's validity: ask for a shorter --lease",
	coupon.InUse:              "an order holds the coupon: wait for its end, or take it away with --force",
	coupon.NotSwapped:         "nothing was swapped: the coupons that stand in the way are listed",
	coupon.UnknownReview:      "there is no such case: `couponctl review list` shows those that are open",
	coupon.CodeTaken:          "a coupon has this code already: choose another --code",
	coupon.UnknownTemplate:    "there is no such template: `couponctl templates list` shows them, `couponctl templates create` makes one",
	coupon.UnknownOrder:       "the order was never placed here: swap coupons of placed orders only",
	coupon.OrderAlreadyClosed: "the order is closed or replaced by another: it can take no coupon",
	coupon.StaleRevision:      "the order was placed anew meanwhile: look at it and ask again under a new key",
	coupon.NotApplicable:      "the parts of a split order share their coupons: only add, or swap on the whole order",
	coupon.TooManyFacts:       "the order has as many coupons or refunds as an order may have",
	coupon.TimeOutOfRange:     "the command claims to come from the future: mend the clock of the database",
	illegalState:              "the coupon's state does not allow it: `couponctl timeline CODE` shows how it came about",
}

// illegalState stands for all codes that name the state that does not allow it.
const illegalState coupon.Code = "ILLEGAL_STATE"

// hint says what somebody can do whose command of a kind was refused with a code.
func hint(kind string, code coupon.Code) string {
	rest, rejected := strings.CutPrefix(string(code), string(coupon.Rejected("")))
	if rejected {
		code = coupon.Code(rest)
	}
	if strings.HasPrefix(string(code), string(illegalState)) {
		code = illegalState
	}
	if code == coupon.VersionConflict {
		if kind == "ReverseChange" {
			return "only the operation that holds can be taken back, the redemption of a used coupon or the withdrawal " +
				"of a void one: `couponctl timeline CODE` shows its version and its operation"
		}
		return "the lease was renewed since: give the version of its last renewal, or leave --version out"
	}
	return hints[code]
}
