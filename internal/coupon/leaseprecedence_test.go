package coupon_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
	"couponlease/internal/simulate"
)

// renewal is one RenewLease and the rows that it meets.
type renewal struct {
	coupon *coupon.Coupon
	fact   coupon.RenewLease
	// known is the hash under which the key has its answer already.
	known *[32]byte
}

func newRenewal(now time.Time) *renewal {
	token := coupon.HashToken("its token")
	return &renewal{
		coupon: &coupon.Coupon{
			ID: "c1", Template: "T1", State: coupon.Locked, Version: 3, Leases: 1, ValidUntil: now.Add(time.Hour),
			Lease: &coupon.Lease{ID: "l", Order: "A", TokenHash: token, Purpose: coupon.PurposeQuote, Version: 3},
		},
		fact: coupon.RenewLease{Coupon: "c1", Token: token, Version: 3},
	}
}

func (r *renewal) answer(now time.Time) coupon.Outcome {
	w := coupon.NewWorld(now, coupon.DefaultRules(), simulate.NewSource("renewal"))
	if r.coupon != nil {
		w.AddCoupon(r.coupon)
	}
	if r.known != nil {
		w.AddAnswer(&coupon.Answer{Key: "K", Hash: *r.known, Code: coupon.OK})
	}
	return coupon.Decide(w, &coupon.Request{ID: "m", At: now, Key: "K", Fact: r.fact})
}

// TestLeasePrecedence: of any two refusals of a lease command that hold at once, the
// one that stands earlier in the list is the answer.
func TestLeasePrecedence(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	causes := []struct {
		code  coupon.Code
		apply func(*renewal)
	}{
		{coupon.UnknownCoupon, func(r *renewal) { r.coupon = nil }},
		{coupon.IdempotencyMismatch, func(r *renewal) { r.known = &[32]byte{1} }},
		{coupon.Duplicate, func(r *renewal) { r.known = &[32]byte{} }},
		{coupon.LeaseGone, func(r *renewal) { r.coupon.State, r.coupon.Lease = coupon.Available, nil }},
		{coupon.TokenMismatch, func(r *renewal) { r.fact.Token = coupon.HashToken("of an older lease") }},
		{coupon.VersionConflict, func(r *renewal) { r.fact.Version = 2 }},
		{coupon.RenewCap, func(r *renewal) { r.fact.Lease = 48 * time.Hour }},
	}
	if outcome := newRenewal(now).answer(now); outcome.Code != coupon.OK || outcome.Answer.Version != 4 {
		t.Fatalf("nothing refused: got %+v", outcome)
	}
	var walked []coupon.Code
	for i, first := range causes {
		walked = append(walked, first.code)
		for _, second := range causes[i:] {
			if first.code == coupon.UnknownCoupon && second.code == coupon.Duplicate {
				continue // the first answer stands, and it was that one
			}
			r := newRenewal(now)
			second.apply(r)
			first.apply(r)
			if got := r.answer(now).Code; got != first.code {
				t.Errorf("%s and %s: got %s", first.code, second.code, got)
			}
		}
	}
	if diff := cmp.Diff(coupon.LeasePrecedence(), walked); diff != "" {
		t.Errorf("(-the list +walked)\n%s", diff)
	}
}
