package store

import (
	"testing"

	"couponlease/internal/coupon"
)

func TestApplyCarriesAnOrderThrough(t *testing.T) {
	s := open(t)
	issue(t, s, unlimited("summer"), "C-1")
	at := now(t, s)
	one(t, s, coupon.OK, request("m1", at, placed("o1", "c-1")))
	one(t, s, coupon.Redeemed, request("m2", at, paid("o1")))
	one(t, s, coupon.DuplicateEvent, request("m2", at, paid("o1")))
	if state := scalar[string](t, s, `select state from user_coupon where coupon_id = 'c-1'`); state != "USED" {
		t.Errorf("state %s, want USED", state)
	}
}
