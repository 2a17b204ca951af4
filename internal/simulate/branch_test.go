package simulate

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"couponlease/internal/coupon"
)

// fork gives a ledger that goes its own way from here. Rows are replaced, never
// changed, so the maps are enough; evidence is appended, so it is clipped.
func (l *Ledger) fork(now func() time.Time) *Ledger {
	return &Ledger{
		Now: now, Rules: l.Rules, Source: l.Source,
		receipts:    maps.Clone(l.receipts),
		answers:     maps.Clone(l.answers),
		flows:       clipped(l.flows),
		orders:      maps.Clone(l.orders),
		coupons:     maps.Clone(l.coupons),
		templates:   maps.Clone(l.templates),
		policies:    maps.Clone(l.policies),
		uses:        maps.Clone(l.uses),
		operations:  clipped(l.operations),
		leases:      clipped(l.leases),
		redemptions: clipped(l.redemptions),
		decisions:   clipped(l.decisions),
		reviews:     slices.Clip(l.reviews),
		timers:      slices.Clip(l.timers),
	}
}

func clipped[V any](m map[string][]V) map[string][]V {
	c := make(map[string][]V, len(m))
	for key, values := range m {
		c[key] = slices.Clip(values)
	}
	return c
}

// told is one message that upstream, or a timer, sends. Its second delivery has
// the same id, or a new one if it is published again.
type told struct {
	label string
	fact  coupon.Fact // nil for the timer of the order's lease
	order string
	at    int // seconds after the start
	// times is how often it is delivered, republished that each has its own id.
	times       int
	republished bool
}

// branch is one place in the tree of all sequences: the ledger after some
// messages, and what is still to come.
type branch struct {
	ledger *Ledger
	now    time.Time
	done   []int
	trail  []string
}

var start = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// root issues one coupon, whose budget and places per person are counted.
func root(t *testing.T, seed string) *branch {
	t.Helper()
	b := &branch{now: start.Add(time.Hour)}
	rules := coupon.DefaultRules()
	b.ledger = NewLedger(func() time.Time { return b.now }, rules, NewSource(seed))
	b.decide(t, coupon.Request{Fact: coupon.DefineTemplate{
		Template: coupon.Template{ID: "T1", Terms: coupon.Terms{Budget: 9, UsesPerPerson: 1}},
	}})
	b.decide(t, coupon.Request{Fact: coupon.ImportCoupon{Code: "c1", Template: "T1", Owner: "u1"}})
	return b
}

func (b *branch) decide(t *testing.T, request coupon.Request) coupon.Outcome {
	t.Helper()
	var outcome coupon.Outcome
	err := b.ledger.Apply(t.Context(), []coupon.Request{request}, func(w *coupon.World) {
		outcome = coupon.Decide(w, &request)
		w.Seal()
	})
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(b.trail, ", "), err)
	}
	return outcome
}

// after gives the branch on which message i comes next.
func (b *branch) after(t *testing.T, messages []told, i int) *branch {
	t.Helper()
	m := &messages[i]
	next := &branch{now: b.now.Add(time.Second), done: slices.Clone(b.done)}
	next.ledger = b.ledger.fork(func() time.Time { return next.now })
	next.done[i]++
	next.trail = append(slices.Clip(b.trail), m.label)
	if m.fact == nil {
		next.due(t, m.order)
	} else {
		id := m.label
		if m.republished {
			id = fmt.Sprintf("%s-%d", m.label, next.done[i])
		}
		next.decide(t, coupon.Request{
			ID: id, Hash: sha256.Sum256([]byte(m.label)),
			At: start.Add(time.Duration(m.at) * time.Second), Fact: m.fact,
		})
	}
	next.check(t)
	return next
}

// due lets every timer of the order fire: those of its former leases, which are
// stale, and that of its lease, if it has one, at its deadline.
func (b *branch) due(t *testing.T, order string) {
	t.Helper()
	for _, row := range b.ledger.leases["c1"] {
		if row.Order != order {
			continue
		}
		c := b.ledger.coupons["c1"]
		current := c.LeasedTo(order) && c.Lease.Version == row.Version
		if current {
			b.now = row.Deadline
		}
		outcome := b.decide(t, coupon.Request{
			ID: fmt.Sprintf("due-%s-%d", row.LeaseID, row.Version), At: row.Deadline,
			Fact: coupon.LeaseDue{
				Coupon: "c1", Order: order, LeaseID: row.LeaseID, TokenHash: row.TokenHash, Version: row.Version,
			},
		})
		stale := outcome.Code == coupon.NoopStale || outcome.Code == coupon.DuplicateEvent
		if stale == current || b.ledger.coupons["c1"].Version != c.Version && !current {
			t.Fatalf("%s: timer of version %d, current %t: %v", strings.Join(b.trail, ", "), row.Version, current, outcome)
		}
	}
}

func (b *branch) check(t *testing.T) {
	t.Helper()
	broken, err := b.ledger.Violations(t.Context())
	if err != nil || len(broken) > 0 {
		t.Fatalf("%s: %v %v", strings.Join(b.trail, ", "), broken, err)
	}
}

// every visits the end of every sequence of the messages, each delivered as
// often as it says, and gives their number. The invariants hold after every step.
func (b *branch) every(t *testing.T, messages []told, visit func(*branch)) int {
	t.Helper()
	if b.done == nil {
		b.done = make([]int, len(messages))
	}
	sequences := 0
	for i := range messages {
		if b.done[i] < messages[i].times {
			sequences += b.after(t, messages, i).every(t, messages, visit)
		}
	}
	if sequences > 0 {
		return sequences
	}
	visit(b)
	return 1
}

// ending is what convergence is about.
type ending struct {
	State   coupon.State
	Holder  string
	Active  int
	Reviews string
}

// end lets what timers are left fire, and says how it all ended.
func (b *branch) end(t *testing.T) ending {
	t.Helper()
	if lease := b.ledger.coupons["c1"].Lease; lease != nil {
		b.due(t, lease.Order)
		b.check(t)
	}
	folded, err := coupon.Replay(b.ledger.operations["c1"])
	if err != nil {
		t.Fatal(err)
	}
	var reviews []string // a review that is opened twice is here twice
	for _, review := range b.ledger.reviews {
		reviews = append(reviews, review.Order+" "+string(review.Reason))
	}
	slices.Sort(reviews)
	return ending{
		State: folded.State, Holder: folded.Order, Active: folded.Active, Reviews: strings.Join(reviews, ", "),
	}
}
