package coupon

import "time"

// ClaimCoupon asks for a coupon out of a campaign. With a Batch a person gets one of the
// batch, however often it asks; without one, as many as the limits allow.
type ClaimCoupon struct {
	Template, Batch string
	// Person is who asks; "" is nobody known.
	Person string
}

func (ClaimCoupon) Orders() []string  { return nil }
func (ClaimCoupon) Coupons() []string { return nil }
func (ClaimCoupon) kind() string      { return "ClaimCoupon" }

// ClaimPrecedence is the order in which the refusals of a claim are tried; the first that
// holds is the answer.
func ClaimPrecedence() []Code {
	return []Code{
		IdempotencyMismatch, Duplicate, UnknownTemplate, TemplateOffline, TemplateIsPaused, NotStarted, ExpiredState,
		IdentityRequired, QuotaExhausted, LimitReached, DailyLimitReached,
	}
}

func (f ClaimCoupon) carryOut(w *World, a *Answer, _ Fields) {
	t := w.templates[f.Template]
	if t != nil && f.Batch != "" && f.Person != "" {
		if id, has := w.inBatch[batchKey{t.ID, f.Person, f.Batch}]; has {
			a.Status, a.Code, a.Coupon = Unchanged, Duplicate, id
			return
		}
	}
	if code := w.refuseClaim(t, f.Person); code != "" {
		a.refuse(code)
		event := w.event(EventClaimRejected, nil, "")
		event.Template, event.Batch, event.Customer, event.Refused = f.Template, f.Batch, f.Person, code
		if code == QuotaExhausted {
			w.tellSoldOut(t)
		}
		return
	}
	c := &Coupon{Template: t.ID, Owner: f.Person, Batch: f.Batch, Origin: OriginClaim}
	c.Code = w.Source.Code(t.ID, t.Issued+1)
	if f.Person != "" {
		c.ClaimNo = w.countClaim(t, f.Person, f.Batch)
	}
	a.done(c, w.issue(t, c))
	a.Coupon = c.ID
}

// refuseClaim gives the first reason, in the order of ClaimPrecedence, why a person gets
// nothing; "" when it does.
func (w *World) refuseClaim(t *Template, person string) Code {
	switch {
	case t == nil:
		return UnknownTemplate
	case t.Status == TemplateDown:
		return TemplateOffline
	case t.Status == TemplatePaused:
		return TemplateIsPaused
	case !t.ValidFrom.IsZero() && w.Now.Before(t.ValidFrom):
		return NotStarted
	case !t.ValidUntil.IsZero() && !w.Now.Before(t.ValidUntil):
		return ExpiredState
	case person == "" && (t.PerPerson != NoLimit || t.PerDay != NoLimit || t.UsesPerPerson != NoLimit):
		return IdentityRequired
	case t.Total != NoLimit && t.Issued >= t.Total:
		return QuotaExhausted
	case person == "":
		return ""
	}
	had := w.claimsOf(t.ID, person)
	switch {
	case t.PerPerson != NoLimit && had.Count >= t.PerPerson:
		return LimitReached
	case t.PerDay != NoLimit && had.on(w.localDay(t)) >= t.PerDay:
		return DailyLimitReached
	default:
		return ""
	}
}

func (w *World) claimsOf(template, person string) *Claims {
	key := usesKey{template, person}
	if c := w.claims[key]; c != nil {
		return c
	}
	c := &Claims{Template: template, Person: person}
	w.claims[key] = c
	return c
}

// on gives how many were claimed on a local day. A day before the latest one counts as
// that: a clock, or a zone, that was set back does not open a day again.
func (c *Claims) on(day string) int64 {
	if day > c.Day {
		return 0
	}
	return c.OnDay
}

// countClaim counts one more claim and gives its number among the person's of the batch.
func (w *World) countClaim(t *Template, person, batch string) int64 {
	had, day := w.claimsOf(t.ID, person), w.localDay(t)
	had.OnDay = had.on(day) + 1
	had.Day = max(day, had.Day)
	had.Count++
	w.dirtyClaims[usesKey{t.ID, person}] = true
	n := w.numbersOf(t.ID, person)
	defer func() { n.claims++ }()
	if batch != "" {
		return 1
	}
	return n.next(had.Count)
}

// numbers are those that a person's claims of a template have: most is the highest without
// a batch, claims is how many claims there are, of batches as well.
type numbers struct{ most, claims int64 }

// next numbers a claim without a batch, which is counted already. It is the number that is
// counted. A counter that was wrong has left a gap, and once it is right, numbers go on
// behind that. One that was set back gives a number that is taken, which the books refuse.
func (n *numbers) next(counted int64) int64 {
	number := counted
	if n.most >= counted {
		number += max(0, n.most-n.claims)
	}
	n.most = max(n.most, number)
	return number
}

func (w *World) numbersOf(template, person string) *numbers {
	key := usesKey{template, person}
	if w.numbers[key] == nil {
		w.numbers[key] = &numbers{}
	}
	return w.numbers[key]
}

// zone is where the local days of a template count. Terms with a zone that nobody knows
// are refused, so one that was known once and no longer is counts as UTC.
func (w *World) zone(t *Template) *time.Location {
	if t.Zone != "" && w.Source.Zone != nil {
		if zone, err := w.Source.Zone(t.Zone); err == nil {
			return zone
		}
	}
	return time.UTC
}

func (w *World) localDay(t *Template) string { return w.Now.In(w.zone(t)).Format(time.DateOnly) }

// tellSoldOut announces, once for a generation, that nothing is left.
func (w *World) tellSoldOut(t *Template) {
	if t.Total == NoLimit || t.Issued < t.Total || t.ToldSoldOut == t.Generation {
		return
	}
	t.ToldSoldOut = t.Generation
	w.dirtyTemplates[t.ID] = true
	event := w.event(EventSoldOut, nil, "")
	event.Template, event.Total, event.Generation = t.ID, t.Total, t.Generation
}
