package simulate

import (
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"couponlease/internal/coupon"
	"couponlease/internal/simulate/dealertest"
)

// dealt is one request at one moment, as it was dealt.
type dealt struct {
	request coupon.Request
	now     time.Time
}

// dealer deals random requests about a few orders and coupons to a ledger, and
// remembers them.
type dealer struct {
	t      *rapid.T
	cards  *dealertest.Dealer
	ledger *Ledger
	now    time.Time
	hand   []dealt
}

const dealtSeed = "dealt"

// drawn lets rapid decide, so that it can look for a shorter way to fail.
type drawn struct{ t *rapid.T }

func (d drawn) Below(n int, what string) int { return rapid.IntRange(0, n-1).Draw(d.t, what) }

// newDealer lays a table on an empty ledger.
func newDealer(t *rapid.T) *dealer {
	d := &dealer{t: t, now: start}
	rules := coupon.DefaultRules()
	rules.Stacking = rapid.SampledFrom([]coupon.Stacking{coupon.StackAll, coupon.StackPartial}).Draw(t, "stacking")
	d.ledger = NewLedger(func() time.Time { return d.now }, rules, NewSource(dealtSeed))
	d.cards = dealertest.New(drawn{t}, d.ledger.evidence, dealertest.Options{Policies: 10})
	for _, request := range d.cards.Lay(d.now) {
		d.apply(request)
	}
	return d
}

func (d *dealer) apply(request coupon.Request) coupon.Outcome {
	d.hand = append(d.hand, dealt{request, d.now})
	outcomes, err := d.ledger.decideAll([]coupon.Request{request})
	if err != nil {
		d.t.Fatal(err)
	}
	return outcomes[0]
}

// decideAll decides requests in one transaction.
func (l *Ledger) decideAll(requests []coupon.Request) ([]coupon.Outcome, error) {
	var outcomes []coupon.Outcome
	err := l.Apply(noContext, requests, func(w *coupon.World) {
		for i := range requests {
			outcomes = append(outcomes, coupon.Decide(w, &requests[i]))
		}
		w.Seal()
	})
	return outcomes, err
}

// any deals something. It says what, and what was answered.
func (d *dealer) any() (coupon.Request, coupon.Outcome) {
	d.now = d.now.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 60, 1000}).Draw(d.t, "later")) * time.Second)
	request := d.cards.Deal(d.now)
	return request, d.apply(request)
}

// lapse waits until what commands leased is due.
func (d *dealer) lapse() {
	for _, id := range slices.Sorted(maps.Keys(d.ledger.coupons)) {
		lease := d.ledger.coupons[id].Lease
		if lease == nil || lease.Purpose == coupon.PurposeOrder {
			continue
		}
		if lease.Deadline.After(d.now) {
			d.now = lease.Deadline
		}
		d.apply(coupon.Request{ID: "due " + lease.ID, At: d.now, Actor: "dealer", Fact: coupon.LeaseDue{
			Coupon: id, Order: lease.Order, LeaseID: lease.ID, TokenHash: lease.TokenHash, Version: lease.Version,
		}})
	}
}

// rows are the rows of a ledger, all of them or those that a refusal may not
// touch.
type rows struct {
	Coupons    map[string]*coupon.Coupon
	Templates  map[string]*coupon.Template
	Uses       map[usesKey]*coupon.Uses
	Operations map[string][]coupon.OperationRow
	Orders     map[string]*coupon.Order
	Leases     map[string][]coupon.LeaseRow
	Redeemed   map[string][]coupon.RedemptionRow
	Decisions  map[string][]coupon.RefundDecision
	Receipts   map[string]*coupon.Receipt
	Answers    map[string]*coupon.Answer
	Flows      map[string][]coupon.FlowRow
	Reviews    []coupon.ReviewRow
	Timers     []coupon.Timer
}

func (l *Ledger) couponRows() rows {
	f := l.fork(l.Now)
	return rows{Coupons: f.coupons, Templates: f.templates, Uses: f.uses, Operations: f.operations}
}

func (l *Ledger) allRows() rows {
	f := l.fork(l.Now)
	all := l.couponRows()
	all.Orders, all.Leases, all.Redeemed, all.Decisions = f.orders, f.leases, f.redemptions, f.decisions
	all.Receipts, all.Answers, all.Flows = f.receipts, f.answers, f.flows
	all.Reviews, all.Timers = f.reviews, f.timers
	return all
}

// withoutAnswers leaves out what is kept of every message.
func (r rows) withoutAnswers() rows {
	r.Receipts, r.Answers, r.Flows = nil, nil, nil
	return r
}
