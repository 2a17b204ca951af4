package coupon

import (
	"cmp"
	"fmt"
	"time"

	"couponlease/internal/policy"
)

// importCoupon makes an existing code a coupon. A code that is blank, or known in
// whatever letter case and state, is left alone: an import never revives one.
func (w *World) importCoupon(f ImportCoupon) Outcome {
	id := Fold(f.Code)
	if id == "" || w.coupons[id] != nil {
		return Outcome{Status: Unchanged, Code: Skipped}
	}
	t := w.templates[f.Template]
	if t == nil {
		return Outcome{Status: Dead, Code: UnknownTemplate,
			Detail: fmt.Sprintf("template %q is not defined", f.Template)}
	}
	c := &Coupon{
		ID: id, Code: f.Code, Template: t.ID, Owner: f.Owner, Batch: f.Batch,
		ValidFrom: f.ValidFrom, ValidUntil: w.validUntil(f, t), PolicyVersion: t.PolicyVersion,
	}
	w.coupons[id] = c
	op := w.apply(c, Available, OperationRow{Operation: Issue, Reason: f.Batch, BusinessKey: "issue"})
	t.Issued++
	w.dirtyTemplates[t.ID] = true
	w.announce(EventIssued, c, op)
	return Outcome{Status: Applied, Code: Created}
}

// validUntil is the end of validity: the code's own, or the template's, or so
// many days after the issue if that is earlier.
func (w *World) validUntil(f ImportCoupon, t *Template) time.Time {
	if !f.ValidUntil.IsZero() {
		return f.ValidUntil
	}
	if t.ValidDays == 0 {
		return t.ValidUntil
	}
	end := w.Now.AddDate(0, 0, t.ValidDays)
	if !t.ValidUntil.IsZero() && t.ValidUntil.Before(end) {
		return t.ValidUntil
	}
	return end
}

// defineTemplate creates a template once; a known one stays as it is.
func (w *World) defineTemplate(f DefineTemplate) Outcome {
	if w.templates[f.Template.ID] != nil {
		return Outcome{Status: Unchanged, Code: Skipped}
	}
	t := f.Template
	t.Version = cmp.Or(t.Version, 1)
	t.Status = cmp.Or(t.Status, TemplateActive)
	t.PolicyVersion = cmp.Or(t.PolicyVersion, policy.DefaultVersion)
	if _, known := w.policies[t.PolicyVersion]; !known {
		return Outcome{Status: Dead, Code: UnknownPolicy,
			Detail: fmt.Sprintf("return policy %d is not defined", t.PolicyVersion)}
	}
	t.Held, t.Issued = 0, 0
	w.templates[t.ID] = &t
	w.dirtyTemplates[t.ID] = true
	return Outcome{Status: Applied, Code: Created}
}

// definePolicy creates an immutable policy version once.
func (w *World) definePolicy(f DefinePolicy) Outcome {
	if _, known := w.policies[f.Policy.Version]; known {
		return Outcome{Status: Unchanged, Code: Skipped}
	}
	w.policies[f.Policy.Version] = f.Policy
	w.newPolicies = append(w.newPolicies, f.Policy)
	return Outcome{Status: Applied, Code: Created}
}
