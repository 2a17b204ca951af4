package dealertest

import (
	"fmt"
	"time"

	"couponlease/internal/coupon"
)

// claimed is the code of the n-th coupon issued from a template, as the source of the
// simulation makes it.
func (d *Dealer) claimed(template string, n int) string {
	return coupon.Fold(fmt.Sprintf("%s-%d", template, n))
}

// campaign makes up a command about one of the templates. Their limits are edited seldom and
// within bounds, so that there are claims that get something.
func (d *Dealer) campaign() coupon.Fact {
	template := d.template(d.chance.Below(2, "template"))
	person := pick(d.chance, "person", "u1", "u1", "u2", "u3", "")
	batch := pick(d.chance, "batch", "", "", "B", "C")
	switch pick(d.chance, "campaign kind", 0, 0, 0, 0, 0, 0, 1, 2, 3) {
	case 0:
		return coupon.ClaimCoupon{Template: template, Batch: batch, Person: person}
	case 1:
		item := coupon.IssueItem{Person: person}
		if oneIn(d.chance, 2, "coded") {
			item.Code = d.known()
		}
		return coupon.IssueCoupons{Template: template, Batch: batch, Items: []coupon.IssueItem{item, {Code: d.known()}}}
	case 2:
		return coupon.CreateTemplate{Template: template, Terms: coupon.Unlimited()}
	default:
		f := coupon.EditTemplate{Template: template, ExpectedVersion: int64(d.chance.Below(3, "version"))}
		total := pick(d.chance, "total", int64(3), 4, 6)
		zone := pick(d.chance, "zone", "", "Asia/Shanghai")
		status := pick(d.chance, "status", coupon.TemplateActive, coupon.TemplateActive, coupon.TemplatePaused)
		switch d.chance.Below(3, "term") {
		case 0:
			f.Set.Total = &total
		case 1:
			f.Set.Zone = &zone
		default:
			f.Set.Status = &status
		}
		return f
	}
}

// campaigns: all that claims are answered.
func (s *script) campaigns() {
	claim := func(want coupon.Code, template, person, batch string) {
		s.t.Helper()
		s.fact(want, coupon.ClaimCoupon{Template: template, Person: person, Batch: batch})
	}
	create := func(change func(*coupon.Terms)) string {
		s.t.Helper()
		terms, id := coupon.Unlimited(), s.name("campaign")
		change(&terms)
		s.fact(coupon.OK, coupon.CreateTemplate{Template: id, Terms: terms})
		return id
	}
	claim(coupon.TemplateOffline, s.Space+offline, "u1", "")
	claim(coupon.TemplateIsPaused, create(func(t *coupon.Terms) { t.Status = coupon.TemplatePaused }), "u1", "")
	claim(coupon.NotStarted, create(func(t *coupon.Terms) { t.ValidFrom = s.Now().Add(time.Hour) }), "u1", "")
	over := create(func(t *coupon.Terms) { t.ValidUntil = s.Now().Add(time.Hour) })
	claim(coupon.OK, over, "u1", "B")
	s.Pass(2 * time.Hour)
	claim(coupon.ExpiredState, over, "u1", "")
	claim(coupon.Duplicate, over, "u1", "B")
	limited := create(func(t *coupon.Terms) { t.Total, t.PerPerson, t.PerDay = 2, 1, 1 })
	claim(coupon.IdentityRequired, limited, "", "")
	claim(coupon.OK, limited, "u1", "")
	claim(coupon.LimitReached, limited, "u1", "")
	two := int64(2)
	s.fact(coupon.OK, coupon.EditTemplate{Template: limited, Set: coupon.TermsEdit{PerPerson: &two}})
	claim(coupon.DailyLimitReached, limited, "u1", "")
	claim(coupon.OK, limited, "u2", "")
	claim(coupon.QuotaExhausted, limited, "u3", "")
	s.fact(coupon.ExpiredState, coupon.IssueCoupons{Template: over, Items: []coupon.IssueItem{{Code: s.name("c")}}})
	claim(coupon.OK, create(func(*coupon.Terms) {}), "", "")
}

// batches: all that batches are answered.
func (s *script) batches() {
	terms, id := coupon.Unlimited(), s.name("campaign")
	terms.Total = 3
	s.fact(coupon.OK, coupon.CreateTemplate{Template: id, Terms: terms})
	issue := func(want coupon.Code, template, batch string, items ...coupon.IssueItem) {
		s.t.Helper()
		s.fact(want, coupon.IssueCoupons{Template: template, Batch: batch, Items: items})
	}
	code := coupon.IssueItem{Code: s.name("C")}
	issue(coupon.BatchRequired, id, "", coupon.IssueItem{Person: "u1"})
	issue(coupon.IdentityRequired, id, "B", coupon.IssueItem{})
	issue(coupon.Issued(2, 1), id, "B", code, coupon.IssueItem{Person: "u1"}, coupon.IssueItem{Person: "u1"})
	issue(coupon.Issued(0, 2), id, "B", code, coupon.IssueItem{Person: "u1"})
	issue(coupon.QuotaExhausted, id, "C", coupon.IssueItem{Person: "u1"}, coupon.IssueItem{Person: "u2"})
	issue(coupon.TemplateOffline, s.Space+offline, "B", coupon.IssueItem{Person: "u1"})
}

// terms: all that whoever defines or edits a template is answered.
func (s *script) terms() {
	terms, id := coupon.Unlimited(), s.name("campaign")
	create := func(want coupon.Code) {
		s.t.Helper()
		s.fact(want, coupon.CreateTemplate{Template: id, Terms: terms})
	}
	edit := func(want coupon.Code, set coupon.TermsEdit) {
		s.t.Helper()
		s.fact(want, coupon.EditTemplate{Template: id, Set: set})
	}
	terms.PolicyVersion = 1 << 40
	create(coupon.UnknownPolicy)
	terms.PolicyVersion = 0
	create(coupon.OK)
	create(coupon.Noop)
	terms.Total = 7
	create(coupon.TemplateExists)
	none, seven, unknown, nowhere := int64(0), int64(7), int64(1<<40), "Nowhere/City"
	edit(coupon.OK, coupon.TermsEdit{Total: &seven})
	edit(coupon.Noop, coupon.TermsEdit{Total: &seven})
	edit(coupon.InvalidTerms, coupon.TermsEdit{Zone: &nowhere})
	edit(coupon.UnknownPolicy, coupon.TermsEdit{PolicyVersion: &unknown})
	s.fact(coupon.VersionConflict, coupon.EditTemplate{Template: id, ExpectedVersion: 1})
	s.fact(coupon.OK, coupon.ClaimCoupon{Template: id, Person: "u1"})
	edit(coupon.BelowIssued, coupon.TermsEdit{Total: &none})
	edit(coupon.NotCounted, coupon.TermsEdit{Budget: &seven})
}
