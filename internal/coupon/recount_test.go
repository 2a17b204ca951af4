package coupon_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
	"couponlease/internal/simulate"
)

// counted is a campaign with one person who holds 2 uses and has claimed 3 coupons, 2 of
// them today, and what a recount makes of it.
type counted struct {
	template coupon.Template
	wrong    coupon.Miscount
	uses     coupon.Uses
	claims   coupon.Claims
	numbers  [2]int64 // the highest, and how many

	outcome coupon.Outcome
	changes *coupon.Changes
}

func newCounted() *counted {
	terms := coupon.Unlimited()
	terms.Total, terms.Budget, terms.UsesPerPerson, terms.PerPerson = 10, 5, 3, 4
	return &counted{
		template: coupon.Template{
			ID: "T", Version: 4, Terms: terms, Issued: 7, Imported: 2, Held: 3, Generation: 6,
		},
		uses:   coupon.Uses{Template: "T", Person: "ann", Held: 2},
		claims: coupon.Claims{Template: "T", Person: "ann", Count: 3, Day: "2026-03-01", OnDay: 2},
	}
}

// run decides requests, the last of which is the recount.
func (c *counted) run(before ...coupon.Fact) {
	source := simulate.NewSource("s")
	w := coupon.NewWorld(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), coupon.DefaultRules(), source)
	w.AddTemplate(&c.template)
	w.AddUses(&c.uses)
	w.AddClaims(&c.claims)
	w.AddNumbers("T", "ann", c.numbers[0], c.numbers[1])
	w.AddMiscount("T", c.wrong)
	for _, fact := range before {
		coupon.Decide(w, &coupon.Request{Actor: "before", Fact: fact})
	}
	c.outcome = coupon.Decide(w, &coupon.Request{
		Key: "k", Actor: "op", Audit: &coupon.Audit{Reason: "because"}, Fact: coupon.RecountTemplate{Template: "T"},
	})
	c.changes = w.Seal()
}

func (c *counted) corrections(t *testing.T) []coupon.Correction {
	t.Helper()
	if len(c.changes.Audits) != 1 {
		t.Fatalf("%d rows in the audit log", len(c.changes.Audits))
	}
	row := c.changes.Audits[0]
	if row.Actor != "op" || row.Reason != "because" || row.Subject != "T" || row.Action != "RecountTemplate" {
		t.Errorf("audited as %+v", row)
	}
	return row.Corrections
}

// TestEachCounterIsSetToTheTruth: one wrong counter at a time, with its evidence.
func TestEachCounterIsSetToTheTruth(t *testing.T) {
	sum := sha256.Sum256([]byte("ann"))
	ann := hex.EncodeToString(sum[:8])
	right := newCounted()
	for name, test := range map[string]struct {
		plant func(*counted)
		want  coupon.Correction
	}{
		"issued": {func(c *counted) {
			c.template.Issued, c.wrong.Issued = 9, -2
		}, coupon.Correction{Counter: coupon.CounterIssued, Before: 9, After: 7}},
		"imported": {func(c *counted) {
			c.template.Imported, c.wrong.Imported = 0, 2
		}, coupon.Correction{Counter: coupon.CounterImported, After: 2}},
		"held": {func(c *counted) {
			c.template.Held, c.wrong.Held = 5, -2
		}, coupon.Correction{Counter: coupon.CounterHeld, Before: 5, After: 3}},
		"held by a person": {func(c *counted) {
			c.uses.Held, c.wrong.Uses = 1, map[string]int64{"ann": 1}
		}, coupon.Correction{Counter: coupon.CounterPersonHeld, Person: ann, Before: 1, After: 2}},
		"claimed by a person": {func(c *counted) {
			c.claims.Count, c.wrong.Claims = 4, map[string]int64{"ann": -1}
		}, coupon.Correction{Counter: coupon.CounterPersonClaimed, Person: ann, Before: 4, After: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCounted()
			test.plant(c)
			c.run()
			if c.outcome.Code != coupon.Recounted || c.outcome.Status != coupon.Applied {
				t.Errorf("answered %+v", c.outcome)
			}
			if diff := cmp.Diff([]coupon.Correction{test.want}, c.corrections(t)); diff != "" {
				t.Errorf("corrections (-want +got):\n%s", diff)
			}
			if len(c.changes.Templates) != 1 {
				t.Fatalf("%d templates are written", len(c.changes.Templates))
			}
			want := right.template
			want.Generation = c.template.Generation
			if diff := cmp.Diff(want, *c.changes.Templates[0].Row); diff != "" {
				t.Errorf("the template (-want +got):\n%s", diff)
			}
			if c.uses != right.uses || c.claims != right.claims {
				t.Errorf("the person is counted as %+v and %+v", c.uses, c.claims)
			}
			renewed := name == "issued" || name == "claimed by a person"
			if got := c.template.Generation == 7; got != renewed {
				t.Errorf("the pool has to take a new stock: %t, want %t", got, renewed)
			}
		})
	}
}

// TestRecountRefusesAndKeeps: what it leaves alone.
func TestRecountRefusesAndKeeps(t *testing.T) {
	for name, test := range map[string]struct {
		plant func(*counted)
		want  coupon.Code
	}{
		"nothing is wrong":      {func(*counted) {}, coupon.Noop},
		"more than the total":   {func(c *counted) { c.wrong.Issued = 4 }, coupon.BelowIssued},
		"less than nothing":     {func(c *counted) { c.wrong.Held = -4 }, coupon.NotCounted},
		"no budget":             {func(c *counted) { c.template.Budget, c.wrong.Held = coupon.NoLimit, 1 }, coupon.Noop},
		"persons without limit": {func(c *counted) { c.template.UsesPerPerson, c.wrong.Uses = -1, map[string]int64{"ann": 7} }, coupon.Noop},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCounted()
			test.plant(c)
			c.run()
			if c.outcome.Code != test.want || len(c.corrections(t)) != 0 {
				t.Errorf("answered %+v, want %s; corrected %+v", c.outcome, test.want, c.corrections(t))
			}
			if len(c.changes.Templates)+len(c.changes.Uses)+len(c.changes.Claims) != 0 {
				t.Errorf("written: %+v", c.changes)
			}
		})
	}
	c := newCounted()
	c.template = coupon.Template{ID: "another"}
	c.run()
	if c.outcome.Code != coupon.UnknownTemplate {
		t.Errorf("an unknown template: %+v", c.outcome)
	}
}

// TestRecountKeepsWhatIsCountedMeanwhile: what is wrong stays wrong, and is corrected once.
func TestRecountKeepsWhatIsCountedMeanwhile(t *testing.T) {
	c := newCounted()
	c.template.Issued, c.template.Imported, c.claims.Count = 8, 1, 2
	c.wrong = coupon.Miscount{Issued: -1, Imported: 1, Claims: map[string]int64{"ann": 1}}
	c.run(coupon.ClaimCoupon{Template: "T", Person: "ann"}, coupon.ImportCoupon{Code: "old", Template: "T"},
		coupon.RecountTemplate{Template: "T"})
	if c.outcome.Code != coupon.Noop {
		t.Errorf("counted again: %+v", c.outcome)
	}
	if c.template.Issued != 8 || c.template.Imported != 3 || c.claims.Count != 4 || c.claims.OnDay != 3 {
		t.Errorf("counted %+v and %+v", c.template, c.claims)
	}
}

// TestRecountBoundsTheDay: of one day nobody has more than in all; and what was sold out
// and still is, is not told again.
func TestRecountBoundsTheDay(t *testing.T) {
	c := newCounted()
	c.wrong = coupon.Miscount{Issued: 1, Claims: map[string]int64{"ann": -2}}
	c.template.Issued, c.template.ToldSoldOut = 9, 6
	c.run()
	if len(c.changes.Events) != 0 {
		t.Errorf("told %+v", c.changes.Events)
	}
	if c.claims.Count != 1 || c.claims.OnDay != 1 || c.claims.Day != "2026-03-01" {
		t.Errorf("the claims are %+v", c.claims)
	}
	if c.template.Generation != 7 || c.template.ToldSoldOut != 7 {
		t.Errorf("the template is %+v", c.template)
	}
}

// TestRecountTellsWhatItFindsSoldOut: once, of the new generation.
func TestRecountTellsWhatItFindsSoldOut(t *testing.T) {
	for name, test := range map[string]struct {
		issued, told int64
		want         bool
	}{
		"some are left":                  {2, 0, false},
		"nothing is left":                {3, 0, true},
		"nothing is left, as long known": {3, 6, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCounted()
			c.wrong.Issued, c.template.ToldSoldOut = test.issued, test.told
			c.run()
			told := len(c.changes.Events) == 1 && c.changes.Events[0].Kind == coupon.EventSoldOut &&
				c.changes.Events[0].Generation == 7 && c.template.ToldSoldOut == 7
			if told != test.want || !told && len(c.changes.Events) != 0 {
				t.Errorf("told %+v of %+v", c.changes.Events, c.template)
			}
		})
	}
}

// TestClaimsAreNumberedBehindThoseThatThereAre: by the counter, behind a gap that a wrong one
// has left, and with a number that is taken if it was set back.
func TestClaimsAreNumberedBehindThoseThatThereAre(t *testing.T) {
	for name, test := range map[string]struct{ counted, most, claims, want int64 }{
		"the first":                      {0, 0, 0, 1},
		"the next":                       {3, 3, 3, 4},
		"after some of batches":          {3, 1, 3, 4},
		"a counter that is too high":     {7, 3, 7, 8},
		"one that was too high":          {4, 8, 4, 9},
		"one that was, with a batch":     {5, 8, 5, 9},
		"too high again, beyond the gap": {9, 8, 9, 10},
		"set back":                       {1, 3, 3, 2},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCounted()
			c.template.PerPerson = coupon.NoLimit
			c.claims.Count = test.counted
			c.numbers = [2]int64{test.most, test.claims}
			c.run(coupon.ClaimCoupon{Template: "T", Person: "ann"})
			if no := c.changes.Coupons[0].Row.ClaimNo; no != test.want {
				t.Errorf("it has number %d, want %d", no, test.want)
			}
		})
	}
}
