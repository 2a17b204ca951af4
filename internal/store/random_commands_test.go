package store

import (
	"fmt"
	"slices"
	"time"

	"couponlease/internal/coupon"
)

// asks gives a command under a fresh key, which is kept for those who ask again.
func (g *traffic) asks(now time.Time, fact coupon.Command) coupon.Request {
	g.messages++
	key := fmt.Sprint("k", g.messages)
	if f, till := fact.(coupon.RedeemRequested); till {
		key = coupon.RedeemNumber(f.Request)
	}
	r := command(key, now, fact)
	if g.random.IntN(2) == 0 {
		r.Reply = &coupon.ReplyTo{Queue: "replies", Correlation: key}
	}
	g.commands = append(g.commands, r)
	return r
}

// again repeats a command, or gives its key to another one.
func (g *traffic) again(now time.Time) coupon.Request {
	r := g.commands[g.random.IntN(len(g.commands))]
	if g.random.IntN(3) == 0 {
		return command(r.Key, now, coupon.VoidCoupon{Coupon: g.coupon(), Reason: "another"})
	}
	return r
}

func (g *traffic) command() coupon.Command {
	id, order := g.coupon(), g.order()
	term := time.Duration(g.random.IntN(3)) * time.Hour
	lease := g.lease(id)
	if g.random.IntN(2) == 0 {
		lease.Version = 0
	}
	switch g.random.IntN(16) {
	case 0, 1:
		return coupon.LockCoupon{Coupon: id, Order: order, Customer: g.sometimes("bob"), Lease: term}
	case 2, 3:
		g.messages++
		return coupon.RedeemRequested{Coupon: id, Request: fmt.Sprint("scan", g.messages), Lease: term}
	case 4:
		return coupon.RenewLease{
			Coupon: id, Token: lease.TokenHash, Version: lease.Version, Lease: term, OpenEnded: g.random.IntN(4) == 0,
		}
	case 5:
		return coupon.ReleaseLease{Coupon: id, Token: lease.TokenHash, Version: lease.Version, Reason: g.sometimes("why")}
	case 6:
		return coupon.RedeemCoupon{
			Coupon: id, Order: lease.Order, Token: lease.TokenHash, Version: lease.Version, Payment: g.sometimes("receipt"),
		}
	case 7:
		f := coupon.SwapCoupons{Order: order, Lease: term}
		for _, other := range []string{g.coupon(), g.coupon()} {
			switch {
			case slices.Contains(f.Coupons(), other):
			case g.random.IntN(2) == 0:
				f.Drop = append(f.Drop, other)
			default:
				f.Add = append(f.Add, coupon.Wanted{Coupon: other})
			}
		}
		return f
	case 8:
		return coupon.VoidCoupon{Coupon: id, Force: g.random.IntN(2) == 0}
	case 9:
		return coupon.ReturnCoupon{Coupon: id, Order: order, Refund: fmt.Sprint("r", g.random.IntN(3))}
	case 10, 11:
		return g.repair(id, lease.Order)
	case 12, 13, 14:
		return g.campaign()
	default:
		return coupon.ReverseChange{Coupon: id}
	}
}

// campaign is about one of the templates, and perhaps about too many coupons of it.
func (g *traffic) campaign() coupon.Command {
	template := fmt.Sprint("t", g.random.IntN(4))
	person := [...]string{"", "ann", "bob", "Cid@Example.org"}[g.random.IntN(4)]
	switch g.random.IntN(6) {
	case 0:
		item := coupon.IssueItem{Code: g.sometimes(fmt.Sprint("C", g.number())), Person: person}
		return coupon.IssueCoupons{Template: template, Batch: g.sometimes("batch, 1"), Items: []coupon.IssueItem{item, {Person: "dan"}}}
	case 1:
		total, zone := int64(5+g.random.IntN(40)), [...]string{"", "Asia/Shanghai"}[g.random.IntN(2)]
		return coupon.EditTemplate{Template: template, Set: coupon.TermsEdit{Total: &total, Zone: &zone}}
	default:
		return coupon.ClaimCoupon{Template: template, Batch: g.sometimes("batch, 1"), Person: person}
	}
}

// repair is what reconciliation may ask.
func (g *traffic) repair(id, holder string) coupon.Command {
	switch g.random.IntN(5) {
	case 4:
		return coupon.ReportFault{Fault: coupon.FaultDoubleUse, Order: g.order(), Coupon: id}
	case 3:
		return coupon.EndFlow{Coupon: id, RedeemNo: holder}
	case 0:
		return coupon.SettleOrder{Order: g.order()}
	case 1:
		return coupon.SettleLease{Coupon: id, Order: holder}
	default:
		return coupon.ReportOrphan{Order: g.order(), Patience: time.Duration(g.random.IntN(2)) * time.Hour}
	}
}

// lease is one that the coupon has or had.
func (g *traffic) lease(id string) coupon.LeaseRow {
	if h := g.model.histories[id]; h != nil && len(h.Leases) > 0 {
		return h.Leases[len(h.Leases)-1-g.random.IntN(min(2, len(h.Leases)))]
	}
	return coupon.LeaseRow{LeaseID: noUUID, Order: g.order()}
}

// certainCommands gives every command that does something, and those that are asked
// again. The source of the test draws tokens that can be told beforehand.
func (g *traffic) certainCommands(now time.Time) (first, second []coupon.Request) {
	token := func(order, id string, generation int) coupon.TokenHash {
		return coupon.HashToken(fmt.Sprintf("%s/%s/%d", order, id, generation))
	}
	const one, two = "command1", "command2"
	first = []coupon.Request{
		request("command-m1", now, coupon.ImportCoupon{Code: one, Template: "certain"}),
		request("command-m2", now, coupon.ImportCoupon{Code: two, Template: "certain"}),
	}
	for _, fact := range []coupon.Command{
		coupon.LockCoupon{Coupon: one, Order: "q"},
		coupon.RenewLease{Coupon: one, Token: token("q", one, 1), Lease: time.Hour},
		coupon.RenewLease{Coupon: one, Token: token("guessed", one, 1)},
		coupon.RenewLease{Coupon: one, Token: token("q", one, 1), Version: 1},
		coupon.ReleaseLease{Coupon: one, Token: token("q", one, 1)},
		coupon.ReleaseLease{Coupon: one, Token: token("q", one, 1)},
		coupon.RedeemRequested{Coupon: one, Request: "certain"},
		coupon.RedeemRequested{Coupon: one, Request: "rejected"},
		coupon.RedeemCoupon{
			Coupon: one, Order: coupon.RedeemNumber("certain"), Token: token(coupon.RedeemNumber("certain"), one, 2),
		},
		coupon.VoidCoupon{Coupon: two},
	} {
		first = append(first, g.asks(now, fact))
	}
	lock := first[2]
	second = []coupon.Request{
		lock, command(lock.Key, now, coupon.VoidCoupon{Coupon: two}),
		g.asks(now, coupon.ReverseChange{Coupon: one}), g.asks(now, coupon.ReverseChange{Coupon: two}),
		request("command-m3", now, placed("swapping", one)),
		g.asks(now.Add(time.Minute), coupon.SwapCoupons{Order: "swapping", Add: []coupon.Wanted{{Coupon: "nobody"}}}),
		g.asks(now.Add(time.Minute), coupon.SwapCoupons{
			Order: "swapping", Drop: []string{one}, Add: []coupon.Wanted{{Coupon: two}},
		}),
	}
	return first, slices.Concat(second, g.certainCampaign(now))
}

// certainCampaign sells a campaign out, by claims and by a batch, and gets the refusals that
// are left.
func (g *traffic) certainCampaign(now time.Time) (requests []coupon.Request) {
	const id = "rationed"
	terms := coupon.Unlimited()
	terms.Name, terms.Total, terms.PerPerson, terms.PerDay, terms.Zone = "käufer \"1\"", 3, 5, 1, "Asia/Shanghai"
	terms.Discount = coupon.Discount{Kind: coupon.AmountOff, Amount: 500, MinSpend: 2000, Currency: "EUR"}
	terms.ValidFrom, terms.ValidUntil = now.Add(-time.Hour), now.Add(24*time.Hour)
	more := int64(4)
	for _, fact := range []coupon.Command{
		coupon.CreateTemplate{Template: id, Terms: terms},
		coupon.ClaimCoupon{Template: id, Person: "ann", Batch: "b"},
		coupon.ClaimCoupon{Template: id, Person: "ann", Batch: "b"},
		coupon.ClaimCoupon{Template: id, Person: "ann"},
		coupon.IssueCoupons{Template: id, Batch: "b", Items: []coupon.IssueItem{{Person: "bob"}, {Code: "Rationed"}}},
		coupon.ClaimCoupon{Template: id, Person: "cid"},
		coupon.EditTemplate{Template: id, Set: coupon.TermsEdit{Total: &more}},
	} {
		requests = append(requests, g.asks(now, fact))
	}
	return requests
}
