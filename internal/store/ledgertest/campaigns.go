package ledgertest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"couponlease/internal/coupon"
)

// template is the campaign of a pair, beside T, of whose coupons orders are.
func (p *pair) template() string { return p.space + "C" }

// launch makes the campaign and links a telephone to a person.
func (p *pair) launch(t rapid.TB, terms coupon.Terms) {
	p.send(t, p.command(coupon.CreateTemplate{Template: p.template(), Terms: terms}))
	for i, side := range []*bench{p.oracle, p.subject} {
		if err := side.ledger.LinkPerson(context.Background(), p.space+"Phone", "u1", "test"); err != nil {
			t.Fatalf("ledger %d: %v", i, err)
		}
	}
}

// campaigns gets every answer that claims, batches and edits can have, whatever chance
// brings afterwards.
func (p *pair) campaigns(t *testing.T) {
	terms := coupon.Unlimited()
	terms.Total, terms.PerPerson, terms.PerDay, terms.Budget, terms.Zone = 5, 3, 1, 2, "America/Noronha"
	terms.ValidFrom, terms.ValidUntil = start.Add(time.Second), start.Add(5*time.Hour)
	p.launch(t, terms)
	ask := func(want coupon.Code, fact coupon.Command) {
		t.Helper()
		if got := p.send(t, p.command(fact))[0]; got.Code != want {
			t.Fatalf("%T %+v: answered %s, want %s", fact, fact, got.Code, want)
		}
	}
	claims := func(want coupon.Code, person, batch string) {
		t.Helper()
		ask(want, coupon.ClaimCoupon{Template: p.template(), Person: person, Batch: batch})
	}
	edits := func(want coupon.Code, set coupon.TermsEdit) {
		t.Helper()
		ask(want, coupon.EditTemplate{Template: p.template(), Set: set})
	}
	issues := func(want coupon.Code, items ...coupon.IssueItem) {
		t.Helper()
		ask(want, coupon.IssueCoupons{Template: p.template(), Batch: "B", Items: items})
	}
	claims(coupon.NotStarted, "u1", "")
	p.pass(time.Second)
	claims(coupon.IdentityRequired, "", "")
	claims(coupon.OK, " U3@X.org", "")
	claims(coupon.DailyLimitReached, "u3@x.ORG", "")
	p.pass(2 * time.Hour)
	claims(coupon.OK, "U3@x.org", "B")
	claims(coupon.Duplicate, "u3@x.org", "B")
	claims(coupon.OK, p.space+"Phone", "")
	issues(coupon.Issued(1, 2), coupon.IssueItem{Code: p.space + "I0"}, coupon.IssueItem{Person: "u3@x.org"},
		coupon.IssueItem{Code: p.space + "i0"})
	issues(coupon.QuotaExhausted, coupon.IssueItem{Person: "u1"}, coupon.IssueItem{Person: "u2"})
	p.send(t, p.message(coupon.ImportCoupon{Code: p.space + "I1", Template: p.template(), Owner: p.space + "Phone"}))
	for i, id := range p.made[:2] {
		ask(coupon.OK, coupon.LockCoupon{Coupon: id, Order: p.order(i)})
	}
	ask(coupon.BudgetExhausted, coupon.LockCoupon{Coupon: p.made[2], Order: p.order(2)})
	one, six, name, nowhere, offline := int64(1), int64(6), "summer", "Nowhere/City", coupon.TemplateDown
	paused, active := coupon.TemplatePaused, coupon.TemplateActive
	edits(coupon.OK, coupon.TermsEdit{Budget: &one, PerDay: &six})
	edits(coupon.Noop, coupon.TermsEdit{Budget: &one})
	edits(coupon.BelowIssued, coupon.TermsEdit{Total: &one})
	edits(coupon.NotCounted, coupon.TermsEdit{UsesPerPerson: &one})
	edits(coupon.InvalidTerms, coupon.TermsEdit{Zone: &nowhere})
	edits(coupon.OK, coupon.TermsEdit{Status: &paused})
	claims(coupon.TemplateIsPaused, "u1", "")
	edits(coupon.OK, coupon.TermsEdit{Status: &offline})
	claims(coupon.TemplateOffline, "u1", "")
	edits(coupon.OK, coupon.TermsEdit{Status: &active, Name: &name})
	ask(coupon.VersionConflict, coupon.EditTemplate{Template: p.template(), ExpectedVersion: 1})
	ask(coupon.TemplateExists, coupon.CreateTemplate{Template: p.template(), Terms: terms})
	claims(coupon.OK, "u3@x.org", "")
	claims(coupon.QuotaExhausted, "u2", "")
	edits(coupon.OK, coupon.TermsEdit{Total: &six})
	claims(coupon.LimitReached, "u3@x.org", "")
	claims(coupon.OK, "u2", "C")
	claims(coupon.QuotaExhausted, "u2", "")
	p.pass(3 * time.Hour)
	claims(coupon.ExpiredState, "u1", "")
	issues(coupon.ExpiredState, coupon.IssueItem{Person: "u1"})
	ask(coupon.UnknownTemplate, coupon.ClaimCoupon{Template: p.space + "nowhere", Person: "u1"})
	ask(coupon.UnknownTemplate, coupon.EditTemplate{Template: p.space + "nowhere"})
	p.compare(t)
	if want := 7; len(p.made) != want {
		t.Errorf("%d coupons were made, want %d: %q", len(p.made), want, p.made)
	}
}

// terms draws those of a campaign: some of its local days end soon after the start.
func (p *pair) terms(rt *rapid.T) coupon.Terms {
	limit := func(name string, from ...int64) int64 {
		return rapid.SampledFrom(append(from, coupon.NoLimit)).Draw(rt, name)
	}
	terms := coupon.Unlimited()
	terms.Total, terms.PerPerson, terms.PerDay = limit("total", 1, 3, 6), limit("per person", 1, 2), limit("per day", 1, 2)
	terms.Budget, terms.UsesPerPerson = limit("budget", 1, 2), limit("uses", 1)
	terms.Zone = rapid.SampledFrom([]string{"", "America/Noronha", "Atlantic/Cape_Verde"}).Draw(rt, "zone")
	terms.ValidDays = rapid.IntRange(0, 1).Draw(rt, "days")
	return terms
}

// campaigning draws a command about the campaign.
func (p *pair) campaigning(rt *rapid.T) coupon.Command {
	template := p.template()
	batch := rapid.SampledFrom([]string{"", "", "B", "C"}).Draw(rt, "batch")
	switch rapid.IntRange(0, 10).Draw(rt, "of a campaign") {
	case 10:
		return coupon.RecountTemplate{Template: rapid.SampledFrom([]string{template, p.space + "T"}).Draw(rt, "template")}
	case 0, 1, 2, 3, 4, 5:
		return coupon.ClaimCoupon{Template: template, Batch: batch, Person: p.person(rt)}
	case 6, 7:
		f := coupon.IssueCoupons{Template: template, Batch: batch}
		for range rapid.IntRange(1, 3).Draw(rt, "items") {
			item := coupon.IssueItem{Person: p.person(rt)}
			if rapid.Bool().Draw(rt, "coded") {
				item.Code = fmt.Sprintf("%sI%d", p.space, rapid.IntRange(0, 3).Draw(rt, "code"))
			}
			f.Items = append(f.Items, item)
		}
		return f
	case 8:
		return coupon.CreateTemplate{Template: template, Terms: p.terms(rt)}
	default:
		f := coupon.EditTemplate{Template: template, Set: p.edit(rt)}
		f.ExpectedVersion = rapid.SampledFrom([]int64{0, 0, 1, 2}).Draw(rt, "seen")
		return f
	}
}

func (p *pair) person(rt *rapid.T) string {
	return rapid.SampledFrom([]string{"u1", "u2", "u2", p.space + "Phone", "u3@x.org", "U3@X.org ", ""}).Draw(rt, "person")
}

// edit draws a change of one or two terms.
func (p *pair) edit(rt *rapid.T) (set coupon.TermsEdit) {
	terms := p.terms(rt)
	for range rapid.IntRange(1, 2).Draw(rt, "terms") {
		switch rapid.IntRange(0, 8).Draw(rt, "term") {
		case 0, 1:
			set.Total = &terms.Total
		case 2:
			set.PerPerson = &terms.PerPerson
		case 3:
			set.PerDay = &terms.PerDay
		case 4:
			set.Budget = &terms.Budget
		case 5:
			set.UsesPerPerson = &terms.UsesPerPerson
		case 6:
			set.Zone = &terms.Zone
		case 7:
			status := rapid.SampledFrom([]coupon.TemplateStatus{
				coupon.TemplateActive, coupon.TemplateActive, coupon.TemplatePaused, coupon.TemplateDown,
			}).Draw(rt, "status")
			set.Status = &status
		default:
			policy := rapid.SampledFrom([]int64{1, 1000 + int64(p.number), 99}).Draw(rt, "policy")
			set.PolicyVersion = &policy
		}
	}
	return set
}

// compareWritten holds what two transactions made of templates, claims and new coupons
// against each other. What the claims of before had been shows in those of now.
func (p *pair) compareWritten(rt rapid.TB, want, got *coupon.Changes) {
	for what, sides := range map[string][2]any{
		"templates":         {rows(want.Templates), rows(got.Templates)},
		"template versions": {want.Versions, got.Versions},
		"claims":            {want.Claims, got.Claims},
	} {
		if diff := cmp.Diff(sides[0], sides[1]); diff != "" {
			rt.Fatalf("%s differ (-oracle +subject):\n%s", what, diff)
		}
	}
	for _, change := range want.Coupons {
		if id := change.Row.ID; change.Base == 0 && !slices.Contains(p.began(), id) {
			p.made = append(p.made, id)
		}
	}
}

func rows(changes []coupon.TemplateChange) (rows []coupon.Template) {
	for _, change := range changes {
		rows = append(rows, *change.Row)
	}
	return rows
}

// compareTemplates holds the templates that are kept against each other.
func (p *pair) compareTemplates(rt rapid.TB) {
	for _, id := range []string{p.template(), p.space + "T"} {
		want, _, wantErr := p.oracle.ledger.Template(context.Background(), id)
		got, _, gotErr := p.subject.ledger.Template(context.Background(), id)
		if wantErr != nil || gotErr != nil {
			rt.Fatalf("template %s: errors %v and %v", id, wantErr, gotErr)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("template %s differs (-oracle +subject):\n%s", id, diff)
		}
		if want.Total != coupon.NoLimit && want.Issued > want.Total {
			rt.Fatalf("template %s has issued %d of %d", id, want.Issued, want.Total)
		}
	}
}
