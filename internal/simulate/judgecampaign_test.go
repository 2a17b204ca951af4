package simulate

import (
	"fmt"

	"couponlease/internal/coupon"
)

// rations is what the judge of campaigns has counted itself: coupons issued by claims and
// batches, by template, and claims by template and person.
type rations struct {
	issued map[string]int64
	claims map[usesKey]int64
}

// campaign judges what is about a template rather than a coupon; false for everything else.
func (j *judge) campaign(r *coupon.Request, outcome *coupon.Outcome, changes *coupon.Changes) (bool, error) {
	var err error
	switch f := r.Fact.(type) {
	case coupon.ClaimCoupon:
		err = j.claim(f, outcome, changes)
	case coupon.IssueCoupons:
		if err = onlyIssues(changes, len(changes.Operations)); err == nil && len(changes.Claims) > 0 {
			err = fmt.Errorf("a batch counted claims: %+v", changes.Claims[0])
		}
	case coupon.CreateTemplate:
		err = oneTemplate(outcome, changes)
	case coupon.EditTemplate:
		err = oneTemplate(outcome, changes)
	default:
		return false, nil
	}
	if err == nil && outcome.Status != coupon.Applied {
		err = nothing(withoutNews(changes))
	}
	return true, err
}

// claim: one coupon for one person within the limits, counted once, or word of why not.
func (j *judge) claim(f coupon.ClaimCoupon, outcome *coupon.Outcome, changes *coupon.Changes) error {
	told := map[coupon.EventKind]int{}
	for _, event := range changes.Events {
		told[event.Kind]++
	}
	news := 0
	for _, change := range changes.Templates {
		if change.Row.ToldSoldOut != change.Base.ToldSoldOut {
			news++
		}
	}
	switch {
	case told[coupon.EventSoldOut] != news:
		return fmt.Errorf("told to be sold out %d times: %+v", told[coupon.EventSoldOut], changes.Templates)
	case outcome.Status != coupon.Applied && told[coupon.EventIssued] > 0,
		outcome.Status == coupon.Applied && told[coupon.EventClaimRejected] > 0:
		return fmt.Errorf("answered %s, told %v", outcome.Status, told)
	case outcome.Status != coupon.Applied:
		return onlyIssues(changes, 0)
	}
	if err := onlyIssues(changes, 1); err != nil {
		return err
	}
	t, c := changes.Templates[0].Row, changes.Coupons[0].Row
	counted := j.rations.claims[usesKey{t.ID, c.Owner}]
	switch {
	case c.Owner != f.Person || c.Batch != f.Batch || c.Template != f.Template || c.Origin != coupon.OriginClaim:
		return fmt.Errorf("%+v got %+v", f, c)
	case t.Total != coupon.NoLimit && j.rations.issued[t.ID] >= t.Total:
		return fmt.Errorf("issued %s beyond %d", c.ID, t.Total)
	case t.PerPerson != coupon.NoLimit && counted >= t.PerPerson:
		return fmt.Errorf("%s has claimed %d of %d", c.Owner, counted, t.PerPerson)
	case (c.Owner != "") != (len(changes.Claims) == 1):
		return fmt.Errorf("counted %d claims of %q", len(changes.Claims), c.Owner)
	}
	return nil
}

// count counts the coupons that a step issued.
func (j *judge) count(changes *coupon.Changes) {
	for _, change := range changes.Coupons {
		c := change.Row
		if change.Base > 0 || c.Origin == coupon.OriginImport {
			continue
		}
		j.rations.issued[c.Template]++
		if c.Origin == coupon.OriginClaim {
			j.rations.claims[usesKey{c.Template, c.Owner}]++
		}
	}
}

func onlyIssues(changes *coupon.Changes, n int) error {
	if len(changes.Operations) != n || len(changes.Coupons) != n || n > 0 && len(changes.Templates) != 1 {
		return fmt.Errorf("it did %d operations on %d coupons, want %d: %+v", len(changes.Operations), len(changes.Coupons),
			n, changes)
	}
	for _, row := range changes.Operations {
		if row.Operation != coupon.Issue {
			return fmt.Errorf("it did %+v", row)
		}
	}
	return nil
}

// oneTemplate: a template and its version, or nothing.
func oneTemplate(outcome *coupon.Outcome, changes *coupon.Changes) error {
	want := 0
	if outcome.Status == coupon.Applied {
		want = 1
	}
	if len(changes.Operations) > 0 || len(changes.Templates) != want || len(changes.Versions) != want {
		return fmt.Errorf("answered %s, and changed %+v", outcome.Status, changes)
	}
	if want == 1 && changes.Templates[0].Row.Version != outcome.Answer.Version {
		return fmt.Errorf("answered version %d of %+v", outcome.Answer.Version, changes.Templates[0].Row)
	}
	return nil
}

// withoutNews leaves out that a claim was rejected, and that there is nothing left.
func withoutNews(changes *coupon.Changes) *coupon.Changes {
	rest := *changes
	rest.Events, rest.Templates = nil, nil
	for _, event := range changes.Events {
		if event.Kind != coupon.EventClaimRejected && event.Kind != coupon.EventSoldOut {
			rest.Events = append(rest.Events, event)
		}
	}
	for _, change := range changes.Templates {
		before, after := *change.Base, *change.Row
		before.ToldSoldOut = after.ToldSoldOut
		if before != after {
			rest.Templates = append(rest.Templates, change)
		}
	}
	return &rest
}

// toldOf compares the answer to a claim with the coupon that it names.
func (j *judge) toldOf(f coupon.ClaimCoupon, outcome *coupon.Outcome) error {
	switch outcome.Status {
	case coupon.Applied:
		return j.tellsRow(outcome.Answer)
	case coupon.Refused:
		return nil
	}
	c := j.ledger.coupons[outcome.Answer.Coupon]
	if c == nil || c.Owner != f.Person || c.Batch != f.Batch || c.Template != f.Template {
		return fmt.Errorf("%+v has %+v already", f, c)
	}
	return nil
}
