package coupon

import (
	"maps"
	"slices"
)

// RecountTemplate asks to set the counters of a template to what its coupons say.
type RecountTemplate struct{ Template string }

func (RecountTemplate) Orders() []string  { return nil }
func (RecountTemplate) Coupons() []string { return nil }
func (RecountTemplate) kind() string      { return "RecountTemplate" }

// The counters of a template, as corrections name them.
const (
	CounterIssued   = "issued"
	CounterImported = "imported"
	CounterHeld     = "held"
	// CounterPersonHeld and CounterPersonClaimed are those of one person.
	CounterPersonHeld    = "held by a person"
	CounterPersonClaimed = "claimed by a person"
)

// Correction is the evidence of one counter that was set to what it counts.
type Correction struct {
	Counter string `json:"counter"`
	// Person is, of a person's counter, the beginning of the SHA-256 of its id, in hex.
	Person string `json:"person,omitempty"`
	Before int64  `json:"before"`
	After  int64  `json:"after"`
}

// Miscount is by how much the counters of a template are too low (or, below zero, too high)
// for what its coupons say. Whatever is done to coupons changes both alike, so that it stays
// true until somebody corrects the counters, or goes around the engine again.
type Miscount struct {
	Issued, Imported, Held int64
	// Uses and Claims are those of persons, without those that are right.
	Uses, Claims map[string]int64
}

// within leaves out what the template does not count.
func (m Miscount) within(t *Template) Miscount {
	if t.Budget == NoLimit {
		m.Held = 0
	}
	if t.UsesPerPerson == NoLimit {
		m.Uses = nil
	}
	return m
}

func (m Miscount) nothing() bool {
	return m.Issued == 0 && m.Imported == 0 && m.Held == 0 && len(m.Uses) == 0 && len(m.Claims) == 0
}

// AddMiscount hands over how far the counters of a template are wrong, for RecountTemplate,
// together with the counters themselves.
func (w *World) AddMiscount(template string, m Miscount) { w.miscounts[template] = m }

func (f RecountTemplate) carryOut(w *World, a *Answer, _ Fields) {
	t := w.templates[f.Template]
	if t == nil {
		a.refuse(UnknownTemplate)
		return
	}
	a.Version = t.Version
	m := w.miscounts[t.ID].within(t)
	switch {
	case m.nothing():
		a.Status, a.Code = Unchanged, Noop
		return
	case t.Total != NoLimit && t.Issued+m.Issued > t.Total:
		a.refuse(BelowIssued) // more was issued than may be, and no counter can say so
		return
	case t.Held+m.Held < 0:
		a.refuse(NotCounted) // the ledger gives back more than it took
		return
	}
	delete(w.miscounts, t.ID)
	w.recount(t, m)
	a.Status, a.Code = Applied, Recounted
}

// recount corrects the counters. A limit that is exceeded stays so, and nobody gets more
// until it is not.
func (w *World) recount(t *Template, m Miscount) {
	correct := func(name, person string, counter *int64, by int64) {
		if by == 0 {
			return
		}
		c := Correction{Counter: name, Before: *counter, After: *counter + by}
		if person != "" {
			c.Person = HashPerson(person)
		}
		*counter += by
		w.corrections = append(w.corrections, c)
	}
	correct(CounterIssued, "", &t.Issued, m.Issued)
	correct(CounterImported, "", &t.Imported, m.Imported)
	correct(CounterHeld, "", &t.Held, m.Held)
	for _, person := range slices.Sorted(maps.Keys(m.Uses)) {
		correct(CounterPersonHeld, person, &w.usesOf(t.ID, person).Held, m.Uses[person])
		w.dirtyUses[usesKey{t.ID, person}] = true
	}
	for _, person := range slices.Sorted(maps.Keys(m.Claims)) {
		had := w.claimsOf(t.ID, person)
		correct(CounterPersonClaimed, person, &had.Count, m.Claims[person])
		had.OnDay = min(had.OnDay, had.Count)
		w.numbersOf(t.ID, person).claims = had.Count
		w.dirtyClaims[usesKey{t.ID, person}] = true
	}
	if t.Rationed() && (m.Issued != 0 || len(m.Claims) > 0) {
		if t.ToldSoldOut == t.Generation && t.Issued >= t.Total {
			t.ToldSoldOut++ // nothing new is to be told
		}
		t.Generation++ // the pool was filled by the wrong counters
		w.tellSoldOut(t)
	}
	w.dirtyTemplates[t.ID] = true
}
