package coupon

import (
	"fmt"
	"time"
)

// CreateTemplate asks for a new template. One that exists with the same terms is left
// alone.
type CreateTemplate struct {
	Template string
	Terms    Terms
}

// EditTemplate asks to change terms of a template; what Set does not name stays as it is.
type EditTemplate struct {
	Template string
	// ExpectedVersion refuses the edit if the template has another; 0 is any.
	ExpectedVersion int64
	Set             TermsEdit
}

// TermsEdit names the terms to change; nil leaves one as it is.
type TermsEdit struct {
	Name                  *string
	Discount              *Discount
	Status                *TemplateStatus
	Total                 *int64
	PerPerson, PerDay     *int64
	Budget, UsesPerPerson *int64
	PolicyVersion         *int64
	ValidFrom, ValidUntil *time.Time
	ValidDays             *int
	Zone                  *string
	Transferable          *bool
}

func (CreateTemplate) Orders() []string  { return nil }
func (CreateTemplate) Coupons() []string { return nil }
func (CreateTemplate) kind() string      { return "CreateTemplate" }
func (EditTemplate) Orders() []string    { return nil }
func (EditTemplate) Coupons() []string   { return nil }
func (EditTemplate) kind() string        { return "EditTemplate" }

// With gives the terms as they are after the edit.
func (e TermsEdit) With(t Terms) Terms {
	set(&t.Name, e.Name)
	set(&t.Discount, e.Discount)
	set(&t.Status, e.Status)
	set(&t.Total, e.Total)
	set(&t.PerPerson, e.PerPerson)
	set(&t.PerDay, e.PerDay)
	set(&t.Budget, e.Budget)
	set(&t.UsesPerPerson, e.UsesPerPerson)
	set(&t.PolicyVersion, e.PolicyVersion)
	set(&t.ValidFrom, e.ValidFrom)
	set(&t.ValidUntil, e.ValidUntil)
	set(&t.ValidDays, e.ValidDays)
	set(&t.Zone, e.Zone)
	set(&t.Transferable, e.Transferable)
	return t
}

// kept gives the terms as they are kept: times have no nanoseconds and no zone.
func (t Terms) kept() Terms {
	t.ValidFrom = t.ValidFrom.UTC().Truncate(time.Microsecond)
	t.ValidUntil = t.ValidUntil.UTC().Truncate(time.Microsecond)
	return t
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// same says whether terms say the same; times are compared as instants.
func (t Terms) same(other Terms) bool {
	if !t.ValidFrom.Equal(other.ValidFrom) || !t.ValidUntil.Equal(other.ValidUntil) {
		return false
	}
	t.ValidFrom, t.ValidUntil = other.ValidFrom, other.ValidUntil
	return t == other
}

// Validate says what makes terms impossible, whatever the template.
func (t Terms) Validate() error {
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"total", t.Total}, {"per person", t.PerPerson}, {"per day", t.PerDay}, {"budget", t.Budget},
		{"uses per person", t.UsesPerPerson},
	} {
		if limit.value < NoLimit {
			return fmt.Errorf("%s is %d: want 0 or more, or %d for none", limit.name, limit.value, NoLimit)
		}
	}
	switch {
	case t.Status != TemplateActive && t.Status != TemplatePaused && t.Status != TemplateDown:
		return fmt.Errorf("status %q: want %s, %s or %s", t.Status, TemplateActive, TemplatePaused, TemplateDown)
	case t.ValidDays < 0 || t.ValidDays > maxValidDays:
		return fmt.Errorf("valid for %d days: want 0 to %d", t.ValidDays, maxValidDays)
	case !t.ValidFrom.IsZero() && !t.ValidUntil.IsZero() && !t.ValidFrom.Before(t.ValidUntil):
		return fmt.Errorf("valid from %s, which is not before the end %s",
			t.ValidFrom.UTC().Format(time.RFC3339), t.ValidUntil.UTC().Format(time.RFC3339))
	}
	return t.Discount.Validate()
}

// localZone is what Go calls the zone of whatever machine it runs on; no campaign counts
// its days there.
const localZone = "Local"

// maxValidDays bounds the validity of a coupon.
const maxValidDays = 36500

// Validate says what makes a discount impossible.
func (d Discount) Validate() error {
	const hundredPercent = 10_000
	switch {
	case d.Amount < 0 || d.MinSpend < 0:
		return fmt.Errorf("a discount has no sums below 0")
	case d.Kind == "" && d != (Discount{}):
		return fmt.Errorf("a discount needs a kind: %s, %s or %s", AmountOff, PercentOff, NoThreshold)
	case d.Kind == "":
		return nil
	case d.Kind != AmountOff && d.Kind != NoThreshold && d.Kind != PercentOff:
		return fmt.Errorf("a discount of kind %q: want %s, %s or %s", d.Kind, AmountOff, PercentOff, NoThreshold)
	case d.Kind == PercentOff && (d.BasisPoints < 1 || d.BasisPoints > hundredPercent || d.Amount != 0):
		return fmt.Errorf("%s needs basis points from 1 to %d, and no amount", PercentOff, hundredPercent)
	case (d.Amount == 0 && d.MinSpend == 0) != (d.Currency == ""), d.Currency != "" && len(d.Currency) != len("EUR"):
		return fmt.Errorf("sums need a currency, and a currency needs a sum")
	case d.Kind == AmountOff && (d.Amount == 0 || d.MinSpend == 0 || d.BasisPoints != 0):
		return fmt.Errorf("%s needs an amount and a least spend", AmountOff)
	case d.Kind == NoThreshold && (d.Amount == 0 || d.MinSpend != 0 || d.BasisPoints != 0):
		return fmt.Errorf("%s needs an amount and nothing else", NoThreshold)
	default:
		return nil
	}
}

// refuseTerms says why terms cannot hold; OK is "".
func (w *World) refuseTerms(t Terms) (Code, string) {
	if err := t.Validate(); err != nil {
		return InvalidTerms, err.Error()
	}
	if t.Zone != "" && w.Source.Zone != nil {
		if _, err := w.Source.Zone(t.Zone); err != nil || t.Zone == localZone {
			return InvalidTerms, fmt.Sprintf("time zone %q is not known", t.Zone)
		}
	}
	if _, known := w.policies[t.PolicyVersion]; !known {
		return UnknownPolicy, fmt.Sprintf("return policy %d is not defined", t.PolicyVersion)
	}
	return "", ""
}

func (f CreateTemplate) carryOut(w *World, a *Answer, _ Fields) {
	wanted := f.Terms.withDefaults()
	if t := w.templates[f.Template]; t != nil {
		if !t.Terms.same(wanted) {
			a.refuse(TemplateExists)
			return
		}
		a.Status, a.Code, a.Version = Unchanged, Noop, t.Version
		return
	}
	if code, _ := w.create(Template{ID: f.Template, Terms: wanted}); code != OK {
		a.refuse(code)
		return
	}
	a.Status, a.Code, a.Version = Applied, OK, 1
}

func (f EditTemplate) carryOut(w *World, a *Answer, _ Fields) {
	t := w.templates[f.Template]
	if t == nil {
		a.refuse(UnknownTemplate)
		return
	}
	a.Version = t.Version
	if f.ExpectedVersion != 0 && f.ExpectedVersion != t.Version {
		a.refuse(VersionConflict)
		return
	}
	wanted := f.Set.With(t.Terms).kept()
	if t.Terms.same(wanted) {
		a.Status, a.Code = Unchanged, Noop
		return
	}
	if code := w.refuseEdit(t, wanted); code != "" {
		a.refuse(code)
		return
	}
	restocked := wanted.Total != t.Total || wanted.PerPerson != t.PerPerson || wanted.PerDay != t.PerDay || wanted.Zone != t.Zone
	if restocked {
		t.Generation++ // the pool has to take a new stock
	}
	t.HeldMost, t.UsesMost = 0, max(t.UsesMost, wanted.UsesPerPerson)
	if wanted.Budget != NoLimit && t.Held > wanted.Budget {
		t.HeldMost = t.Held // the uses of today are honoured
	}
	t.Terms = wanted
	t.Version++
	w.noteVersion(t)
	a.Status, a.Code, a.Version = Applied, OK, t.Version
	if restocked {
		w.tellSoldOut(t)
	}
}

// refuseEdit says why terms cannot become others. A limit on uses that did not exist can
// only be introduced while there is no coupon, because nobody has counted so far.
func (w *World) refuseEdit(t *Template, wanted Terms) Code {
	if code, _ := w.refuseTerms(wanted); code != "" {
		return code
	}
	introduced := t.Budget == NoLimit && wanted.Budget != NoLimit ||
		t.UsesPerPerson == NoLimit && wanted.UsesPerPerson != NoLimit
	switch {
	case wanted.Total != NoLimit && wanted.Total < t.Issued:
		return BelowIssued
	case introduced && t.Issued+t.Imported > 0:
		return NotCounted
	default:
		return ""
	}
}

// Restock asks for a new generation of a template's stock, because the pool in front of the
// engine has to take another one. It is above Above, the one that the pool has.
type Restock struct {
	Template string
	Above    int64
}

func (Restock) Orders() []string  { return nil }
func (Restock) Coupons() []string { return nil }

func (w *World) restock(f Restock) Outcome {
	t := w.templates[f.Template]
	if t == nil {
		return Outcome{Status: Unchanged, Code: UnknownTemplate}
	}
	next := max(t.Generation, f.Above) + 1
	if t.ToldSoldOut == t.Generation {
		t.ToldSoldOut = next // another stock of the same campaign is no news to the world
	}
	t.Generation = next
	w.dirtyTemplates[t.ID] = true
	return Outcome{Status: Applied, Code: OK}
}

// noteVersion keeps what a template says from now on.
func (w *World) noteVersion(t *Template) {
	w.dirtyTemplates[t.ID] = true
	version := &TemplateVersion{Template: t.ID, Version: t.Version, Terms: t.Terms, At: w.Now}
	if w.request != nil {
		version.Actor, version.Cause = w.request.Actor, w.request.ID
	}
	w.changes.Versions = append(w.changes.Versions, version)
}
