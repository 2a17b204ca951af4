package coupon_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
	"couponlease/internal/simulate"
)

// TestCampaigns plays the tables of claims, batches and templates. Behind the first bar
// stand the answer, the template, what persons have claimed, the coupons made, and the
// events.
func TestCampaigns(t *testing.T) {
	playTables(t, "testdata/campaigns/*.txt", func(t *testing.T) scenery { return newFair(t) })
}

// fair is where campaigns are held: a memory ledger whose clock the steps set. The
// campaign is t, without limits unless said otherwise.
type fair struct {
	t       *testing.T
	where   string
	start   time.Time
	now     time.Time
	ledger  *simulate.Ledger
	steps   int
	opened  bool
	opening coupon.Terms
}

func newFair(t *testing.T) *fair {
	f := &fair{t: t, start: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), opening: coupon.Unlimited()}
	f.now = f.start
	f.ledger = simulate.NewLedger(func() time.Time { return f.now }, coupon.DefaultRules(), simulate.NewSource("s"))
	return f
}

func (f *fair) step(where string, words []string) []string {
	f.where = where
	if words[0] == "given" {
		f.given(words[1], words[2:])
		return nil
	}
	f.open()
	f.now = f.moment(words[0])
	answer, changes := f.perform(words[1], words[2:], read(words[2:]))
	broken, err := f.ledger.Violations(f.t.Context())
	if err != nil || len(broken) > 0 {
		f.t.Errorf("%s: %v %v", where, broken, err)
	}
	return append([]string{answer}, f.cells(changes)...)
}

func (f *fair) given(what string, words []string) {
	switch what {
	case "t": // TERMS
		f.opening = f.edit(read(words)).With(f.opening)
	case "import": // CODE PERSON
		f.open()
		f.send(coupon.Request{Fact: coupon.ImportCoupon{Code: words[0], Template: "t", Owner: words[1]}})
	case "policy": // VERSION
		rules := policy.Default()
		rules.Version = f.number(words[0])
		f.send(coupon.Request{Fact: coupon.DefinePolicy{Policy: rules}})
	default:
		f.t.Fatalf("%s: nothing known to be given", f.where)
	}
}

// open begins the campaign once all that is given about it is read.
func (f *fair) open() {
	if f.opened {
		return
	}
	f.opened = true
	outcome, _ := f.send(coupon.Request{Fact: coupon.DefineTemplate{Template: coupon.Template{ID: "t", Terms: f.opening}}})
	if outcome.Code != coupon.Created {
		f.t.Fatalf("%s: %+v", f.where, outcome)
	}
}

// perform does one step and gives the answer and what was written.
func (f *fair) perform(verb string, words []string, o settings) (string, *coupon.Changes) {
	if verb == "link" { // ALIAS PERSON
		if err := f.ledger.LinkPerson(f.t.Context(), spaced(words[0]), spaced(words[1]), "table"); err != nil {
			f.t.Fatalf("%s: %v", f.where, err)
		}
		return "-", &coupon.Changes{}
	}
	f.steps++
	request := coupon.Request{ID: fmt.Sprintf("m%d", f.steps), At: f.now, Actor: "table", Fact: f.fact(verb, words, o)}
	request.Hash = hashOf(request.Fact)
	if _, command := request.Fact.(coupon.Command); command {
		request.Key = o.or("key", request.ID)
	}
	outcome, changes := f.send(request)
	if outcome.Answer == nil {
		return string(outcome.Code), changes
	}
	text := told(outcome)
	if outcome.Answer.Coupon != "" {
		text += " " + outcome.Answer.Coupon
	}
	return text, changes
}

func (f *fair) fact(verb string, words []string, o settings) coupon.Fact {
	subject := spaced(words[0])
	switch verb {
	case "claim": // PERSON, or - for nobody known
		return coupon.ClaimCoupon{Template: o.or("of", "t"), Batch: o["batch"], Person: subject}
	case "issue": // BATCH PERSON,CODE:PERSON,…
		return coupon.IssueCoupons{Template: o.or("of", "t"), Batch: subject, Items: f.items(words[1])}
	case "import": // CODE
		return coupon.ImportCoupon{Code: words[0], Template: "t"}
	case "create": // TEMPLATE TERMS
		return coupon.CreateTemplate{Template: words[0], Terms: f.edit(o).With(coupon.Unlimited())}
	case "edit": // TEMPLATE TERMS
		edit := coupon.EditTemplate{Template: words[0], Set: f.edit(o)}
		if o.has("version") {
			edit.ExpectedVersion = f.number(o["version"])
		}
		return edit
	case "lock": // CODE ORDER
		return coupon.LockCoupon{Coupon: words[0], Order: words[1]}
	case "release": // CODE LEASE
		return coupon.ReleaseLease{Coupon: words[0], Token: tokenOf(words[1])}
	default:
		f.t.Fatalf("%s: no such step", f.where)
		return nil
	}
}

// spaced gives a name in which _ stands for white space; - is none.
func spaced(name string) string {
	if name == "-" {
		return ""
	}
	return strings.ReplaceAll(name, "_", " ")
}

func (f *fair) items(text string) (items []coupon.IssueItem) {
	for _, word := range strings.Split(text, ",") {
		code, person, coded := strings.Cut(word, ":")
		if !coded {
			code, person = "", word
		}
		items = append(items, coupon.IssueItem{Code: spaced(code), Person: spaced(person)})
	}
	return items
}

// edit reads the terms that a line names.
func (f *fair) edit(o settings) (e coupon.TermsEdit) {
	for name, field := range map[string]**int64{
		"total": &e.Total, "perPerson": &e.PerPerson, "perDay": &e.PerDay, "budget": &e.Budget,
		"uses": &e.UsesPerPerson, "policy": &e.PolicyVersion,
	} {
		if o.has(name) {
			limit := coupon.NoLimit
			if o[name] != "none" {
				limit = f.number(o[name])
			}
			*field = &limit
		}
	}
	for name, field := range map[string]**time.Time{"from": &e.ValidFrom, "until": &e.ValidUntil} {
		if o.has(name) {
			bound := f.moment(o[name])
			*field = &bound
		}
	}
	for name, field := range map[string]**string{"name": &e.Name, "zone": &e.Zone} {
		if o.has(name) {
			text := o[name]
			*field = &text
		}
	}
	if o.has("status") {
		status := coupon.TemplateStatus(o["status"])
		e.Status = &status
	}
	if o.has("days") {
		days := int(f.number(o["days"]))
		e.ValidDays = &days
	}
	if o.has("percent") {
		e.Discount = &coupon.Discount{Kind: coupon.PercentOff, BasisPoints: 100 * f.number(o["percent"])}
	}
	return e
}

// send applies one request.
func (f *fair) send(request coupon.Request) (outcome coupon.Outcome, changes *coupon.Changes) {
	f.t.Helper()
	err := f.ledger.Apply(f.t.Context(), []coupon.Request{request}, func(w *coupon.World) {
		outcome = coupon.Decide(w, &request)
		changes = w.Seal()
	})
	if err != nil {
		f.t.Fatalf("%s: %v", f.where, err)
	}
	return outcome, changes
}
