package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

// traffic makes up requests about a few orders and coupons at a time, so that they
// meet, and moves on to others before all is said about them.
type traffic struct {
	random   *rand.Rand
	model    *model
	messages int
	policies int64
	commands []coupon.Request
	// times are those of the messages so far: one that comes again carries its own.
	times map[string]time.Time
}

func newTraffic(seed uint64, m *model) *traffic {
	return &traffic{
		random: rand.New(rand.NewPCG(seed, 1)), model: m, policies: policy.DefaultVersion, times: map[string]time.Time{},
	}
}

func (g *traffic) order() string  { return fmt.Sprint("o", g.messages/25+g.random.IntN(6)) }
func (g *traffic) coupon() string { return fmt.Sprint("c", g.number()) }
func (g *traffic) number() int    { return g.messages/25 + g.random.IntN(9) }

func (g *traffic) sometimes(value string) string {
	if g.random.IntN(4) == 0 {
		return value
	}
	return ""
}

// batch gives up to six requests; now and then one that came before.
func (g *traffic) batch(now time.Time) []coupon.Request {
	requests := make([]coupon.Request, 0, 6)
	for range 1 + g.random.IntN(6) {
		g.messages++
		id := fmt.Sprint("m", g.messages)
		if g.random.IntN(10) == 0 {
			id = fmt.Sprint("m", 1+g.random.IntN(g.messages))
		}
		at := now.Add(-time.Duration(g.random.IntN(3600)) * time.Second)
		if first, known := g.times[id]; known {
			at = first
		}
		g.times[id] = at
		switch g.random.IntN(12) {
		case 0:
			requests = append(requests, g.again(now))
			continue
		case 1, 2, 3, 4:
			requests = append(requests, g.asks(at, g.command()))
			continue
		}
		r := request(id, at, g.fact(now))
		if g.random.IntN(20) == 0 {
			r.ID = ""
		}
		requests = append(requests, r)
	}
	return requests
}

// certain gives what a test must not leave to chance: a coupon that expires, one whose
// uses are counted for its owner, bought, one that is returned, an order that pays
// without one, a message that comes twice, and commands of every kind.
func (g *traffic) certain(now time.Time) (batches [][]coupon.Request) {
	template := coupon.Template{ID: "certain", Terms: coupon.Terms{Budget: coupon.NoLimit, UsesPerPerson: 2}}
	facts := []coupon.Fact{
		coupon.DefineTemplate{Template: template},
		coupon.ImportCoupon{Code: "OVER", Template: template.ID, ValidUntil: now.Add(-time.Minute)},
		coupon.ValidityOver{Coupon: "over"},
		coupon.ImportCoupon{Code: "COUNTED", Template: template.ID, Owner: "ann"},
		coupon.OrderPlaced{
			Order: "certain", Customer: "ann", Payable: 900, Currency: "EUR", Lease: time.Hour,
			Wanted: []coupon.Wanted{{Coupon: "counted", Discount: 100}},
		},
		coupon.PaymentSucceeded{Order: "certain", Payment: "certain", Amount: 900, Currency: "EUR"},
		coupon.ImportCoupon{Code: "RETURNED", Template: template.ID},
		placed("returned", "returned"), paid("returned"),
		coupon.RefundApproved{Order: "returned", Refund: "certain", Amount: 900, Currency: "EUR", Reason: "return"},
		placed("without", "nobody"), paid("without"),
		coupon.ImportCoupon{Code: "LOST", Template: "nowhere"},
		coupon.DefinePolicy{Policy: policy.Policy{
			Version: 1_000_000, Full: policy.Return, Partial: policy.Keep, Chargeback: policy.Keep,
		}},
	}
	var requests []coupon.Request
	for _, fact := range facts {
		g.messages++
		id := fmt.Sprint("m", g.messages)
		g.times[id] = now
		requests = append(requests, request(id, now, fact))
	}
	requests = append(requests, requests[0])
	first, second := g.certainCommands(now)
	return [][]coupon.Request{requests, first, second}
}

func (g *traffic) fact(now time.Time) coupon.Fact {
	order := g.order()
	switch g.random.IntN(15) {
	case 0, 1, 2, 3:
		return g.placement(order)
	case 4:
		return g.leaseDue()
	case 5:
		return coupon.PaymentSucceeded{
			Order: order, Payment: fmt.Sprint(order, "-p", g.random.IntN(2)),
			Amount: 900, Currency: "EUR", FullPrice: g.random.IntN(5) == 0,
		}
	case 6:
		reason := [...]string{"cancelled", "payment_declined", "abandoned"}[g.random.IntN(3)]
		return coupon.OrderClosed{Order: order, Parent: g.sometimes(g.order()), Reason: reason}
	case 7, 8:
		return coupon.RefundApproved{
			Order: order, Refund: fmt.Sprint("r", g.random.IntN(3)), Amount: int64(300 * (1 + g.random.IntN(3))),
			Currency: "EUR", Reason: [...]string{"return", policy.ReasonChargeback}[g.random.IntN(2)],
		}
	case 9:
		return g.leaseDue()
	case 10:
		return coupon.ValidityOver{Coupon: g.coupon()}
	case 11:
		return g.resolution()
	default:
		return g.definition(now)
	}
}

// resolution is what a person decides about some case, perhaps a second time.
func (g *traffic) resolution() coupon.Fact {
	f := coupon.ResolveReview{Review: noUUID, Outcome: coupon.OutcomeKeep, Note: "seen"}
	if len(g.model.reviews) == 0 {
		return f
	}
	review := g.model.reviews[g.random.IntN(len(g.model.reviews))]
	f.Review, f.Order, f.Coupon = review.ID, review.Order, review.Coupon
	outcomes := coupon.ReviewOutcomes()
	f.Outcome = outcomes[g.random.IntN(len(outcomes))]
	if f.Outcome == coupon.OutcomeGoodwill {
		f.Code, f.Template = fmt.Sprint("SORRY", g.number()), fmt.Sprint("t", g.random.IntN(4))
	}
	if f.Validate() != nil {
		f.Outcome = coupon.OutcomeDismiss
	}
	return f
}

func (g *traffic) placement(order string) coupon.OrderPlaced {
	f := coupon.OrderPlaced{
		Order: order, Customer: "ann", Payable: 900, Currency: "EUR", Supersedes: g.sometimes(g.sometimes(g.order())),
		Parent: g.sometimes(g.sometimes(g.order())), Revision: int64(g.random.IntN(3)), QuoteID: g.sometimes("quote \"1\""),
		Lease: time.Microsecond, OpenEnded: g.random.IntN(4) == 0,
	}
	if g.random.IntN(2) == 0 {
		f.Lease = time.Duration(1+g.random.IntN(20*24)) * time.Hour
	}
	if g.random.IntN(6) == 0 {
		f.Payable = 0
	}
	for range g.random.IntN(3) {
		wanted := coupon.Wanted{Coupon: g.coupon(), Discount: 100}
		if !slices.Contains(f.Coupons(), wanted.Coupon) {
			f.Wanted = append(f.Wanted, wanted)
		}
	}
	return f
}

// leaseDue is about a lease that there is or was.
func (g *traffic) leaseDue() coupon.LeaseDue {
	f := coupon.LeaseDue{Coupon: g.coupon(), Order: g.order(), LeaseID: noUUID}
	if h := g.model.histories[f.Coupon]; h != nil && len(h.Leases) > 0 {
		lease := h.Leases[len(h.Leases)-1-g.random.IntN(min(2, len(h.Leases)))]
		f.Order, f.LeaseID, f.TokenHash, f.Version = lease.Order, lease.LeaseID, lease.TokenHash, lease.Version
	}
	return f
}

// definition makes the things that orders then name.
func (g *traffic) definition(now time.Time) coupon.Fact {
	switch g.random.IntN(4) {
	case 0:
		g.policies++
		decisions := [...]policy.Decision{policy.Return, policy.Retire, policy.Keep, policy.Void, policy.Review}
		return coupon.DefinePolicy{Policy: policy.Policy{
			Version: g.policies, Full: decisions[g.random.IntN(5)], Partial: decisions[g.random.IntN(5)],
			Chargeback: decisions[g.random.IntN(5)], ExtendDays: g.random.IntN(2) * 7, BudgetBack: g.random.IntN(2) == 0,
		}}
	case 1:
		n := g.random.IntN(4)
		template := coupon.Template{ID: fmt.Sprint("t", n), Terms: coupon.Unlimited()}
		template.PolicyVersion = g.model.policies[g.random.IntN(len(g.model.policies))].Version
		template.ValidDays, template.Transferable, template.Zone = 10*n, n == 3, "Europe/Berlin"
		switch n {
		case 1:
			template.Budget = 3
		case 2:
			template.UsesPerPerson = 2
		}
		return coupon.DefineTemplate{Template: template}
	default:
		f := coupon.ImportCoupon{
			Code: fmt.Sprint("C", g.number()), Template: fmt.Sprint("t", g.random.IntN(4)),
			Owner: [...]string{"", "ann", "ann", "bob"}[g.random.IntN(4)], Batch: "batch, 1",
		}
		if g.random.IntN(3) == 0 {
			f.ValidUntil = now.Add(time.Duration(g.random.IntN(1000)) * time.Millisecond)
		}
		return f
	}
}
