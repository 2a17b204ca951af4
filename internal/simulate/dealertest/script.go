package dealertest

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

// Stage is where the script is played.
type Stage struct {
	Options
	Sight Sight
	Now   func() time.Time
	Pass  func(time.Duration)
	// Ask decides requests in one transaction.
	Ask func(...coupon.Request) []coupon.Outcome
}

// Script gets every one of Answers, and takes every edge of coupon.Table.
func Script(t testing.TB, stage Stage) {
	t.Helper()
	s := &script{Stage: stage, t: t}
	s.define()
	s.keys()
	s.holds("LockCoupon", func(id, customer string) coupon.Fact {
		return coupon.LockCoupon{Coupon: id, Order: s.name("Q"), Customer: customer}
	})
	s.holds("RedeemRequested", func(id, customer string) coupon.Fact {
		return coupon.RedeemRequested{Coupon: id, Request: s.name("till"), Customer: customer}
	})
	s.shows()
	s.redeems()
	s.swaps()
	s.withdraws()
	s.reverses()
	s.returns()
	s.ends()
	s.campaigns()
	s.batches()
	s.terms()
}

// script makes up names as it goes.
type script struct {
	Stage
	t     testing.TB
	count int
}

func (s *script) name(what string) string {
	s.count++
	return fmt.Sprint(s.Space, what, s.count)
}

// The templates of the script.
const (
	free    = "free"
	retires = "retires"
	voids   = "voids"
	keeps   = "keeps"
	reviews = "reviews"
	single  = "single"
	budget  = "budget"
	offline = "offline"
)

func (s *script) define() {
	version := s.Policies
	define := func(id string, full policy.Decision, change func(*coupon.Template)) {
		version++
		template := coupon.Template{ID: s.Space + id, Terms: coupon.Unlimited()}
		template.PolicyVersion = version
		change(&template)
		s.fact(coupon.Created, coupon.DefinePolicy{Policy: policy.Policy{
			Version: version, Full: full, Partial: policy.Keep, Chargeback: policy.Keep, BudgetBack: true,
		}})
		s.fact(coupon.Created, coupon.DefineTemplate{Template: template})
	}
	plain := func(*coupon.Template) {}
	define(free, policy.Return, plain)
	define(retires, policy.Retire, plain)
	define(voids, policy.Void, plain)
	define(keeps, policy.Keep, plain)
	define(reviews, policy.Review, plain)
	define(single, policy.Void, func(t *coupon.Template) { t.UsesPerPerson = 1 })
	define(budget, policy.Void, func(t *coupon.Template) { t.Budget = 1 })
	define(offline, policy.Return, func(t *coupon.Template) { t.Status = coupon.TemplateDown })
}

// request wraps a fact in a message, and a command in one with a key, of its own.
func (s *script) request(fact coupon.Fact) coupon.Request {
	r := coupon.Request{ID: s.name("m"), At: s.Now(), Actor: "script", Fact: fact}
	binary.BigEndian.PutUint64(r.Hash[:], uint64(s.count))
	switch f := fact.(type) {
	case coupon.RedeemRequested:
		r.Key = coupon.RedeemNumber(f.Request)
	case coupon.Command:
		r.Key = s.name("k")
	}
	return r
}

// fact asks for something and wants a code.
func (s *script) fact(want coupon.Code, fact coupon.Fact) { s.ask(want, s.request(fact)) }

func (s *script) ask(want coupon.Code, r coupon.Request) {
	s.t.Helper()
	if got := s.Ask(r)[0]; got.Code != want {
		s.t.Fatalf("%+v: answered %s %s, want %s", r.Fact, got.Status, got.Code, want)
	}
}

// issue makes a coupon of u1.
func (s *script) issue(template string) string { return s.issueFor(template, time.Time{}, time.Time{}) }

func (s *script) issueFor(template string, from, until time.Time) string {
	s.t.Helper()
	f := coupon.ImportCoupon{
		Code: s.name("c"), Template: s.Space + template, Owner: s.Space + "u1", ValidFrom: from, ValidUntil: until,
	}
	s.fact(coupon.Created, f)
	return coupon.Fold(f.Code)
}

// lease is the latest of a coupon.
func (s *script) lease(id string) coupon.LeaseRow {
	rows := s.Sight(id).Leases
	return rows[len(rows)-1]
}

// lock leases a coupon in the name of an order.
func (s *script) lock(id string) coupon.LeaseRow {
	s.t.Helper()
	s.fact(coupon.OK, coupon.LockCoupon{Coupon: id, Order: s.name("o")})
	return s.lease(id)
}

// use redeems a coupon and gives the order that did.
func (s *script) use(id string) string {
	s.t.Helper()
	lease := s.lock(id)
	s.fact(coupon.OK, coupon.RedeemCoupon{Coupon: id, Order: lease.Order, Token: lease.TokenHash, Payment: "p"})
	return lease.Order
}

// Coupons in the states that are ends.
func (s *script) voided() string {
	s.t.Helper()
	id := s.issue(free)
	s.fact(coupon.OK, coupon.VoidCoupon{Coupon: id})
	return id
}

func (s *script) refunded() string {
	s.t.Helper()
	id := s.issue(retires)
	s.fact("RETIRE:FULL", coupon.ReturnCoupon{Coupon: id, Order: s.use(id), Refund: "r"})
	return id
}

func (s *script) expired() string {
	s.t.Helper()
	id := s.issueFor(free, time.Time{}, s.Now().Add(time.Hour))
	s.Pass(2 * time.Hour)
	s.fact(coupon.Lapsed, coupon.ValidityOver{Coupon: id})
	return id
}

// placed is an order of u1 that costs 100 and names coupons.
func (s *script) placed(order string, ids ...string) coupon.OrderPlaced {
	f := coupon.OrderPlaced{Order: order, Customer: s.Space + "u1", Payable: 100}
	for _, id := range ids {
		f.Wanted = append(f.Wanted, coupon.Wanted{Coupon: id})
	}
	return f
}

// keys: each kind of command, repeated, with other content, and from the future.
func (s *script) keys() {
	known := s.issue(free)
	for _, about := range []func(id string) coupon.Command{
		func(id string) coupon.Command { return coupon.LockCoupon{Coupon: id, Order: id} },
		func(id string) coupon.Command { return coupon.RedeemRequested{Coupon: id, Request: s.name("till")} },
		func(id string) coupon.Command { return coupon.RenewLease{Coupon: id} },
		func(id string) coupon.Command { return coupon.ReleaseLease{Coupon: id} },
		func(id string) coupon.Command { return coupon.RedeemCoupon{Coupon: id, Order: id} },
		func(id string) coupon.Command { return coupon.SwapCoupons{Order: id} },
		func(id string) coupon.Command { return coupon.VoidCoupon{Coupon: id} },
		func(id string) coupon.Command { return coupon.ReverseChange{Coupon: id} },
		func(id string) coupon.Command { return coupon.ReturnCoupon{Coupon: id, Order: id, Refund: "r"} },
		func(id string) coupon.Command { return coupon.ClaimCoupon{Template: id} },
		func(id string) coupon.Command {
			return coupon.IssueCoupons{Template: id, Items: []coupon.IssueItem{{Code: id}}}
		},
		func(id string) coupon.Command {
			return coupon.CreateTemplate{Template: id, Terms: coupon.Terms{Total: -2}}
		},
		func(id string) coupon.Command { return coupon.EditTemplate{Template: id} },
	} {
		first := s.request(about(s.name("nobody")))
		want := coupon.UnknownCoupon
		switch first.Fact.(type) {
		case coupon.SwapCoupons:
			want = coupon.Rejected(coupon.UnknownOrder)
		case coupon.ClaimCoupon, coupon.IssueCoupons, coupon.EditTemplate:
			want = coupon.UnknownTemplate
		case coupon.CreateTemplate:
			want = coupon.InvalidTerms
		}
		s.ask(want, first)
		s.ask(coupon.Duplicate, first)
		other := s.request(about(known))
		other.Key = first.Key
		s.ask(coupon.IdempotencyMismatch, other)
		if swap, ok := other.Fact.(coupon.SwapCoupons); ok {
			swap.Add = []coupon.Wanted{{Coupon: s.name("nobody")}}
			other.Fact = swap
			s.ask(coupon.UnknownCoupon, other)
		}
		early := s.request(about(known))
		early.At = s.Now().Add(48 * time.Hour)
		s.ask(coupon.TimeOutOfRange, early)
	}
}
