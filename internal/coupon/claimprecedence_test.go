package coupon_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
	"couponlease/internal/simulate"
)

// wish is one claim and the rows that it meets.
type wish struct {
	template *coupon.Template
	fact     coupon.ClaimCoupon
	claims   coupon.Claims
	// known is the hash under which the key has its answer already, has the coupon that
	// the person has of the batch.
	known *[32]byte
	has   string
}

func newWish() *wish {
	terms := coupon.Unlimited()
	terms.Total, terms.PerPerson, terms.PerDay = 9, 9, 9
	return &wish{
		template: &coupon.Template{ID: "t", Version: 1, Generation: 1, Issued: 5, Terms: terms},
		fact:     coupon.ClaimCoupon{Template: "t", Batch: "B", Person: "ann"},
		claims:   coupon.Claims{Template: "t", Person: "ann", Count: 5, Day: noon.Format(time.DateOnly), OnDay: 5},
	}
}

func (s *wish) answer() coupon.Outcome {
	w := coupon.NewWorld(noon, coupon.DefaultRules(), simulate.NewSource("wish"))
	if s.template != nil {
		w.AddTemplate(s.template)
	}
	if s.known != nil {
		w.AddAnswer(&coupon.Answer{Key: "K", Hash: *s.known, Code: coupon.OK})
	}
	if s.has != "" {
		w.AddInBatch("t", s.fact.Person, "B", s.has)
	}
	w.AddClaims(&s.claims)
	return coupon.Decide(w, &coupon.Request{ID: "m", At: noon, Key: "K", Fact: s.fact})
}

// TestClaimPrecedence: of any two refusals of a claim that hold at once, the one that
// stands earlier in the list is the answer.
func TestClaimPrecedence(t *testing.T) {
	causes := []struct {
		code  coupon.Code
		apply func(*wish)
	}{
		{coupon.IdempotencyMismatch, func(s *wish) { s.known = &[32]byte{1} }},
		{coupon.Duplicate, func(s *wish) { s.has = "c1" }},
		{coupon.UnknownTemplate, func(s *wish) { s.template = nil }},
		{coupon.TemplateOffline, func(s *wish) { s.template.Status = coupon.TemplateDown }},
		{coupon.TemplateIsPaused, func(s *wish) { s.template.Status = coupon.TemplatePaused }},
		{coupon.NotStarted, func(s *wish) { s.template.ValidFrom = noon.Add(time.Second) }},
		{coupon.ExpiredState, func(s *wish) { s.template.ValidUntil = noon }},
		{coupon.IdentityRequired, func(s *wish) { s.fact.Person = "" }},
		{coupon.QuotaExhausted, func(s *wish) { s.template.Total = 5 }},
		{coupon.LimitReached, func(s *wish) { s.template.PerPerson = 5 }},
		{coupon.DailyLimitReached, func(s *wish) { s.template.PerDay = 5 }},
	}
	if outcome := newWish().answer(); outcome.Code != coupon.OK || outcome.Answer.Coupon != "t-6" {
		t.Fatalf("nothing refused: got %+v", outcome)
	}
	var walked []coupon.Code
	pairs := 0
	for i, first := range causes {
		walked = append(walked, first.code)
		for _, second := range causes[i:] {
			exclusive := first.code == coupon.Duplicate && // whoever has one is known, and so is its campaign
				(second.code == coupon.UnknownTemplate || second.code == coupon.IdentityRequired) ||
				first.code == coupon.TemplateOffline && second.code == coupon.TemplateIsPaused
			unknown := first.code == coupon.UnknownTemplate && second.code != first.code // which then says nothing
			if exclusive || unknown {
				continue
			}
			pairs++
			s := newWish()
			second.apply(s)
			first.apply(s)
			if got := s.answer().Code; got != first.code {
				t.Errorf("%s and %s: got %s", first.code, second.code, got)
			}
		}
	}
	if pairs != 55 {
		t.Errorf("%d pairs were tried", pairs)
	}
	if diff := cmp.Diff(coupon.ClaimPrecedence(), walked); diff != "" {
		t.Errorf("(-the list +walked)\n%s", diff)
	}
}

// TestTheSameKeyIsTheFirstAnswer, whatever else would be said by now.
func TestTheSameKeyIsTheFirstAnswer(t *testing.T) {
	s := newWish()
	s.known, s.has, s.template = &[32]byte{}, "c1", nil
	if got := s.answer(); got.Status != coupon.Repeated || got.First != coupon.OK {
		t.Errorf("got %+v", got)
	}
}
