package coupon_test

import (
	"testing"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/simulate"
)

// scene is a placement of order A by u1, and the rows that it meets.
type scene struct {
	coupon   *coupon.Coupon
	template coupon.Template
	uses     coupon.Uses
	token    *coupon.TokenHash
}

// cause makes one refusal hold in a scene. Causes of the same kind exclude each
// other, because a coupon has one state.
type cause struct {
	code  coupon.Code
	kind  string
	apply func(*scene)
}

func inState(code coupon.Code, state coupon.State) cause {
	return cause{code, "state", func(s *scene) { s.coupon.State = state }}
}

func leased(order string) func(*scene) {
	return func(s *scene) {
		s.coupon.State = coupon.Locked
		s.coupon.Lease = &coupon.Lease{ID: "l", Order: order, Purpose: coupon.PurposeOrder, Version: 2}
	}
}

// guess presents a token that is not the one of the lease there is.
func guess(s *scene) {
	if s.coupon.Lease == nil {
		leased("B")(s)
	}
	hash := coupon.HashToken("of an older lease")
	s.token = &hash
}

// causes walks the list of refusals; the two that only commands know are left
// out of it here.
func causes(now time.Time) []cause {
	return []cause{
		{coupon.UnknownCoupon, "unknown", func(s *scene) { s.coupon = nil }},
		{coupon.Duplicate, "state", leased("A")},
		{coupon.TokenMismatch, "token", guess},
		inState(coupon.Voided, coupon.Void),
		inState(coupon.AlreadyRefunded, coupon.Refunded),
		inState(coupon.ExpiredState, coupon.Expired),
		{coupon.AlreadyLocked, "state", leased("B")},
		{coupon.AlreadyUsed, "state", func(s *scene) {
			s.coupon.State = coupon.Used
			s.coupon.Redemption = &coupon.Redemption{ID: "r", Order: "B"}
		}},
		{coupon.NotOwner, "owner", func(s *scene) { s.coupon.Owner = "u2" }},
		{coupon.TemplateOffline, "status", func(s *scene) { s.template.Status = coupon.TemplateDown }},
		{coupon.NotStarted, "from", func(s *scene) { s.coupon.ValidFrom = now.Add(time.Hour) }},
		{coupon.ExpiredState, "until", func(s *scene) { s.coupon.ValidUntil = now }},
		{coupon.UseLimitReached, "uses", func(s *scene) { s.template.UsesPerPerson, s.uses.Held = 1, 1 }},
		{coupon.BudgetExhausted, "budget", func(s *scene) { s.template.Budget, s.template.Held = 1, 1 }},
	}
}

// answer places the order.
func (s *scene) answer(now time.Time) coupon.Code {
	w := coupon.NewWorld(now, coupon.DefaultRules(), simulate.NewSource("scene"))
	if s.coupon != nil {
		s.uses.Person = s.coupon.Owner
		w.AddCoupon(s.coupon)
	}
	w.AddTemplate(&s.template)
	w.AddUses(&s.uses)
	w.AddOrder(&coupon.Order{ID: "A"})
	outcome := coupon.Decide(w, &coupon.Request{ID: "m", At: now, Fact: coupon.OrderPlaced{
		Order: "A", Customer: "u1", Payable: 100, Wanted: []coupon.Wanted{{Coupon: "c1", Token: s.token}},
	}})
	return outcome.Code
}

func newScene() *scene {
	return &scene{
		coupon:   &coupon.Coupon{ID: "c1", Template: "T1", Owner: "u1", State: coupon.Available, Version: 2},
		template: coupon.Template{ID: "T1", Terms: coupon.Unlimited()},
		uses:     coupon.Uses{Template: "T1", Person: "u1"},
	}
}

func answerFor(code coupon.Code) coupon.Code {
	if code == coupon.Duplicate {
		return code
	}
	return coupon.Rejected(code)
}

// TestRefusalPrecedence: of any two refusals that hold at once, the one that
// stands earlier in the list is the answer.
func TestRefusalPrecedence(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	all := causes(now)
	var walked []coupon.Code
	pairs := 0
	for i, first := range all {
		walked = append(walked, first.code)
		s := newScene()
		first.apply(s)
		if got := s.answer(now); got != answerFor(first.code) {
			t.Errorf("%s alone: got %s", first.code, got)
		}
		for _, second := range all[i+1:] {
			if first.kind == "unknown" || first.kind == second.kind ||
				first.kind == "token" && second.kind == "state" && second.code != coupon.AlreadyLocked {
				continue
			}
			pairs++
			s := newScene()
			second.apply(s)
			first.apply(s)
			if got := s.answer(now); got != answerFor(first.code) {
				t.Errorf("%s and %s: got %s", first.code, second.code, got)
			}
		}
	}
	if pairs != 59 {
		t.Errorf("%d pairs were tried", pairs)
	}
	var listed []coupon.Code
	for _, code := range coupon.Precedence() {
		if code != coupon.IdempotencyMismatch {
			listed = append(listed, code)
		}
	}
	if len(walked) != len(listed) {
		t.Fatalf("walked %v, the list is %v", walked, listed)
	}
	for i := range listed {
		if walked[i] != listed[i] {
			t.Errorf("place %d: walked %s, the list says %s", i, walked[i], listed[i])
		}
	}
}

// TestNothingRefused is the scene without a cause.
func TestNothingRefused(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	if got := newScene().answer(now); got != coupon.OK {
		t.Errorf("got %s", got)
	}
}
