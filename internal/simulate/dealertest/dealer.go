// Package dealertest deals requests to a ledger: every fact and every command, in any
// order, about few enough coupons and orders that they meet. What it leaves to chance
// is drawn from a source that can be repeated, so the same seed deals the same.
//
// Script is the part that leaves nothing to chance: it gets every answer that a
// command can have, and takes every way from state to state.
package dealertest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

// Chance decides what a dealer leaves open.
type Chance interface {
	// Below gives a number from 0 to n-1. what says for whom, in failing tests.
	Below(n int, what string) int
}

type seeded struct{ *rand.Rand }

func (s seeded) Below(n int, _ string) int { return s.IntN(n) }

// Seeded is a chance that comes the same way for the same seed.
func Seeded(seed uint64) Chance { return seeded{rand.New(rand.NewPCG(seed, 1))} }

func pick[T any](c Chance, what string, from ...T) T { return from[c.Below(len(from), what)] }

// oneIn says yes once in n times.
func oneIn(c Chance, n int, what string) bool { return c.Below(n, what) == n-1 }

// Sight gives what is known of a coupon, with no row if nothing is. A dealer looks at
// it to show the right token, and changes nothing of it.
type Sight func(id string) coupon.History

// Options of a dealer.
type Options struct {
	// Space begins the name of everything that is dealt, and Policies is the version
	// of its first return policy, so that worlds in one database keep apart.
	Space    string
	Policies int64
}

// Dealer deals requests. It is used by one goroutine.
type Dealer struct {
	chance  Chance
	sight   Sight
	options Options

	tables int
	dealt  int
	past   []coupon.Request
}

// memory bounds how far back a request is dealt once more.
const memory = 100

// New makes a dealer; before it deals it has to lay a table.
func New(chance Chance, sight Sight, options Options) *Dealer {
	return &Dealer{chance: chance, sight: sight, options: options}
}

// Lay gives the requests that lay a new table: new templates, coupons and orders. Those
// of the table before are dealt seldom from then on, and older ones never.
func (d *Dealer) Lay(now time.Time) []coupon.Request {
	d.tables++
	facts := d.templates()
	for i, code := range []string{"c1", "c2", "c3", "c4"} {
		f := coupon.ImportCoupon{Code: d.named(code, d.tables), Template: d.template(i / 2), Owner: "u1"}
		if i == 3 {
			f.Owner, f.ValidUntil = "", now.Add(time.Hour)
		}
		facts = append(facts, f)
	}
	requests := make([]coupon.Request, len(facts))
	for i, fact := range facts {
		d.dealt++
		requests[i] = coupon.Request{Hash: d.content(), At: now, Actor: "dealer", Fact: fact}
	}
	return requests
}

// Deal gives the next request, as of now.
func (d *Dealer) Deal(now time.Time) coupon.Request {
	d.dealt++
	request := d.any(now)
	if d.past = append(d.past, request); len(d.past) > 2*memory {
		d.past = append(d.past[:0], d.past[len(d.past)-memory:]...)
	}
	return request
}

// content gives the hash of a content that is like no other.
func (d *Dealer) content() (hash [32]byte) {
	binary.BigEndian.PutUint64(hash[:], uint64(d.dealt))
	return hash
}

// any deals something new, or something that came before in one of three ways.
func (d *Dealer) any(now time.Time) coupon.Request {
	request := coupon.Request{ID: d.number("m"), Hash: d.content(), Actor: "dealer"}
	// Each fact has a moment of its own, so that no two placements of an order are equally old.
	request.At = now.Add(-time.Duration(d.chance.Below(100, "ago"))*time.Second + time.Duration(d.dealt)*time.Millisecond)
	if oneIn(d.chance, 60, "ahead") {
		request.At = now.Add(25 * time.Hour)
	}
	again := d.chance.Below(16, "again")
	if again > 2 || len(d.past) == 0 {
		request.Fact = d.fact()
		request.Key = d.key(request.Fact)
		return request
	}
	past := d.past[d.chance.Below(len(d.past), "past")]
	switch again {
	case 0: // delivered once more
		return past
	case 1: // published once more
		past.ID = request.ID
		return past
	default: // its identity on another content
		request.Fact = d.fact()
		request.Key = d.key(request.Fact)
		if _, command := request.Fact.(coupon.Command); !command {
			request.ID, request.At = past.ID, past.At // a message's time is part of what it is
		} else if past.Key != "" {
			request.Key = past.Key
		}
		return request
	}
}

// key gives a command a key of its own; that of a till's request is its redeem number.
func (d *Dealer) key(fact coupon.Fact) string {
	switch f := fact.(type) {
	case coupon.RedeemRequested:
		return coupon.RedeemNumber(f.Request)
	case coupon.Command:
		return d.number("k")
	default:
		return ""
	}
}

func (d *Dealer) number(kind string) string { return fmt.Sprint(d.options.Space, kind, d.dealt) }

// name gives the name of something on the table, or now and then on the one before.
func (d *Dealer) name(what string) string {
	table := d.tables
	if table > 1 && oneIn(d.chance, 16, "table before") {
		table--
	}
	return d.named(what, table)
}

func (d *Dealer) named(what string, table int) string {
	return fmt.Sprint(d.options.Space, what, "-", table)
}

// template names the one with limits, or the one without.
func (d *Dealer) template(i int) string { return d.named([...]string{"T1", "T2"}[i], d.tables) }

// templates defines both, each with a return policy of its own.
func (d *Dealer) templates() []coupon.Fact {
	decision := func(what string) policy.Decision {
		return pick(d.chance, what, policy.Return, policy.Keep, policy.Retire, policy.Void, policy.Review)
	}
	var facts []coupon.Fact
	for i, terms := range []coupon.Terms{
		{Total: 4, PerPerson: 2, PerDay: 1, Budget: 2, UsesPerPerson: 1},
		{Total: 6, PerPerson: -1, PerDay: -1, Budget: -1, UsesPerPerson: -1, Transferable: true},
	} {
		terms.PolicyVersion = d.options.Policies + int64(2*d.tables+i)
		facts = append(facts, coupon.DefinePolicy{Policy: policy.Policy{
			Version: terms.PolicyVersion, Full: decision("full"), Partial: decision("partial"),
			Chargeback: decision("chargeback"), ExtendDays: 3 * i, BudgetBack: oneIn(d.chance, 2, "budget back"),
		}}, coupon.DefineTemplate{Template: coupon.Template{ID: d.template(i), Terms: terms}})
	}
	return facts
}
