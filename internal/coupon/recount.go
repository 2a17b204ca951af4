package coupon

import (
	"maps"
	"slices"
)

// RecountTemplate asks to set the counters of a template to what its coupons say. Nothing
// that is counted moves meanwhile: whoever issues from the template, or leases a coupon
// of it whose uses are limited, waits for its row.
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

// miscount is how far the counters of a template are behind what its coupons say.
type miscount struct {
	issued, imported, held int64
	// uses and claims are those of persons, without those that are right.
	uses, claims map[string]int64
}

func (m *miscount) nothing() bool {
	return m.issued == 0 && m.imported == 0 && m.held == 0 && len(m.uses) == 0 && len(m.claims) == 0
}

// AddTruth hands over what the coupons of a template say about its counters, for
// RecountTemplate. The counters were handed over before, as they were at the same moment:
// what requests of the same transaction count before it is decided is kept. Persons that
// the truth does not name are counted right.
func (w *World) AddTruth(template string, truth Usage) {
	t := w.templates[template]
	if t == nil {
		return
	}
	m := &miscount{issued: truth.Issued - t.Issued, imported: truth.Imported - t.Imported}
	if t.Budget != NoLimit {
		m.held = truth.Held - t.Held
	}
	if t.UsesPerPerson != NoLimit {
		m.uses = behind(truth.Persons, func(person string) int64 { return w.usesOf(t.ID, person).Held })
	}
	m.claims = behind(truth.Claimed, func(person string) int64 { return w.claimsOf(t.ID, person).Count })
	w.miscounts[t.ID] = m
}

// behind gives how far counters are behind what is actually so, where they are.
func behind(actual map[string]int64, counted func(person string) int64) map[string]int64 {
	all := map[string]int64{}
	for person, is := range actual {
		if n := is - counted(person); n != 0 {
			all[person] = n
		}
	}
	return all
}

func (f RecountTemplate) carryOut(w *World, a *Answer, _ Fields) {
	t := w.templates[f.Template]
	if t == nil {
		a.refuse(UnknownTemplate)
		return
	}
	a.Version = t.Version
	m := w.miscounts[t.ID]
	switch {
	case m == nil || m.nothing(): // a template without a truth was made just now
		a.Status, a.Code = Unchanged, Noop
		return
	case t.Total != NoLimit && t.Issued+m.issued > t.Total:
		a.refuse(BelowIssued) // more was issued than may be, and no counter can say so
		return
	case t.Held+m.held < 0:
		a.refuse(NotCounted) // the ledger gives back more than it took
		return
	}
	delete(w.miscounts, t.ID)
	w.recount(t, m)
	a.Status, a.Code = Applied, Recounted
}

// recount corrects the counters. A limit that is exceeded stays so, and nobody gets more
// until it is not.
func (w *World) recount(t *Template, m *miscount) {
	correct := func(name, person string, counter *int64, by int64) {
		if by == 0 {
			return
		}
		c := Correction{Counter: name, Before: *counter, After: *counter + by}
		if person != "" {
			c.Person = pseudonym(person)
		}
		*counter += by
		w.corrections = append(w.corrections, c)
	}
	correct(CounterIssued, "", &t.Issued, m.issued)
	correct(CounterImported, "", &t.Imported, m.imported)
	correct(CounterHeld, "", &t.Held, m.held)
	for _, person := range slices.Sorted(maps.Keys(m.uses)) {
		correct(CounterPersonHeld, person, &w.usesOf(t.ID, person).Held, m.uses[person])
		w.dirtyUses[usesKey{t.ID, person}] = true
	}
	for _, person := range slices.Sorted(maps.Keys(m.claims)) {
		had := w.claimsOf(t.ID, person)
		correct(CounterPersonClaimed, person, &had.Count, m.claims[person])
		had.OnDay = min(had.OnDay, had.Count)
		w.dirtyClaims[usesKey{t.ID, person}] = true
	}
	if t.Rationed() && (m.issued != 0 || len(m.claims) > 0) {
		if t.ToldSoldOut == t.Generation && t.Issued >= t.Total {
			t.ToldSoldOut++ // nothing new is to be told
		}
		t.Generation++ // the pool was filled by the wrong counters
	}
	w.dirtyTemplates[t.ID] = true
}
