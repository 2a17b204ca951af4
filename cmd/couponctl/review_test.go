package main

import (
	"testing"
	"time"

	"couponlease/internal/console"
	"couponlease/internal/coupon"
)

// disputed makes a case: order A is paid in time, but told after its coupon went to B.
func disputed(t *testing.T) (shop, console.CaseView) {
	t.Helper()
	s := newShop(t, "c1")
	wanted := []coupon.Wanted{{Coupon: "c1"}}
	for i, fact := range []coupon.Fact{
		coupon.OrderPlaced{Order: "A", Customer: "ann", Payable: 900, Currency: "EUR", Wanted: wanted},
		coupon.OrderClosed{Order: "A", Reason: "payment_timeout"},
		coupon.OrderPlaced{Order: "B", Customer: "bob", Payable: 900, Currency: "EUR", Wanted: wanted},
		coupon.PaymentSucceeded{Order: "A", Payment: "p", Amount: 900, Currency: "EUR"},
	} {
		s.ask(t, coupon.Request{ID: string(rune('a' + i)), Fact: fact})
	}
	o := ctl(t, "review", "list", "--coupon", "C1", "-o", "json")
	o.want(t, exitOK)
	page := decode[console.ReviewPage](t, o)
	if len(page.Reviews) != 1 {
		t.Fatalf("%d cases: %s", len(page.Reviews), o.stdout)
	}
	return s, page.Reviews[0]
}

func TestACaseIsDecidedOnce(t *testing.T) {
	_, open := disputed(t)
	want := coupon.Evidence{
		State: coupon.Locked, Version: 4, Holder: "B", Payable: 900, Paid: 900, Payments: 1, Currency: "EUR",
		PaidAt: open.Evidence.PaidAt, ClosedAt: open.Evidence.ClosedAt,
	}
	if open.Evidence != want || open.Evidence.PaidAt.IsZero() || open.Evidence.ClosedAt.IsZero() ||
		open.Reason != "LATE_PAYMENT_COUPON_TAKEN" || open.Order != "A" || open.Resolution != nil {
		t.Errorf("case %+v", open)
	}
	ctl(t, "review", "show", open.ID).want(t, exitOK, "held by B", "paid 900 in 1 payment EUR", "review resolve "+open.ID)
	ctl(t, "review", "resolve", open.ID, "MAYBE", "--reason", "r").want(t, exitFindings, "want one of")
	ctl(t, "review", "resolve", open.ID, "REFUND", "--reason", " ").want(t, exitFindings, "say why")
	ctl(t, "review", "resolve", open.ID, "RETURN", "--reason", "r").want(t, exitConflict, "ILLEGAL_STATE:LOCKED")

	first := do(t, exitOK, "review", "resolve", open.ID, "REFUND", "--reason", "on the phone", "--actor", "ann@desk", "--key", "k")
	if first.Outcome != "RESOLVED:REFUND" || first.Repeated {
		t.Errorf("decided %+v", first)
	}
	if again := do(t, exitOK, "review", "resolve", open.ID, "REFUND", "--reason", "on the phone", "--actor", "ann@desk", "--key", "k"); !again.Repeated {
		t.Errorf("repeated %+v", again)
	}
	second := do(t, exitOK, "review", "resolve", open.ID, "DISMISS", "--reason", "other")
	if second.Outcome != "RESOLVED:REFUND" {
		t.Errorf("a second decision was answered %+v", second)
	}
	ctl(t, "review", "list").want(t, exitOK, "CASE")
	o := ctl(t, "review", "list", "--all", "-o", "json")
	closed := decode[console.ReviewPage](t, o).Reviews[0]
	if closed.Resolution == nil || closed.Resolution.Outcome != "REFUND" || closed.Resolution.Actor != "ann@desk" ||
		closed.Resolution.Note != "on the phone" || closed.Resolution.At.After(time.Now().Add(time.Minute)) {
		t.Errorf("decided %+v", closed.Resolution)
	}
	if open := decode[console.ReviewPage](t, ctl(t, "review", "list", "-o", "json")); len(open.Reviews) != 0 {
		t.Errorf("still open: %+v", open)
	}
	ctl(t, "audit", "list").want(t, exitOK, "ResolveReview", "on the phone")
	ctl(t, "check").want(t, exitOK)
}

func TestAGoodwillCoupon(t *testing.T) {
	_, open := disputed(t)
	ctl(t, "review", "resolve", open.ID, "GOODWILL_COUPON", "--reason", "r").want(t, exitFindings, "needs the code and the template")
	ctl(t, "review", "resolve", open.ID, "GOODWILL_COUPON", "--code", "C1", "--template", "t", "--reason", "r").
		want(t, exitConflict, "CODE_TAKEN")
	ctl(t, "review", "resolve", open.ID, "GOODWILL_COUPON", "--code", "SORRY", "--template", "nowhere", "--reason", "r").
		want(t, exitConflict, "UNKNOWN_TEMPLATE")
	ctl(t, "review", "resolve", open.ID, "GOODWILL_COUPON", "--code", "SORRY", "--template", "t", "--reason", "our mistake").
		want(t, exitOK, "RESOLVED:GOODWILL_COUPON")
	ctl(t, "coupons", "show", "sorry").want(t, exitOK, "ann", "AVAILABLE")
	ctl(t, "check").want(t, exitOK)
}

func TestCasesThatAreNotThere(t *testing.T) {
	newShop(t, "c1")
	const nobody = "01980000-0000-7000-8000-000000000000"
	ctl(t, "review", "show", nobody).want(t, exitError, "no case")
	ctl(t, "review", "show", "x").want(t, exitFindings, "no case")
	ctl(t, "review", "resolve", nobody, "KEEP", "--reason", "r").want(t, exitFindings, "no case")
	ctl(t, "review", "list", "--limit", "0").want(t, exitFindings, "choose 1 to 1000")
	ctl(t, "review", "list", "--after", "x").want(t, exitFindings, "no case")
}
