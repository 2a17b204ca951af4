package e2e

import (
	"fmt"
	"strings"

	"github.com/anishathalye/porcupine"

	"couponlease/internal/coupon"
)

// modelled is what a coupon is to those who ask: a state, who holds it, and a version.
type modelled struct {
	state   coupon.State
	version int64
	// order holds it, by the lease and its token while it is locked.
	order, lease string
	token        coupon.TokenHash
	// kept are the answers to the scene's commands, a line for each key. Buyers repeat
	// no key, and are spared what comparing their answers would take.
	kept string
}

// oneCoupon is the coupon, one question after the other. It knows no clock: a lease
// may be due whenever it is asked about, and may not be.
func oneCoupon() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return modelled{} },
		Step: func(state, input, output any) (bool, any) {
			return state.(modelled).step(input.(coupon.Request), output.(coupon.Outcome))
		},
	}
}

// step says whether the outcome can be the answer, and how the coupon stands then.
func (m modelled) step(request coupon.Request, outcome coupon.Outcome) (bool, any) {
	if !strings.HasPrefix(request.Key, sceneKey) {
		possible, next := m.answer(request.Fact, outcome)
		return possible, next
	}
	if strings.Contains(m.kept, "\n"+request.Key+" ") {
		return m.again(request, outcome), m
	}
	possible, next := m.answer(request.Fact, outcome)
	next.kept += keptLine(request, outcome.Code, outcome.Answer.Version)
	return possible, next
}

func keptLine(request coupon.Request, code coupon.Code, version int64) string {
	return fmt.Sprintf("\n%s %x %s %d\n", request.Key, request.Hash, code, version)
}

// again: a key that is known gets the first answer, or with another content none.
func (m modelled) again(request coupon.Request, outcome coupon.Outcome) bool {
	if outcome.Status == coupon.Repeated {
		return strings.Contains(m.kept, keptLine(request, outcome.First, outcome.Answer.Version))
	}
	same := fmt.Sprintf("\n%s %x ", request.Key, request.Hash)
	return outcome.Code == coupon.IdempotencyMismatch && !strings.Contains(m.kept, same)
}

func (m modelled) answer(fact coupon.Fact, outcome coupon.Outcome) (possible bool, next modelled) {
	if outcome.Status == coupon.Applied {
		next, possible = m.apply(fact, outcome)
		return possible, next
	}
	return m.refuses(fact, outcome), m
}

// apply: what was done could be done, and the answer tells the version that it made.
func (m modelled) apply(fact coupon.Fact, outcome coupon.Outcome) (next modelled, possible bool) {
	next = m
	next.version++
	told := outcome.Answer == nil || outcome.Answer.Version == next.version
	switch f := fact.(type) {
	case coupon.DefineTemplate:
		return m, true
	case coupon.ImportCoupon:
		next.state = coupon.Available
		return next, m.state == coupon.None
	case coupon.LockCoupon:
		next.state, next.order = coupon.Locked, f.Order
		next.lease, next.token = outcome.Answer.LeaseID, *outcome.Answer.Token
		return next, told && m.state == coupon.Available
	case coupon.RenewLease:
		return next, told && m.obeys(f.Token, f.Version) == ""
	case coupon.ReleaseLease:
		return next.free(), told && m.obeys(f.Token, f.Version) == ""
	case coupon.RedeemCoupon:
		next.state, next.lease, next.token = coupon.Used, "", coupon.TokenHash{}
		return next, told && m.obeys(f.Token, f.Version) == "" && f.Order == m.order
	case coupon.ReverseChange:
		return next.free(), told && m.state == coupon.Used
	case coupon.LeaseDue:
		return next.free(), m.current(f)
	default:
		return m, false
	}
}

func (m modelled) free() modelled {
	return modelled{state: coupon.Available, version: m.version, kept: m.kept}
}

// refuses: what was refused, or had no effect, had to be.
func (m modelled) refuses(fact coupon.Fact, outcome coupon.Outcome) bool {
	switch f := fact.(type) {
	case coupon.LockCoupon:
		switch outcome.Code {
		case coupon.Duplicate:
			return m.state == coupon.Locked && m.order == f.Order && outcome.Answer.Version == m.version
		case coupon.AlreadyLocked:
			return m.state == coupon.Locked && m.order != f.Order
		default:
			return outcome.Code == coupon.AlreadyUsed && m.state == coupon.Used
		}
	case coupon.RenewLease:
		return outcome.Code == m.obeys(f.Token, f.Version)
	case coupon.ReleaseLease:
		return outcome.Code == m.obeys(f.Token, f.Version)
	case coupon.RedeemCoupon:
		if outcome.Code == coupon.ExistingRedemption {
			return m.state == coupon.Used && m.order == f.Order && outcome.Answer.Version == m.version
		}
		code := m.obeys(f.Token, f.Version)
		if code == "" && m.order != f.Order {
			code = coupon.AlreadyLocked
		}
		return outcome.Code == code
	case coupon.ReverseChange:
		return m.state != coupon.Used && outcome.Code == coupon.IllegalState(m.state)
	case coupon.LeaseDue:
		// NOOP_NOT_DUE is said of the current lease, NOOP_STALE and the repetition of an answer of any other.
		return m.current(f) == (outcome.Code == coupon.NoopNotDue)
	default:
		return false
	}
}

// obeys says why the coupon does not obey who shows a token; "" when it does.
func (m modelled) obeys(token coupon.TokenHash, version int64) coupon.Code {
	switch {
	case m.state != coupon.Locked:
		return coupon.LeaseGone
	case m.token != token:
		return coupon.TokenMismatch
	case version != 0 && version != m.version:
		return coupon.VersionConflict
	default:
		return ""
	}
}

func (m modelled) current(f coupon.LeaseDue) bool {
	return m.state == coupon.Locked && m.lease == f.LeaseID && m.version == f.Version
}
