package coupon_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
	"couponlease/internal/simulate"
)

// stage is the world in which a story is played: a memory ledger whose clock the
// steps set. Coupons belong to u1 and are valid for 30 days unless said otherwise.
type stage struct {
	t       *testing.T
	where   string
	start   time.Time
	now     time.Time
	ledger  *simulate.Ledger
	coupons []string
	steps   int
	offer   coupon.Template
	rules   policy.Policy
	defined bool
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, start: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), rules: policy.Default()}
	s.now = s.start
	s.rules.Version = 7
	s.ledger = simulate.NewLedger(func() time.Time { return s.now }, coupon.DefaultRules(), simulate.NewSource("s"))
	s.offer = coupon.Template{ID: "T1", Terms: coupon.Unlimited()}
	s.offer.PolicyVersion, s.offer.ValidUntil = s.rules.Version, s.start.Add(30*24*time.Hour)
	return s
}

// step plays one line and gives the cells behind its first bar.
func (s *stage) step(where string, words []string) []string {
	s.where = where
	if words[0] == "given" {
		s.given(words[1], words[2:])
		return nil
	}
	if s.define(); len(s.coupons) == 0 {
		s.issue("c1", settings{})
	}
	s.now = s.second(words[0])
	answer, changes := s.perform(words[1], words[2:])
	broken, err := s.ledger.Violations(s.t.Context())
	if err != nil || len(broken) > 0 {
		s.t.Errorf("%s: %v %v", where, broken, err)
	}
	return append([]string{answer}, s.cells(changes)...)
}

// given sets the stage before the first step.
func (s *stage) given(what string, words []string) {
	o := read(words)
	switch what {
	case "coupon":
		s.define()
		s.issue(words[0], o)
	case "template":
		s.offer.Budget, s.offer.UsesPerPerson = s.number(o, "budget", -1), s.number(o, "perPerson", -1)
		s.offer.Transferable = o.has("transferable")
		s.offer.Status = coupon.TemplateStatus(o["status"])
	case "policy":
		s.rules.Full = policy.Decision(o.or("full", "RETURN"))
		s.rules.Partial = policy.Decision(o.or("partial", "KEEP"))
		s.rules.Chargeback = policy.Decision(o.or("chargeback", "KEEP"))
		s.rules.ExtendDays = int(s.number(o, "extend", 0))
		s.rules.BudgetBack = o.has("budgetBack")
	case "stacking":
		s.ledger.Rules.Stacking = coupon.Stacking(words[0])
	default:
		s.t.Fatalf("%s: nothing known to be given", s.where)
	}
}

// define creates policy and template once all that is said about them is read.
func (s *stage) define() {
	if s.defined {
		return
	}
	s.defined = true
	if err := s.rules.Validate(); err != nil {
		s.t.Fatalf("%s: %v", s.where, err)
	}
	s.do(coupon.Request{Fact: coupon.DefinePolicy{Policy: s.rules}})
	s.do(coupon.Request{Fact: coupon.DefineTemplate{Template: s.offer}})
}

func (s *stage) issue(code string, o settings) {
	f := coupon.ImportCoupon{Code: code, Template: "T1", Owner: o.or("owner", "u1")}
	if o.has("from") {
		f.ValidFrom = s.second(o["from"])
	}
	if o.has("until") {
		f.ValidUntil = s.second(o["until"])
	}
	if outcome, _ := s.do(coupon.Request{Fact: f}); outcome.Code != coupon.Created {
		s.t.Fatalf("%s: %v", s.where, outcome)
	}
	s.coupons = append(s.coupons, code)
}

// do applies one request and gives its changes.
func (s *stage) do(request coupon.Request) (coupon.Outcome, *coupon.Changes) {
	var outcome coupon.Outcome
	changes := s.on(request, func(w *coupon.World) { outcome = coupon.Decide(w, &request) })
	return outcome, changes
}

// on runs change on the rows that the request is about.
func (s *stage) on(request coupon.Request, change func(*coupon.World)) *coupon.Changes {
	s.t.Helper()
	var changes *coupon.Changes
	err := s.ledger.Apply(s.t.Context(), []coupon.Request{request}, func(w *coupon.World) {
		change(w)
		changes = w.Seal()
	})
	if err != nil {
		s.t.Fatalf("%s: %v", s.where, err)
	}
	return changes
}

// second gives the moment so many seconds after the start.
func (s *stage) second(text string) time.Time {
	seconds, err := strconv.Atoi(text)
	if err != nil {
		s.t.Fatalf("%s: %q is not a number of seconds", s.where, text)
	}
	return s.start.Add(time.Duration(seconds) * time.Second)
}

// settings are the name=value and the bare words of a line.
type settings map[string]string

func read(words []string) settings {
	o := settings{}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		o[name] = value
	}
	return o
}

func (o settings) has(name string) bool { _, there := o[name]; return there }

func (o settings) or(name, otherwise string) string {
	if value, there := o[name]; there {
		return value
	}
	return otherwise
}

func (s *stage) number(o settings, name string, otherwise int64) int64 {
	if !o.has(name) {
		return otherwise
	}
	n, err := strconv.ParseInt(o[name], 10, 64)
	if err != nil {
		s.t.Fatalf("%s: %s: %v", s.where, name, err)
	}
	return n
}
