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
	w.issue(t, &Coupon{
		Code: f.Code, Template: t.ID, Owner: f.Owner, Batch: f.Batch, Origin: OriginImport,
		ValidFrom: f.ValidFrom, ValidUntil: f.ValidUntil,
	})
	return Outcome{Status: Applied, Code: Created}
}

// issue brings a coupon into being: its code, template, owner, batch, origin and number
// are given, and a validity of its own if it has one.
func (w *World) issue(t *Template, c *Coupon) *OperationRow {
	c.ID, c.PolicyVersion, c.TemplateVersion = Fold(c.Code), t.PolicyVersion, t.Version
	if c.ValidFrom.IsZero() {
		c.ValidFrom = t.ValidFrom
	}
	if c.ValidUntil.IsZero() {
		c.ValidUntil = w.validUntil(t)
	}
	w.coupons[c.ID] = c
	op := w.apply(c, Available, OperationRow{Operation: Issue, Reason: c.Batch, BusinessKey: "issue"})
	if c.Origin == OriginImport {
		t.Imported++
	} else {
		t.Issued++
		if c.ClaimNo > 0 {
			w.inBatch[batchKey{t.ID, c.Owner, c.Batch}] = c.ID
		}
		defer w.tellSoldOut(t) // after the coupon itself
	}
	w.dirtyTemplates[t.ID] = true
	event := w.announce(EventIssued, c, op)
	event.Customer, event.TemplateVersion = c.Owner, t.Version
	if t.Discount.Kind != "" {
		discount := t.Discount
		event.Discount = &discount
	}
	return op
}

// validUntil is the end of validity of a coupon issued now: the template's, or so many
// days from now in the template's zone if that is earlier.
func (w *World) validUntil(t *Template) time.Time {
	if t.ValidDays == 0 {
		return t.ValidUntil
	}
	end := w.Now.In(w.zone(t)).AddDate(0, 0, t.ValidDays).UTC()
	if !t.ValidUntil.IsZero() && t.ValidUntil.Before(end) {
		return t.ValidUntil
	}
	return end
}

// IssueCoupons asks to put coupons into wallets: all of them, or none when they are more
// than the campaign has left. It is an operator's will, so the limits of claims by persons
// do not concern it.
type IssueCoupons struct {
	Template, Batch string
	Items           []IssueItem
}

// IssueItem is one coupon to issue. With a Code, the coupon has that code, and one that
// exists is left alone. Without, a code is made, for which batch and person have to be
// named. A person who has a coupon of the batch gets no other.
type IssueItem struct {
	Code, Person          string
	ValidFrom, ValidUntil time.Time
}

// coded says whether the coupon has its code already; a blank one is none.
func (i *IssueItem) coded() bool { return Fold(i.Code) != "" }

func (IssueCoupons) Orders() []string { return nil }
func (f IssueCoupons) Coupons() []string {
	ids := make([]string, len(f.Items))
	for i := range f.Items {
		ids[i] = Fold(f.Items[i].Code)
	}
	return present(ids...)
}
func (IssueCoupons) kind() string { return "IssueCoupons" }

// several says whether a command is about no coupon in particular, even if it names one.
func several(f Command) bool {
	_, batch := f.(IssueCoupons)
	return batch
}

// Issued is the answer to a batch, such as "ISSUED:200,SKIPPED:0".
func Issued(issued, skipped int) Code {
	return Code(fmt.Sprintf("ISSUED:%d,SKIPPED:%d", issued, skipped))
}

func (f IssueCoupons) carryOut(w *World, a *Answer, _ Fields) {
	t := w.templates[f.Template]
	switch {
	case t == nil:
		a.refuse(UnknownTemplate)
		return
	case t.Status == TemplateDown:
		a.refuse(TemplateOffline)
		return
	case !t.ValidUntil.IsZero() && !w.Now.Before(t.ValidUntil):
		a.refuse(ExpiredState)
		return
	}
	for _, item := range f.Items {
		if !item.coded() && f.Batch == "" {
			a.refuse(BatchRequired)
			return
		}
		if !item.coded() && item.Person == "" {
			a.refuse(IdentityRequired)
			return
		}
	}
	fresh := f.fresh(w)
	if t.Total != NoLimit && int64(len(fresh)) > t.Total-t.Issued {
		a.refuse(QuotaExhausted)
		return
	}
	for _, item := range fresh {
		c := &Coupon{
			Code: item.Code, Template: t.ID, Owner: item.Person, Batch: f.Batch, Origin: OriginBatch,
			ValidFrom: item.ValidFrom, ValidUntil: item.ValidUntil,
		}
		if !item.coded() {
			c.Code = w.Source.Code(t.ID, t.Issued+1)
		}
		if f.once(item) {
			c.ClaimNo = 1
		}
		w.issue(t, c)
	}
	a.Status, a.Code = Applied, Issued(len(fresh), len(f.Items)-len(fresh))
	if len(fresh) == 0 {
		a.Status = Unchanged
	}
}

// once says whether the person of an item gets one coupon of the batch and no other.
func (f IssueCoupons) once(item IssueItem) bool { return f.Batch != "" && item.Person != "" }

// fresh gives the items that are not there yet, each once.
func (f IssueCoupons) fresh(w *World) []IssueItem {
	codes, persons := map[string]bool{}, map[string]bool{}
	var fresh []IssueItem
	for _, item := range f.Items {
		id := Fold(item.Code)
		_, has := w.inBatch[batchKey{f.Template, item.Person, f.Batch}]
		switch {
		case item.coded() && (w.coupons[id] != nil || codes[id]):
			continue
		case f.once(item) && (has || persons[item.Person]):
			continue
		}
		codes[id], persons[item.Person] = true, true
		fresh = append(fresh, item)
	}
	return fresh
}

// defineTemplate creates a template once; a known one stays as it is.
func (w *World) defineTemplate(f DefineTemplate) Outcome {
	if w.templates[f.Template.ID] != nil {
		return Outcome{Status: Unchanged, Code: Skipped}
	}
	switch code, detail := w.create(f.Template); code {
	case OK:
		return Outcome{Status: Applied, Code: Created}
	case UnknownPolicy:
		return Outcome{Status: Dead, Code: UnknownPolicy, Detail: detail}
	default:
		return Outcome{Status: Dead, Code: InvalidTerms, Detail: detail}
	}
}

// create brings a template into being, or says why not.
func (w *World) create(t Template) (Code, string) {
	t.Version = cmp.Or(t.Version, 1)
	t.Terms = t.Terms.withDefaults()
	if code, detail := w.refuseTerms(t.Terms); code != "" {
		return code, detail
	}
	t.Held, t.Issued, t.Imported, t.HeldMost, t.ToldSoldOut = 0, 0, 0, 0, 0
	t.Generation, t.UsesMost = 1, t.UsesPerPerson
	w.templates[t.ID] = &t
	w.noteVersion(&t)
	return OK, ""
}

func (t Terms) withDefaults() Terms {
	t.Status = cmp.Or(t.Status, TemplateActive)
	t.PolicyVersion = cmp.Or(t.PolicyVersion, policy.DefaultVersion)
	return t.kept()
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
