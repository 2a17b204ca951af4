package store

import (
	"cmp"
	"slices"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

// asked lists, sorted, which rows a batch of requests needs.
type asked struct {
	// admitted orders get a row if they have none; orders are those and the ones that
	// are only looked at.
	admitted, orders []string
	coupons          []string
	// templates are named by requests; a request that issues or defines changes them.
	templates []string
	// uses are counters for coupons that are not there yet.
	uses []usesKey
	// perPerson are templates that the batch defines with a limit for each person, recounts
	// those whose coupons are counted again.
	perPerson, recounts []string
	policies            []int64
	messages            []message

	// keys are those of commands, reversed the coupons whose latest change may be taken
	// back.
	keys, reversed []string
	// holders are orders that commands look at. One that appears while the coupons are
	// being locked may have taken a coupon over, and counts.
	holders []string
	// flows are redemptions at tills that may have to be ended.
	flows []string
	// resolved are cases that are being decided, goodwill the coupons issued by it.
	resolved []string
	goodwill []goodwill
	// persons are ids that may be aliases, claims what is asked for out of campaigns.
	persons []string
	claims  []claimKey
}

// claimKey is what one person, named by whatever id, asks for; batch is "" for none.
type claimKey struct{ template, person, batch string }

// goodwill is a coupon for the buyer of an order.
type goodwill struct{ template, order string }

type usesKey struct{ template, person string }

type message struct {
	id string
	at time.Time
}

func newAsked(requests []coupon.Request, linked []string) asked {
	a := asked{admitted: slices.Clone(linked)}
	var looked []string
	for i := range requests {
		r := &requests[i]
		if r.Key != "" {
			a.keys = append(a.keys, r.Key)
		}
		if _, command := r.Fact.(coupon.Command); r.ID != "" && !command {
			a.messages = append(a.messages, message{r.ID, r.At})
		}
		a.coupons = append(a.coupons, r.Fact.Coupons()...)
		if personal, ok := r.Fact.(coupon.Personal); ok {
			for _, id := range personal.Persons() {
				a.persons = append(a.persons, coupon.FoldPerson(id))
			}
		}
		if a.askTemplate(r.Fact) {
			continue
		}
		switch f := r.Fact.(type) {
		case coupon.LeaseDue, coupon.SettleLease, coupon.SettleOrder, coupon.ReportOrphan, coupon.ReportFault:
			looked = append(looked, r.Fact.Orders()...)
		case coupon.EndFlow:
			a.flows = append(a.flows, f.RedeemNo)
		case coupon.RedeemCoupon:
			a.holders = append(a.holders, f.Orders()...)
		case coupon.ReverseChange:
			a.reversed = append(a.reversed, f.Coupon)
		case coupon.ResolveReview:
			a.admitted = append(a.admitted, f.Orders()...)
			if _, err := parseUUID(f.Review); err == nil { // no other text names a case
				a.resolved = append(a.resolved, f.Review)
			}
			if f.Template != "" {
				a.templates = append(a.templates, f.Template)
				a.goodwill = append(a.goodwill, goodwill{f.Template, f.Order})
			}
		default:
			a.admitted = append(a.admitted, f.Orders()...)
		}
	}
	a.admitted = distinct(a.admitted)
	a.holders = distinct(a.holders)
	a.orders = distinct(slices.Concat(looked, a.holders, a.admitted))
	a.coupons = distinct(a.coupons)
	a.templates = distinct(a.templates)
	a.keys = distinct(a.keys)
	a.reversed = distinct(a.reversed)
	a.flows = distinct(a.flows)
	a.resolved = distinct(a.resolved)
	a.persons = distinct(a.persons)
	return a
}

// askTemplate notes what a request needs that issues from a template, or defines one or a
// policy; false for every other request.
func (a *asked) askTemplate(fact coupon.Fact) bool {
	switch f := fact.(type) {
	case coupon.ImportCoupon:
		a.issues(f.Template, f.Owner)
	case coupon.ClaimCoupon:
		a.issues(f.Template, f.Person)
		a.claims = append(a.claims, claimKey{f.Template, f.Person, f.Batch})
	case coupon.IssueCoupons:
		a.templates = append(a.templates, f.Template)
		for i := range f.Items {
			a.issues(f.Template, f.Items[i].Person)
			a.claims = append(a.claims, claimKey{f.Template, f.Items[i].Person, f.Batch})
		}
	case coupon.DefineTemplate:
		a.defines(f.Template.ID, f.Template.Terms)
	case coupon.CreateTemplate:
		a.defines(f.Template, f.Terms)
	case coupon.EditTemplate:
		a.templates = append(a.templates, f.Template)
		if f.Set.UsesPerPerson != nil {
			a.perPerson = append(a.perPerson, f.Template)
		}
		if f.Set.PolicyVersion != nil {
			a.policies = append(a.policies, *f.Set.PolicyVersion)
		}
	case coupon.Restock:
		a.templates = append(a.templates, f.Template)
	case coupon.RecountTemplate:
		a.templates, a.recounts = append(a.templates, f.Template), append(a.recounts, f.Template)
	case coupon.DefinePolicy:
		a.policies = append(a.policies, f.Policy.Version)
	default:
		return false
	}
	return true
}

func (a *asked) issues(template, owner string) {
	a.templates = append(a.templates, template)
	if owner != "" {
		a.uses = append(a.uses, usesKey{template, owner})
	}
}

func (a *asked) defines(template string, terms coupon.Terms) {
	a.templates = append(a.templates, template)
	if terms.UsesPerPerson != coupon.NoLimit {
		a.perPerson = append(a.perPerson, template)
	}
	a.policies = append(a.policies, cmp.Or(terms.PolicyVersion, policy.DefaultVersion))
}

// distinct sorts, by byte as the database does, and drops repetitions.
func distinct(ids []string) []string {
	slices.Sort(ids)
	return slices.Compact(ids)
}

// window is the days whose messages have an inbox row.
type window struct{ first, last time.Time }

func (s *Store) windowAt(now time.Time) window {
	today := dayOf(now)
	return window{today.AddDate(0, 0, -s.options.InboxRetention), today.AddDate(0, 0, inboxDaysAhead)}
}

func (w window) holds(at time.Time) bool {
	day := dayOf(at)
	return !day.Before(w.first) && !day.After(w.last)
}

// dayOf gives the midnight, in UTC, at which the day of a time began.
func dayOf(at time.Time) time.Time {
	year, month, day := at.UTC().Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// probes gives the inbox rows to look for.
func (w window) probes(messages []message) (days dates, ids texts) {
	for _, m := range messages {
		if w.holds(m.at) {
			days = append(days, dayOf(m.at))
			ids = append(ids, m.id)
		}
	}
	return days, ids
}
