package ledgertest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
	"couponlease/internal/simulate"
)

// Operations that facts and commands can cause; a differential run that has not seen them all
// has shown nothing.
func operations() []coupon.Operation {
	return []coupon.Operation{
		coupon.Issue, coupon.Lock, coupon.Renew, coupon.Redeem, coupon.Release, coupon.Expire, coupon.Return,
		coupon.Retire, coupon.Reverse, coupon.Withdraw,
	}
}

// Differential gives the same random requests, in the same batches and under the
// same clock, to two ledgers: same answers, same rows.
func Differential(t *testing.T, oracle, subject Open) {
	t.Helper()
	seen := map[coupon.Operation]int{}
	worlds := 0
	for _, full := range []policy.Decision{policy.Return, policy.Retire} {
		worlds++
		p := newPair(t, oracle, subject, worlds)
		p.script(t, full)
		p.compare(t)
		p.count(t, seen)
	}
	worlds++
	p := newPair(t, oracle, subject, worlds)
	p.commands(t)
	p.count(t, seen)
	worlds++
	p = newPair(t, oracle, subject, worlds)
	p.campaigns(t)
	rapid.Check(t, func(rt *rapid.T) {
		worlds++
		p := newPair(t, oracle, subject, worlds)
		p.setUp(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"batch": p.batch,
			"time": func(rt *rapid.T) {
				p.pass(time.Duration(rapid.SampledFrom([]int{1, 60, 900, 7200}).Draw(rt, "seconds")) * time.Second)
			},
			"": func(rt *rapid.T) { p.compare(rt) },
		})
		p.count(rt, seen)
	})
	for _, operation := range operations() {
		if seen[operation] == 0 {
			t.Errorf("no run had a %s: %v", operation, seen)
		}
	}
}

// pair is two ledgers that are asked the same.
type pair struct {
	oracle, subject *bench
	// space keeps the ids of one random world apart from those of all others.
	number  int
	space   string
	sent    int
	scans   int
	history []coupon.Request
	// issued counts the coupons that are there from the beginning; made are those that came
	// later, in their order.
	issued int
	made   []string
}

func newPair(t *testing.T, oracle, subject Open, number int) *pair {
	p := &pair{number: number, space: fmt.Sprintf("w%d.", number)}
	for _, side := range []struct {
		open  Open
		bench **bench
	}{{oracle, &p.oracle}, {subject, &p.subject}} {
		b := &bench{}
		b.clock.Store(start.UnixMicro())
		b.ledger = side.open(t, b.now, coupon.DefaultRules(), simulate.NewSource(p.space))
		*side.bench = b
	}
	return p
}

func (p *pair) pass(d time.Duration) {
	p.oracle.pass(d)
	p.subject.pass(d)
}

const (
	pairCoupons = 4
	pairOrders  = 4
)

func (p *pair) coupon(i int) string { return fmt.Sprintf("%sc%d", p.space, i) }

// began are the coupons that are there from the beginning, if any are.
func (p *pair) began() (ids []string) {
	for i := range p.issued {
		ids = append(ids, p.coupon(i))
	}
	return ids
}

func (p *pair) order(i int) string { return fmt.Sprintf("%sorder-%d", p.space, i) }

func (p *pair) setUp(rt *rapid.T) {
	rules := policy.Default()
	verdict := rapid.SampledFrom([]policy.Decision{policy.Return, policy.Retire, policy.Keep, policy.Void})
	rules.Full = verdict.Draw(rt, "full")
	rules.BudgetBack = rapid.Bool().Draw(rt, "budget back")
	limit := rapid.SampledFrom([]int64{coupon.NoLimit, 1, 2, 3})
	owner := rapid.SampledFrom([]string{"", "u1", "u2"})
	p.define(rt, rules, limit.Draw(rt, "budget"), limit.Draw(rt, "uses per person"),
		func() string { return owner.Draw(rt, "owner") })
	p.launch(rt, p.terms(rt))
}

func (p *pair) define(t rapid.TB, rules policy.Policy, budget, perPerson int64, owner func() string) {
	rules.Version = 1000 + int64(p.number)
	p.send(t, coupon.Request{Fact: coupon.DefinePolicy{Policy: rules}})
	template := coupon.Template{ID: p.space + "T", Terms: coupon.Terms{
		Budget: budget, UsesPerPerson: perPerson, PolicyVersion: rules.Version, ValidUntil: start.Add(3 * time.Hour),
	}}
	p.send(t, coupon.Request{Fact: coupon.DefineTemplate{Template: template}})
	p.issued = pairCoupons
	for i := range pairCoupons {
		p.send(t, coupon.Request{Fact: coupon.ImportCoupon{Code: p.coupon(i), Template: p.space + "T", Owner: owner()}})
	}
}

// script makes every operation happen once, whatever chance brings afterwards.
func (p *pair) script(t *testing.T, full policy.Decision) {
	rules := policy.Default()
	rules.Full = full
	p.define(t, rules, coupon.NoLimit, coupon.NoLimit, func() string { return "u1" })
	buy := func(order string, i int) {
		f := placed(p.space+order, p.coupon(i))
		p.send(t, p.message(f), p.message(paid(p.space+order)))
	}
	buy("A", 0)
	p.send(t, p.message(coupon.RefundApproved{Order: p.space + "A", Refund: "r", Amount: 100, Currency: "EUR"}))
	buy("B", 1)
	edited := placed(p.space+"B2", p.coupon(1))
	edited.Supersedes = p.space + "B"
	p.send(t, p.message(edited))
	p.send(t, p.message(placed(p.space+"C", p.coupon(2))))
	p.send(t, p.message(coupon.OrderClosed{Order: p.space + "C", Reason: "timeout"}))
	p.pass(4 * time.Hour)
	p.send(t, p.message(coupon.ValidityOver{Coupon: p.coupon(3)}))
}

// message gives a fact under a fresh id.
func (p *pair) message(fact coupon.Fact) coupon.Request {
	p.sent++
	return coupon.Request{
		ID: fmt.Sprintf("%sm%d", p.space, p.sent), At: p.oracle.now(), Actor: "random", Fact: fact,
	}
}

// batch gives both ledgers some requests in one transaction.
func (p *pair) batch(rt *rapid.T) {
	var requests []coupon.Request
	for range rapid.IntRange(1, 6).Draw(rt, "requests") {
		if len(p.history) > 0 && rapid.IntRange(0, 5).Draw(rt, "repeat") == 0 {
			requests = append(requests, p.again(rt))
			continue
		}
		request := p.request(rt)
		request.At = request.At.Add(-time.Duration(rapid.IntRange(0, 3).Draw(rt, "ago")) * time.Minute)
		p.history = append(p.history, request)
		requests = append(requests, request)
	}
	p.send(rt, requests...)
}

func (p *pair) request(rt *rapid.T) coupon.Request {
	switch rapid.IntRange(0, 2).Draw(rt, "asks") {
	case 0:
		return p.command(p.campaigning(rt))
	case 1:
		return p.command(p.ordered(rt))
	default:
		return p.message(p.fact(rt))
	}
}

// send gives both the same requests and compares the answers, which it returns.
func (p *pair) send(rt rapid.TB, requests ...coupon.Request) []coupon.Outcome {
	var answers [2][]coupon.Outcome
	var written [2]*coupon.Changes
	for i, side := range []*bench{p.oracle, p.subject} {
		outcomes, changes, err := side.change(context.Background(), slices.Clone(requests)...)
		if err != nil {
			rt.Fatalf("ledger %d: %v", i, err)
		}
		answers[i], written[i] = outcomes, changes
	}
	if diff := cmp.Diff(answers[0], answers[1]); diff != "" {
		rt.Fatalf("answers differ (-oracle +subject):\n%s", diff)
	}
	p.compareAnswers(rt, requests)
	p.compareWritten(rt, written[0], written[1])
	return answers[0]
}

func (p *pair) fact(rt *rapid.T) coupon.Fact {
	order := p.order(rapid.IntRange(0, pairOrders-1).Draw(rt, "order"))
	other := p.order(rapid.IntRange(0, pairOrders-1).Draw(rt, "other"))
	amount := rapid.SampledFrom([]int64{40, 60, 100}).Draw(rt, "amount")
	switch rapid.IntRange(0, 10).Draw(rt, "kind") {
	case 10:
		code := fmt.Sprintf("%sI%d", p.space, rapid.IntRange(0, 3).Draw(rt, "code"))
		return coupon.ImportCoupon{Code: code, Template: p.template(), Owner: p.person(rt)}
	case 0, 1, 2:
		return p.placed(rt, order, other)
	case 3, 4:
		return coupon.PaymentSucceeded{
			Order: order, Payment: rapid.SampledFrom([]string{"p1", "p2"}).Draw(rt, "payment"), Amount: amount,
			FullPrice: rapid.IntRange(0, 9).Draw(rt, "full price") == 0,
		}
	case 5:
		reason := rapid.SampledFrom([]string{"timeout", "payment_failed"}).Draw(rt, "reason")
		return coupon.OrderClosed{Order: order, Reason: reason}
	case 6, 7:
		return coupon.RefundApproved{
			Order: order, Refund: rapid.SampledFrom([]string{"r1", "r2"}).Draw(rt, "refund"), Amount: amount,
			Reason: rapid.SampledFrom([]string{"customer", policy.ReasonChargeback}).Draw(rt, "why"),
		}
	case 8:
		return p.due(rt)
	default:
		return coupon.ValidityOver{Coupon: p.coupon(rapid.IntRange(0, pairCoupons-1).Draw(rt, "coupon"))}
	}
}

func (p *pair) placed(rt *rapid.T, order, other string) coupon.Fact {
	f := coupon.OrderPlaced{
		Order: order, Customer: rapid.SampledFrom([]string{"u1", "u1", "u2"}).Draw(rt, "customer"),
		Payable:   rapid.SampledFrom([]int64{100, 100, 0}).Draw(rt, "payable"),
		Revision:  rapid.Int64Range(0, 2).Draw(rt, "revision"),
		OpenEnded: rapid.IntRange(0, 5).Draw(rt, "open") == 0,
	}
	for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, pairCoupons-1), 0, 3, rapid.ID).Draw(rt, "coupons") {
		wanted := coupon.Wanted{Coupon: p.coupon(i)}
		if rapid.IntRange(0, 4).Draw(rt, "token") == 0 {
			token := p.shown(rt, wanted.Coupon).TokenHash
			wanted.Token = &token
		}
		f.Wanted = append(f.Wanted, wanted)
	}
	switch rapid.IntRange(0, 7).Draw(rt, "link") {
	case 0:
		f.Supersedes = other
	case 1:
		f.Parent = p.space + "parent"
	}
	return f
}

// due is the timer of whatever lease a coupon has, or a stale one.
func (p *pair) due(rt *rapid.T) coupon.Fact {
	id := p.coupon(rapid.IntRange(0, pairCoupons-1).Draw(rt, "leased"))
	history, found, err := p.oracle.ledger.History(context.Background(), id)
	if err != nil || !found || len(history.Leases) == 0 {
		return coupon.LeaseDue{Coupon: id, LeaseID: "none"}
	}
	row := rapid.SampledFrom(history.Leases).Draw(rt, "lease")
	return coupon.LeaseDue{
		Coupon: id, Order: row.Order, LeaseID: row.LeaseID, TokenHash: row.TokenHash, Version: row.Version,
	}
}

// compare holds every row of both ledgers against each other.
func (p *pair) compare(rt rapid.TB) {
	for _, id := range append(p.began(), p.made...) {
		want, got := p.both(rt, id)
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("coupon %s differs (-oracle +subject):\n%s", id, diff)
		}
		for _, violation := range coupon.Check(got) {
			rt.Fatal(violation)
		}
	}
	ids := []string{p.space + "parent"}
	for i := range pairOrders {
		ids = append(ids, p.order(i))
	}
	for _, id := range ids {
		var rows [2]*coupon.Order
		for i, side := range []*bench{p.oracle, p.subject} {
			row, err := side.ledger.Order(context.Background(), id)
			if err != nil {
				rt.Fatal(err)
			}
			rows[i] = row
		}
		if diff := cmp.Diff(rows[0], rows[1], asSets); diff != "" {
			rt.Fatalf("order %s differs (-oracle +subject):\n%s", id, diff)
		}
	}
	p.compareFlows(rt)
	p.compareTemplates(rt)
}

// asSets: a ledger may give the refunds of an order in any order.
var asSets = cmpopts.SortSlices(func(a, b coupon.Refund) bool { return a.ID < b.ID })

func (p *pair) both(rt rapid.TB, id string) (want, got coupon.History) {
	var found [2]bool
	var errs [2]error
	want, found[0], errs[0] = p.oracle.ledger.History(context.Background(), id)
	got, found[1], errs[1] = p.subject.ledger.History(context.Background(), id)
	if errs[0] != nil || errs[1] != nil || !found[0] || !found[1] {
		rt.Fatalf("history of %s: found %v, errors %v", id, found, errs)
	}
	return want, got
}

func (p *pair) count(rt rapid.TB, seen map[coupon.Operation]int) {
	for i := range pairCoupons {
		want, _ := p.both(rt, p.coupon(i))
		for j := range want.Operations {
			seen[want.Operations[j].Operation]++
		}
	}
}
