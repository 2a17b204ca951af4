package simulate

import (
	"crypto/sha256"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
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
	ledger *Ledger
	now    time.Time
	count  int
	hand   []dealt
}

const dealtSeed = "dealt"

// newDealer prepares templates with every kind of limit and policy, and coupons
// with owners, without, and with little time left.
func newDealer(t *rapid.T) *dealer {
	d := &dealer{t: t, now: start}
	rules := coupon.DefaultRules()
	rules.Stacking = rapid.SampledFrom([]coupon.Stacking{coupon.StackAll, coupon.StackPartial}).Draw(t, "stacking")
	d.ledger = NewLedger(func() time.Time { return d.now }, rules, NewSource(dealtSeed))
	decisions := rapid.SampledFrom([]policy.Decision{policy.Return, policy.Keep, policy.Retire, policy.Void, policy.Review})
	for i, template := range []coupon.Template{
		{ID: "T1", Budget: 2, UsesPerPerson: 1, PolicyVersion: 11},
		{ID: "T2", Budget: coupon.NoLimit, UsesPerPerson: coupon.NoLimit, PolicyVersion: 12, Transferable: true},
	} {
		d.deal(coupon.DefinePolicy{Policy: policy.Policy{
			Version: template.PolicyVersion, Full: decisions.Draw(t, "full"), Partial: decisions.Draw(t, "partial"),
			Chargeback: decisions.Draw(t, "chargeback"), ExtendDays: 3 * i, BudgetBack: rapid.Bool().Draw(t, "back"),
		}}, "", d.now)
		d.deal(coupon.DefineTemplate{Template: template}, "", d.now)
	}
	for i, code := range []string{"c1", "c2", "c3", "c4"} {
		f := coupon.ImportCoupon{Code: code, Template: fmt.Sprint("T", 1+i/2), Owner: "u1"}
		if i == 3 {
			f.Owner, f.ValidUntil = "", start.Add(time.Hour)
		}
		d.deal(f, "", d.now)
	}
	return d
}

// deal applies one request; an empty id is none.
func (d *dealer) deal(fact coupon.Fact, id string, at time.Time) coupon.Outcome {
	return d.apply(coupon.Request{
		ID: id, Hash: sha256.Sum256(fmt.Appendf(nil, "%#v", fact)), At: at, Actor: "dealer", Fact: fact,
	})
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

// any deals something: a fact, a timer, a sweep, an import, or an earlier request
// once more. It says what, and what was answered.
func (d *dealer) any() (coupon.Request, coupon.Outcome) {
	d.count++
	d.now = d.now.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 60, 1000}).Draw(d.t, "later")) * time.Second)
	again := rapid.IntRange(0, 9).Draw(d.t, "again")
	request := coupon.Request{ID: fmt.Sprint("m", d.count), Actor: "dealer"}
	if past := d.earlier(); again < 2 && past != nil {
		request.Fact, request.Hash, request.At = past.Fact, past.Hash, past.At
		if again == 0 {
			request.ID = past.ID
		}
	} else {
		// Each fact has a moment of its own, so that no two placements of an order are equally old.
		request.At = d.now.Add(-time.Duration(rapid.IntRange(0, 100).Draw(d.t, "ago"))*time.Second +
			time.Duration(d.count)*time.Millisecond)
		request.Fact = d.fact()
		request.Hash = sha256.Sum256(fmt.Appendf(nil, "%#v", request.Fact))
	}
	return request, d.apply(request)
}

// earlier picks a message that came before, nil if there is none.
func (d *dealer) earlier() *coupon.Request {
	var messages []*coupon.Request
	for i := range d.hand {
		if d.hand[i].request.ID != "" {
			messages = append(messages, &d.hand[i].request)
		}
	}
	if len(messages) == 0 {
		return nil
	}
	return rapid.SampledFrom(messages).Draw(d.t, "earlier")
}

func (d *dealer) fact() coupon.Fact {
	order := rapid.SampledFrom([]string{"A", "B", "C", "D"}).Draw(d.t, "order")
	parent := ""
	if order == "C" || order == "D" { // always, sometimes and never parts of one order
		parent = rapid.SampledFrom([]string{"P", "P", ""}).Draw(d.t, "parent")
	}
	amount := rapid.SampledFrom([]int64{100, 100, 40, 60, 10}).Draw(d.t, "amount")
	number := rapid.IntRange(1, 3).Draw(d.t, "number")
	switch rapid.SampledFrom([]int{0, 0, 0, 1, 1, 1, 2, 3, 3, 4, 4, 5, 6}).Draw(d.t, "kind") {
	case 0:
		return d.placement(order, parent)
	case 1:
		return coupon.PaymentSucceeded{
			Order: order, Parent: parent, Payment: fmt.Sprint("p", number), Amount: amount,
			FullPrice: rapid.IntRange(0, 9).Draw(d.t, "full price") == 0,
		}
	case 2:
		return coupon.OrderClosed{Order: order, Parent: parent, Reason: rapid.SampledFrom(
			[]string{"timeout", "cancelled", "payment_failed"}).Draw(d.t, "reason")}
	case 3:
		return coupon.RefundApproved{
			Order: order, Parent: parent, Refund: fmt.Sprint("r", number), Amount: amount, Reason: rapid.SampledFrom(
				[]string{"customer", "customer", policy.ReasonChargeback}).Draw(d.t, "reason"),
		}
	case 4:
		return d.timer()
	case 5:
		return coupon.ValidityOver{Coupon: d.code()}
	default:
		return coupon.ImportCoupon{Code: d.code(), Template: "T1", Owner: "u2"}
	}
}

// code picks a coupon; c5 is not there, until it is imported.
func (d *dealer) code() string {
	return rapid.SampledFrom([]string{"c1", "c2", "c3", "c4", "c5"}).Draw(d.t, "coupon")
}

func (d *dealer) placement(order, parent string) coupon.Fact {
	f := coupon.OrderPlaced{
		Order: order, Parent: parent, Customer: "u1", Payable: rapid.SampledFrom([]int64{100, 100, 0}).Draw(d.t, "payable"),
		Revision: int64(rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(d.t, "revision")),
		Lease:    time.Duration(rapid.SampledFrom([]int{0, 30}).Draw(d.t, "lease")) * time.Second,
	}
	f.OpenEnded = f.Lease == 0 && rapid.IntRange(0, 4).Draw(d.t, "open") == 0
	if order == "B" && rapid.Bool().Draw(d.t, "edited") {
		f.Supersedes = rapid.SampledFrom([]string{"A", "C", "B"}).Draw(d.t, "supersedes")
	}
	if rapid.IntRange(0, 9).Draw(d.t, "stranger") == 0 {
		f.Customer = "u2"
	}
	for range rapid.IntRange(0, 3).Draw(d.t, "coupons") {
		f.Wanted = append(f.Wanted, coupon.Wanted{Coupon: d.code()})
	}
	return f
}

// timer picks a lease that was granted or renewed, or none that ever was.
func (d *dealer) timer() coupon.Fact {
	id := d.code()
	rows := d.ledger.leases[id]
	if len(rows) == 0 {
		return coupon.LeaseDue{Coupon: id, Order: "A", LeaseID: neverGranted, Version: 2}
	}
	row := rapid.SampledFrom(rows).Draw(d.t, "lease")
	f := coupon.LeaseDue{
		Coupon: id, Order: row.Order, LeaseID: row.LeaseID, TokenHash: row.TokenHash, Version: row.Version,
	}
	if rapid.IntRange(0, 9).Draw(d.t, "known paid") == 0 {
		f.PaidFact = "p1"
	}
	return f
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
	all.Receipts, all.Reviews, all.Timers = f.receipts, f.reviews, f.timers
	return all
}
