package ledgertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

// command gives a command under a fresh key.
func (p *pair) command(fact coupon.Command) coupon.Request {
	r := p.message(fact)
	r.Key, r.Hash = fmt.Sprint("key of ", r.ID), contentHash(fact)
	if f, till := fact.(coupon.RedeemRequested); till {
		r.Key = coupon.RedeemNumber(f.Request)
	}
	r.Reply = &coupon.ReplyTo{Queue: "replies", Correlation: r.ID}
	return r
}

// commands makes every command happen once, with its refusals, whatever chance brings
// afterwards.
func (p *pair) commands(t *testing.T) {
	rules := policy.Default()
	rules.Full = policy.Void
	p.define(t, rules, 10, 10, func() string { return "u1" })
	order := p.space + "A"
	ask := func(want coupon.Code, fact coupon.Command) coupon.Request {
		t.Helper()
		r := p.command(fact)
		if got := p.send(t, r)[0]; got.Code != want {
			t.Fatalf("%T %+v: answered %s, want %s", fact, fact, got.Code, want)
		}
		return r
	}
	lock := ask(coupon.OK, coupon.LockCoupon{Coupon: p.coupon(0), Order: order, Customer: "u1"})
	token := p.lease(t, 0).TokenHash
	ask(coupon.TokenMismatch, coupon.RenewLease{Coupon: p.coupon(0), Token: coupon.HashToken("guessed")})
	ask(coupon.OK, coupon.RenewLease{Coupon: p.coupon(0), Token: token, Version: 2, Lease: time.Hour})
	ask(coupon.VersionConflict, coupon.ReleaseLease{Coupon: p.coupon(0), Token: token, Version: 2})
	ask(coupon.OK, coupon.ReleaseLease{Coupon: p.coupon(0), Token: token, Version: 3})
	ask(coupon.LeaseGone, coupon.RedeemCoupon{Coupon: p.coupon(0), Order: order, Token: token})
	p.send(t, lock, p.other(lock))

	till := coupon.RedeemRequested{Coupon: p.coupon(0), Request: p.space + "scan", Customer: "u1"}
	ask(coupon.OK, till)
	used := coupon.RedeemNumber(till.Request)
	ask(coupon.OK, coupon.RedeemCoupon{
		Coupon: p.coupon(0), Order: used, Token: p.lease(t, 0).TokenHash, Payment: "receipt",
	})
	till.Request += " again"
	ask(coupon.AlreadyUsed, till)
	ask("VOID:FULL", coupon.ReturnCoupon{Coupon: p.coupon(0), Order: used, Refund: "r"})
	ask(coupon.OK, coupon.ReverseChange{Coupon: p.coupon(0)})
	ask(coupon.OK, coupon.ReverseChange{Coupon: p.coupon(0)})

	p.send(t, p.message(placed(order, p.coupon(0), p.coupon(1))))
	p.pass(time.Second)
	ask(coupon.NotSwapped, coupon.SwapCoupons{Order: order, Drop: []string{p.coupon(3)}})
	ask(coupon.OK, coupon.SwapCoupons{
		Order: order, Drop: []string{p.coupon(1)}, Add: []coupon.Wanted{{Coupon: p.coupon(2)}},
	})
	ask(coupon.InUse, coupon.VoidCoupon{Coupon: p.coupon(2)})
	ask(coupon.OK, coupon.VoidCoupon{Coupon: p.coupon(2), Force: true})
	ask(coupon.OK, coupon.ReverseChange{Coupon: p.coupon(2)})
	p.send(t, p.message(paid(order)))
	p.send(t, p.message(coupon.RefundApproved{Order: order, Refund: "r", Amount: 100, Currency: "EUR"}))
	ask(coupon.OK, coupon.ReverseChange{Coupon: p.coupon(0), Operation: p.lastOperation(t, 0)})
	p.compare(t)
}

// lease is the latest lease of a coupon.
func (p *pair) lease(t rapid.TB, i int) coupon.LeaseRow {
	t.Helper()
	history, _ := p.both(t, p.coupon(i))
	if len(history.Leases) == 0 {
		t.Fatalf("coupon %s never had a lease", p.coupon(i))
	}
	return history.Leases[len(history.Leases)-1]
}

func (p *pair) lastOperation(t rapid.TB, i int) string {
	history, _ := p.both(t, p.coupon(i))
	return history.Operations[len(history.Operations)-1].ID
}

// other gives another command under the key of one.
func (p *pair) other(r coupon.Request) coupon.Request {
	other := p.command(coupon.VoidCoupon{Coupon: p.coupon(0), Force: true, Reason: "another"})
	other.Key = r.Key
	return other
}

// ordered draws a command. The token is of a lease that there is or was.
func (p *pair) ordered(rt *rapid.T) coupon.Command {
	id := rapid.SampledFrom(append(p.began(), p.made...)).Draw(rt, "coupon")
	order := p.order(rapid.IntRange(0, pairOrders-1).Draw(rt, "order"))
	customer := rapid.SampledFrom([]string{"", "u1", "u2"}).Draw(rt, "customer")
	term := time.Duration(rapid.SampledFrom([]int{0, 1, 300, 86400}).Draw(rt, "lease")) * time.Second
	reason := rapid.SampledFrom([]string{"", "why"}).Draw(rt, "reason")
	switch rapid.IntRange(0, 11).Draw(rt, "command") {
	case 0, 1:
		return coupon.LockCoupon{Coupon: id, Order: order, Customer: customer, Lease: term}
	case 2, 3:
		p.scans++
		return coupon.RedeemRequested{
			Coupon: id, Request: p.scan(p.scans), Customer: customer, Lease: term,
		}
	case 4:
		lease := p.shown(rt, id)
		open := rapid.IntRange(0, 3).Draw(rt, "open") == 0
		return coupon.RenewLease{Coupon: id, Token: lease.TokenHash, Version: lease.Version, Lease: term, OpenEnded: open}
	case 5:
		lease := p.shown(rt, id)
		return coupon.ReleaseLease{Coupon: id, Token: lease.TokenHash, Version: lease.Version, Reason: reason}
	case 6, 7:
		lease := p.shown(rt, id)
		if rapid.IntRange(0, 4).Draw(rt, "holder") > 0 {
			order = lease.Order
		}
		payment := rapid.SampledFrom([]string{"", "receipt"}).Draw(rt, "payment")
		return coupon.RedeemCoupon{Coupon: id, Order: order, Token: lease.TokenHash, Version: lease.Version, Payment: payment}
	case 8:
		return p.swapped(rt, order, term)
	case 9:
		return coupon.VoidCoupon{Coupon: id, Reason: reason, Force: rapid.Bool().Draw(rt, "force")}
	case 10:
		history, _ := p.both(rt, id)
		if used := history.Coupon.Redemption; used != nil && rapid.IntRange(0, 4).Draw(rt, "user") > 0 {
			order = used.Order
		}
		refund := rapid.SampledFrom([]string{"r1", "r2", "r3"}).Draw(rt, "refund")
		return coupon.ReturnCoupon{Coupon: id, Order: order, Refund: refund, Reason: reason}
	default:
		return coupon.ReverseChange{
			Coupon: id, Reason: reason, ExpectedVersion: rapid.SampledFrom([]int64{0, 0, 3, 4}).Draw(rt, "expected"),
		}
	}
}

func (p *pair) scan(i int) string { return fmt.Sprintf("%sscan-%d", p.space, i) }

// shown is what somebody says who means a lease: mostly the present one, sometimes an
// older one; with its version or with none.
func (p *pair) shown(rt *rapid.T, id string) coupon.LeaseRow {
	history, _ := p.both(rt, id)
	lease := coupon.LeaseRow{Order: p.order(0), TokenHash: coupon.HashToken("guessed")}
	if n := len(history.Leases); n > 0 {
		lease = history.Leases[max(0, n-1-rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(rt, "older"))]
	}
	if rapid.Bool().Draw(rt, "any version") {
		lease.Version = 0
	}
	return lease
}

func (p *pair) swapped(rt *rapid.T, order string, term time.Duration) coupon.Command {
	f := coupon.SwapCoupons{Order: order, Lease: term}
	all := rapid.SliceOfNDistinct(rapid.IntRange(0, pairCoupons-1), 1, 3, rapid.ID).Draw(rt, "swap")
	drops := rapid.IntRange(0, len(all)).Draw(rt, "drops")
	for i, number := range all {
		if i < drops {
			f.Drop = append(f.Drop, p.coupon(number))
		} else {
			f.Add = append(f.Add, coupon.Wanted{Coupon: p.coupon(number)})
		}
	}
	return f
}

// compareAnswers holds what both ledgers keep of some commands against each other.
func (p *pair) compareAnswers(rt rapid.TB, requests []coupon.Request) {
	for _, r := range requests {
		if r.Key == "" {
			continue
		}
		want, wantErr := p.oracle.ledger.Answer(context.Background(), r.Key)
		got, gotErr := p.subject.ledger.Answer(context.Background(), r.Key)
		if wantErr != nil || gotErr != nil || want == nil {
			rt.Fatalf("answer under %s: %+v, errors %v and %v", r.Key, want, wantErr, gotErr)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("answer under %s differs (-oracle +subject):\n%s", r.Key, diff)
		}
	}
}

// compareFlows does so for the steps at tills. A flow ends at most once, and has ended
// once its lease is gone.
func (p *pair) compareFlows(rt rapid.TB) {
	for i := range p.scans {
		redeemNo := coupon.RedeemNumber(p.scan(i + 1))
		want, wantErr := p.oracle.ledger.Flow(context.Background(), redeemNo)
		got, gotErr := p.subject.ledger.Flow(context.Background(), redeemNo)
		if wantErr != nil || gotErr != nil {
			rt.Fatalf("flow %s: errors %v and %v", redeemNo, wantErr, gotErr)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("flow %s differs (-oracle +subject):\n%s", redeemNo, diff)
		}
		if steps := len(want); steps == 0 || steps > 2 || want[0].Step != coupon.FlowProcessing ||
			steps == 2 && !want[1].Step.Ends() {
			rt.Fatalf("flow %s: %+v", redeemNo, want)
		}
		if len(want) == 2 {
			continue
		}
		if history, _ := p.both(rt, want[0].Coupon); !history.Coupon.LeasedTo(redeemNo) {
			rt.Fatalf("flow %s has not ended, but its coupon is %s", redeemNo, history.Coupon.State)
		}
	}
}

// again gives a request of before: as it was, or another one under its key.
func (p *pair) again(rt *rapid.T) coupon.Request {
	r := rapid.SampledFrom(p.history).Draw(rt, "again")
	if r.Key != "" && rapid.IntRange(0, 3).Draw(rt, "other content") == 0 {
		return p.other(r)
	}
	return r
}
