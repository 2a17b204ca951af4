package dealertest

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

// holds: all that a command which leases a coupon is answered.
func (s *script) holds(kind string, hold func(id, customer string) coupon.Fact) {
	u1 := s.Space + "u1"
	s.fact(coupon.Voided, hold(s.voided(), u1))
	s.fact(coupon.AlreadyRefunded, hold(s.refunded(), u1))
	s.fact(coupon.ExpiredState, hold(s.expired(), u1))
	c := s.issue(free)
	s.fact(coupon.NotOwner, hold(c, s.Space+"u2"))
	const tooLong = 25 * time.Hour
	if kind == "LockCoupon" {
		s.fact(coupon.RenewCap, coupon.LockCoupon{Coupon: c, Order: s.name("o"), Lease: tooLong})
	} else {
		s.fact(coupon.RenewCap, coupon.RedeemRequested{Coupon: c, Request: s.name("till"), Lease: tooLong})
	}
	s.fact(coupon.OK, hold(c, u1))
	s.fact(coupon.AlreadyLocked, hold(c, u1))
	if kind == "LockCoupon" {
		s.fact(coupon.Duplicate, coupon.LockCoupon{Coupon: c, Order: s.lease(c).Order})
	}
	used := s.issue(free)
	s.use(used)
	s.fact(coupon.AlreadyUsed, hold(used, u1))
	s.fact(coupon.TemplateOffline, hold(s.issue(offline), u1))
	s.fact(coupon.NotStarted, hold(s.issueFor(free, s.Now().Add(time.Hour), time.Time{}), u1))
	for template, code := range inOrder(map[string]coupon.Code{single: coupon.UseLimitReached, budget: coupon.BudgetExhausted}) {
		held, second := s.issue(template), s.issue(template)
		s.fact(coupon.OK, hold(held, u1))
		s.fact(code, hold(second, u1))
		s.fact(coupon.OK, coupon.ReleaseLease{Coupon: held, Token: s.lease(held).TokenHash})
	}
}

// shows: all that whoever shows a lease is answered.
func (s *script) shows() {
	guess := coupon.HashToken("guess")
	c := s.issueFor(free, time.Time{}, s.Now().Add(time.Hour))
	old := s.lock(c)
	for _, show := range []func(coupon.TokenHash, int64) coupon.Fact{
		func(token coupon.TokenHash, version int64) coupon.Fact {
			return coupon.RenewLease{Coupon: c, Token: token, Version: version}
		},
		func(token coupon.TokenHash, version int64) coupon.Fact {
			return coupon.ReleaseLease{Coupon: c, Token: token, Version: version}
		},
		func(token coupon.TokenHash, version int64) coupon.Fact {
			return coupon.RedeemCoupon{Coupon: c, Order: s.lease(c).Order, Token: token, Version: version}
		},
	} {
		if s.Sight(c).Coupon.State == coupon.Available {
			s.fact(coupon.LeaseGone, show(old.TokenHash, 0))
			s.lock(c)
		}
		current := s.lease(c)
		s.fact(coupon.TokenMismatch, show(guess, current.Version))
		if current.LeaseID != old.LeaseID {
			s.fact(coupon.TokenMismatch, show(old.TokenHash, current.Version))
		}
		s.fact(coupon.VersionConflict, show(current.TokenHash, current.Version-1))
		s.fact(coupon.OK, show(current.TokenHash, current.Version))
		if s.Sight(c).Coupon.State == coupon.Used {
			s.fact(coupon.OK, coupon.ReverseChange{Coupon: c})
		} else if s.Sight(c).Coupon.State == coupon.Locked {
			s.fact(coupon.RenewCap, coupon.RenewLease{Coupon: c, Token: current.TokenHash, OpenEnded: true})
			s.fact(coupon.OK, coupon.ReleaseLease{Coupon: c, Token: current.TokenHash})
		}
		s.fact(coupon.LeaseGone, show(current.TokenHash, 0))
	}
	// An order takes a quote over by its token, and by no other.
	quote := s.lock(c)
	order := s.placed(s.name("o"), c)
	for _, token := range []coupon.TokenHash{guess, old.TokenHash} {
		order.Wanted[0].Token = &token
		s.fact(coupon.Rejected(coupon.TokenMismatch), order)
		order.Revision++
	}
	order.Wanted[0].Token = &quote.TokenHash
	s.fact(coupon.OK, order)
}

// redeems: what besides is answered to who wants to redeem.
func (s *script) redeems() {
	c := s.issue(free)
	lease := s.lock(c)
	redeem := coupon.RedeemCoupon{Coupon: c, Order: s.name("o"), Token: lease.TokenHash, Payment: "p"}
	s.fact(coupon.AlreadyLocked, redeem)
	redeem.Order = lease.Order
	s.fact(coupon.OK, redeem)
	s.fact(coupon.ExistingRedemption, redeem)

	closed, late := s.placed(s.name("o")), s.issue(free)
	s.fact(coupon.OK, closed)
	s.fact(coupon.Noop, coupon.OrderClosed{Order: closed.Order, Reason: "cancelled"})
	s.fact(coupon.OK, coupon.LockCoupon{Coupon: late, Order: closed.Order})
	s.fact(coupon.OrderAlreadyClosed, coupon.RedeemCoupon{
		Coupon: late, Order: closed.Order, Token: s.lease(late).TokenHash, Payment: "p",
	})

	unpaid := s.issue(free)
	order := s.placed(s.name("o"), unpaid)
	s.fact(coupon.OK, order)
	s.fact(coupon.IllegalState(coupon.Locked), coupon.RedeemCoupon{
		Coupon: unpaid, Order: order.Order, Token: s.lease(unpaid).TokenHash,
	})
}

func (s *script) swaps() {
	had, next := s.issue(free), s.issue(free)
	order := s.placed(s.name("o"), had)
	s.fact(coupon.OK, order)
	swap := coupon.SwapCoupons{Order: order.Order, Drop: []string{had}, Add: []coupon.Wanted{{Coupon: s.Space + "nobody"}}}
	s.fact(coupon.NotSwapped, swap)
	swap.Add[0].Coupon = next
	s.fact(coupon.OK, swap)
	stale := s.request(coupon.SwapCoupons{Order: order.Order, Drop: []string{next}})
	stale.At = stale.At.Add(-time.Hour)
	s.ask(coupon.Rejected(coupon.StaleRevision), stale)
	many := coupon.SwapCoupons{Order: order.Order}
	for i := range coupon.MaxNamed {
		many.Add = append(many.Add, coupon.Wanted{Coupon: fmt.Sprint(s.Space, "nobody", i)})
	}
	s.fact(coupon.Rejected(coupon.TooManyFacts), many)
	part := s.placed(s.name("o"), s.issue(free))
	part.Parent = s.name("o")
	s.fact(coupon.OK, part)
	s.fact(coupon.Rejected(coupon.NotApplicable), coupon.SwapCoupons{Order: part.Order, Drop: part.Coupons()})
	s.fact(coupon.Released, coupon.OrderClosed{Order: order.Order, Reason: "cancelled"})
	s.fact(coupon.Rejected(coupon.OrderAlreadyClosed), coupon.SwapCoupons{Order: order.Order})
}

func (s *script) withdraws() {
	c := s.issue(free)
	s.lock(c)
	s.fact(coupon.InUse, coupon.VoidCoupon{Coupon: c})
	s.fact(coupon.OK, coupon.VoidCoupon{Coupon: c, Force: true})
	s.fact(coupon.IllegalState(coupon.Void), coupon.VoidCoupon{Coupon: c, Force: true})
	used := s.issue(free)
	s.use(used)
	for state, id := range inOrder(map[coupon.State]string{
		coupon.Used: used, coupon.Refunded: s.refunded(), coupon.Expired: s.expired(),
	}) {
		s.fact(coupon.IllegalState(state), coupon.VoidCoupon{Coupon: id, Force: true})
	}
}

func (s *script) reverses() {
	locked := s.issue(free)
	s.lock(locked)
	for state, id := range inOrder(map[coupon.State]string{
		coupon.Available: s.issue(free), coupon.Locked: locked, coupon.Refunded: s.refunded(), coupon.Expired: s.expired(),
	}) {
		s.fact(coupon.IllegalState(state), coupon.ReverseChange{Coupon: id})
	}
	used := s.issue(free)
	s.use(used)
	rows := s.Sight(used).Operations
	last := rows[len(rows)-1]
	s.fact(coupon.VersionConflict, coupon.ReverseChange{Coupon: used, Operation: rows[0].ID})
	s.fact(coupon.VersionConflict, coupon.ReverseChange{Coupon: used, Operation: last.ID, ExpectedVersion: last.From})
	s.fact(coupon.OK, coupon.ReverseChange{Coupon: used, Operation: last.ID, ExpectedVersion: last.To})
	s.fact(coupon.OK, coupon.ReverseChange{Coupon: s.voided()})
	for template, code := range inOrder(map[string]coupon.Code{single: coupon.UseLimitReached, budget: coupon.BudgetExhausted}) {
		c, other := s.issue(template), s.issue(template)
		s.fact("VOID:FULL", coupon.ReturnCoupon{Coupon: c, Order: s.use(c), Refund: "r"})
		lease := s.lock(other)
		s.fact(code, coupon.ReverseChange{Coupon: c})
		s.fact(coupon.OK, coupon.ReleaseLease{Coupon: other, Token: lease.TokenHash})
		s.fact(coupon.OK, coupon.ReverseChange{Coupon: c})
		s.fact(coupon.OK, coupon.ReverseChange{Coupon: c})
	}
}

func (s *script) returns() {
	locked := s.issue(free)
	s.lock(locked)
	for state, id := range inOrder(map[coupon.State]string{
		coupon.Available: s.issue(free), coupon.Locked: locked, coupon.Refunded: s.refunded(),
		coupon.Expired: s.expired(), coupon.Void: s.voided(),
	}) {
		s.fact(coupon.IllegalState(state), coupon.ReturnCoupon{Coupon: id, Order: s.name("o"), Refund: "r"})
	}
	for template, decision := range inOrder(map[string]policy.Decision{
		free: policy.Return, keeps: policy.Keep, reviews: policy.Review, voids: policy.Void,
	}) {
		c := s.issue(template)
		give := coupon.ReturnCoupon{Coupon: c, Order: s.use(c), Refund: "r"}
		s.fact(coupon.AlreadyUsed, coupon.ReturnCoupon{Coupon: c, Order: s.name("o"), Refund: "r"})
		s.fact(coupon.Code(decision)+":FULL", give)
		s.fact(coupon.DuplicateRefund, give)
	}
	c := s.issue(free)
	order := s.use(c)
	var refunds []coupon.Request
	for i := range coupon.MaxRefunds {
		refunds = append(refunds, s.request(coupon.RefundApproved{Order: order, Refund: fmt.Sprint("r", i), Amount: 1}))
	}
	s.Ask(refunds...)
	s.fact(coupon.TooManyFacts, coupon.ReturnCoupon{Coupon: c, Order: order, Refund: "r"})

	// A refund that was told while nothing was used is decided first, and ends the use.
	again := s.issue(voids)
	bought := s.placed(s.name("o"), again)
	s.fact(coupon.OK, bought)
	s.fact(coupon.Redeemed, coupon.PaymentSucceeded{Order: bought.Order, Payment: "p", Amount: 100})
	s.fact("VOID:FULL", coupon.RefundApproved{Order: bought.Order, Refund: "r1", Amount: 100})
	s.Ask(s.request(coupon.RefundApproved{Order: bought.Order, Refund: "r2", Amount: 100}))
	s.fact(coupon.OK, coupon.ReverseChange{Coupon: again})
	s.Pass(time.Second)
	s.fact(coupon.OK, coupon.ReturnCoupon{Coupon: again, Order: bought.Order, Refund: "r3"})
}

// ends: whatever ends when the validity is over.
func (s *script) ends() {
	until := s.Now().Add(time.Hour)
	issue := func(template string) string { return s.issueFor(template, time.Time{}, until) }
	locked, returned, reversed, voided := issue(free), issue(free), issue(free), issue(free)
	lease := s.lock(locked)
	order := s.use(returned)
	s.use(reversed)
	s.fact(coupon.OK, coupon.VoidCoupon{Coupon: voided})
	s.Pass(2 * time.Hour)
	s.fact(coupon.OK, coupon.ReleaseLease{Coupon: locked, Token: lease.TokenHash})
	s.fact("RETURN:FULL", coupon.ReturnCoupon{Coupon: returned, Order: order, Refund: "r"})
	s.fact(coupon.OK, coupon.ReverseChange{Coupon: reversed})
	s.fact(coupon.OK, coupon.ReverseChange{Coupon: voided})
}

// inOrder goes through a map the same way each time.
func inOrder[K cmp.Ordered, V any](m map[K]V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}
