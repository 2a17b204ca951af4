package store

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
	"couponlease/internal/policy"
	"couponlease/internal/testkit"
)

// battle is traffic in which writers want the same rows, each in an order of its own.
// Everything else about it is theirs alone, so that no other lock keeps them apart.
type battle struct {
	name string
	// fact of writer w; n counts its facts.
	fact func(random *rand.Rand, w, n int) coupon.Fact
	// counts tells how often what the traffic is about has happened.
	counts string
	// shared gives the id of the message; "" gives it one of its own.
	shared func(n int) string
}

const prizes = 12

func prize(kind string, random *rand.Rand) string { return fmt.Sprint(kind, random.IntN(prizes)) }

var battles = []battle{
	{name: "orders", fact: func(random *rand.Rand, _, n int) coupon.Fact {
		order := prize("o", random)
		switch n % 3 {
		case 0:
			return coupon.OrderClosed{Order: order, Reason: "cancelled"}
		case 1:
			return coupon.PaymentSucceeded{Order: order, Parent: prize("o", random), Payment: fmt.Sprint(n), Amount: 1}
		default:
			return placed(order)
		}
	}},
	{name: "new orders", fact: func(random *rand.Rand, _, n int) coupon.Fact {
		return paid(fmt.Sprint("new", n/prizes*prizes+random.IntN(prizes)))
	}},
	{name: "coupons", fact: takeAndLeave("free")},
	{name: "templates and persons", fact: takeAndLeave("scarce")},
	{name: "what is new", fact: func(random *rand.Rand, _, n int) coupon.Fact {
		fresh := fmt.Sprint("new", n/prizes*prizes+random.IntN(prizes))
		switch n % 2 {
		case 0:
			return coupon.DefineTemplate{Template: unlimited(fresh)}
		default:
			return coupon.ImportCoupon{Code: fresh, Template: prize("t", random)}
		}
	}},
	{name: "messages", fact: func(*rand.Rand, int, int) coupon.Fact { return coupon.ValidityOver{Coupon: "nobody"} },
		shared: func(n int) string { return fmt.Sprint("m", n) }},
	{name: "keys", fact: func(*rand.Rand, int, int) coupon.Fact { return coupon.VoidCoupon{Coupon: "nobody"} },
		shared: func(n int) string { return fmt.Sprint("k", n) }},
	{name: "commands", fact: orderAbout("scarce")},
	{name: "campaigns", fact: campaigning, counts: `select count(*) from user_coupon where origin = 'CLAIM'`},
}

// campaigning gives claims, batches, imports and edits of shared campaigns by and for shared
// persons, and leases of shared coupons whose owners are counted.
func campaigning(random *rand.Rand, w, n int) coupon.Fact {
	template, person := prize("t", random), fmt.Sprint("owner", random.IntN(3))
	switch n % 6 {
	case 0, 1:
		return coupon.ClaimCoupon{Template: template, Person: person, Batch: [...]string{"", "B"}[random.IntN(2)]}
	case 2:
		other := coupon.IssueItem{Person: fmt.Sprint("owner", random.IntN(3))}
		return coupon.IssueCoupons{Template: template, Batch: prize("b", random), Items: []coupon.IssueItem{{Person: person}, other}}
	case 3:
		total := int64(1000 + n)
		return coupon.EditTemplate{Template: template, Set: coupon.TermsEdit{Total: &total}}
	case 4:
		return coupon.LockCoupon{Coupon: prize("scarce", random), Order: fmt.Sprintf("%d-%d", w, n)}
	default:
		return coupon.VoidCoupon{Coupon: prize("scarce", random), Force: true}
	}
}

// orderAbout gives commands about shared coupons and shared orders.
func orderAbout(kind string) func(*rand.Rand, int, int) coupon.Fact {
	return func(random *rand.Rand, w, n int) coupon.Fact {
		id, order := prize(kind, random), prize("o", random)
		switch n % 6 {
		case 0:
			return coupon.LockCoupon{Coupon: id, Order: order}
		case 1:
			return coupon.VoidCoupon{Coupon: id, Force: true}
		case 2:
			return coupon.ReverseChange{Coupon: id}
		case 3:
			return coupon.RedeemRequested{Coupon: id, Request: fmt.Sprintf("%d-%d", w, n)}
		case 4:
			return placed(order, id)
		default:
			other := coupon.Wanted{Coupon: prize(kind, random)}
			return coupon.SwapCoupons{Order: order, Drop: []string{id}, Add: []coupon.Wanted{other}}
		}
	}
}

// takeAndLeave lets orders of the writer's own lock shared coupons and give them back.
func takeAndLeave(kind string) func(*rand.Rand, int, int) coupon.Fact {
	return func(random *rand.Rand, w, n int) coupon.Fact {
		order := fmt.Sprintf("%s-%d-%d", kind, w, n/2)
		if n%2 == 1 {
			return coupon.OrderClosed{Order: order, Reason: "cancelled"}
		}
		return placed(order, prize(kind, random))
	}
}

// battlefield has free coupons of one template, and scarce ones of a limited template
// each.
func battlefield(t *testing.T) *Store {
	t.Helper()
	s := open(t)
	issue(t, s, unlimited("free"))
	for i := range prizes {
		limited := unlimited(fmt.Sprint("t", i))
		limited.Budget, limited.UsesPerPerson, limited.Total = 1000, 1000, 1000
		issue(t, s, limited)
		apply(t, s,
			coupon.Request{Fact: coupon.ImportCoupon{Code: fmt.Sprint("free", i), Template: "free"}},
			coupon.Request{Fact: coupon.ImportCoupon{
				Code: fmt.Sprint("scarce", i), Template: limited.ID, Owner: fmt.Sprint("owner", i%3)}})
	}
	return s
}

func TestOpposedWritersNeverDeadlock(t *testing.T) {
	for _, b := range battles {
		t.Run(b.name, func(t *testing.T) {
			s := battlefield(t)
			at := now(t, s)
			const deadlocks = `select deadlocks from pg_stat_database where datname = current_database()`
			before := scalar[int64](t, s, deadlocks)
			var group sync.WaitGroup
			for w := range 4 {
				group.Go(func() { b.fight(t, s, at, w) })
			}
			group.Wait()
			execute(t, s, `select pg_stat_force_next_flush()`)
			if after := scalar[int64](t, s, deadlocks); after != before {
				t.Errorf("%d deadlocks", after-before)
			}
			if err := s.EachHistory(t.Context(), func(h coupon.History) error {
				for _, violation := range coupon.Check(h) {
					t.Error(violation)
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
			if b.counts != "" && scalar[int](t, s, b.counts) == 0 {
				t.Error("nothing of it has happened")
			}
			wrongCounters(t, s)
			wrongTemplates(t, s)
		})
	}
}

// fight works batches off, and nothing may go wrong.
func (b battle) fight(t *testing.T, s *Store, at time.Time, w int) {
	const batches, size = 50, 12
	random := rand.New(rand.NewPCG(uint64(w), 7))
	var outcomes []coupon.Outcome
	for batch := range batches {
		requests := make([]coupon.Request, size)
		for i := range requests {
			n := batch*size + i
			id := fmt.Sprintf("%d-%d", w, n)
			if b.shared != nil {
				id = b.shared(n)
			}
			fact := b.fact(random, w, n)
			requests[i] = request(id, at, fact)
			if _, isCommand := fact.(coupon.Command); isCommand {
				requests[i].Key = id
			}
		}
		random.Shuffle(size/2, func(i, j int) { // pairs stay together
			requests[2*i], requests[2*j] = requests[2*j], requests[2*i]
			requests[2*i+1], requests[2*j+1] = requests[2*j+1], requests[2*i+1]
		})
		if err := s.Apply(t.Context(), requests, decideAll(requests, &outcomes)); err != nil {
			t.Errorf("%s: %v", Classify(err), err)
			return
		}
	}
}

// wrongCounters compares all counters of uses with what they count.
func wrongCounters(t *testing.T, s *Store) {
	t.Helper()
	uses, err := s.TemplateUses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range uses {
		if u.Held != u.Actual {
			t.Errorf("template %s holds %d, counts %d", u.Template, u.Actual, u.Held)
		}
	}
	persons, err := s.WrongPersonUses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(persons) > 0 {
		t.Errorf("wrong counters: %+v", persons)
	}
}

// TestRacesAreLostOnce lets another replica write the same new row between the decision
// and the commit: it is decided again, with that row.
func TestRacesAreLostOnce(t *testing.T) {
	s := open(t)
	issue(t, s, unlimited("one"), "C1", "C2", "C3", "C4")
	issue(t, s, unlimited("two"))
	at := now(t, s)
	rules := policy.Default()
	rules.Version = 2
	for name, test := range map[string]struct {
		mine, theirs coupon.Request
		then         coupon.Code
	}{
		"message": {
			request("m1", at, coupon.ValidityOver{Coupon: "x"}), request("m1", at, coupon.ValidityOver{Coupon: "x"}),
			coupon.DuplicateEvent,
		},
		"coupon": {
			request("m2", at, coupon.ImportCoupon{Code: "NEW", Template: "one"}),
			request("m3", at, coupon.ImportCoupon{Code: "new", Template: "two"}),
			coupon.Skipped,
		},
		"template": {
			request("m4", at, coupon.DefineTemplate{Template: unlimited("three")}),
			request("m5", at, coupon.DefineTemplate{Template: unlimited("three")}),
			coupon.Skipped,
		},
		"policy": {
			request("m6", at, coupon.DefinePolicy{Policy: rules}),
			request("m7", at, coupon.DefinePolicy{Policy: rules}),
			coupon.Skipped,
		},
		"command": {
			command("k", at, coupon.LockCoupon{Coupon: "c1", Order: "A"}),
			command("k", at, coupon.LockCoupon{Coupon: "c2", Order: "A"}),
			coupon.IdempotencyMismatch,
		},
		"scan at a till": {
			command("RD1", at, coupon.RedeemRequested{Coupon: "c3", Request: "1"}),
			command("RD1", at, coupon.RedeemRequested{Coupon: "c4", Request: "1"}),
			coupon.IdempotencyMismatch,
		},
	} {
		t.Run(name, func(t *testing.T) {
			requests := []coupon.Request{test.mine}
			var outcomes []coupon.Outcome
			decided := 0
			err := s.Apply(t.Context(), requests, func(w *coupon.World) {
				decideAll(requests, &outcomes)(w)
				if decided++; decided == 1 {
					apply(t, s, test.theirs)
				}
			})
			if err != nil || decided != 2 || outcomes[0].Code != test.then {
				t.Errorf("decided %d times, last %+v, want %s: %v", decided, outcomes, test.then, err)
			}
		})
	}
}

// TestCouponAppearsBetweenTheTrips: a coupon is created after its template was looked
// for and before it was locked.
func TestCouponAppearsBetweenTheTrips(t *testing.T) {
	s := open(t)
	limited := unlimited("limited")
	limited.Budget = 5
	issue(t, s, limited, "C1")
	down := unlimited("down")
	down.Status = coupon.TemplateDown
	issue(t, s, down)
	holder := connection(t, s)
	for _, statement := range []string{"begin", "select from coupon_template where template_id = 'limited' for update"} {
		if _, err := holder.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	r := request("m1", now(t, s), placed("o1", "c1", "c2"))
	answer := make(chan coupon.Outcome)
	go func() {
		var outcomes []coupon.Outcome
		if err := s.Apply(t.Context(), []coupon.Request{r}, decideAll([]coupon.Request{r}, &outcomes)); err != nil {
			t.Error(err)
		}
		answer <- outcomes[0]
	}()
	testkit.Eventually(t, time.Minute, "the writer waits for the template", func() (bool, string) {
		waiting := scalar[int](t, s, `select count(*) from pg_stat_activity
			where application_name = $1 and wait_event_type = 'Lock'`, t.Name())
		return waiting == 1, fmt.Sprint(waiting, " sessions wait")
	})
	apply(t, s, coupon.Request{Fact: coupon.ImportCoupon{Code: "C2", Template: "down"}})
	if _, err := holder.Exec(t.Context(), "rollback"); err != nil {
		t.Fatal(err)
	}
	// Whoever missed the template would not know that it is offline.
	if got, want := <-answer, coupon.Rejected(coupon.TemplateOffline); got.Code != want {
		t.Errorf("got %s, want %s", got.Code, want)
	}
}

func TestLinkedOrdersAreLockedTogether(t *testing.T) {
	s := open(t, func(o *Options) { o.MaxLinkedOrders = 40 })
	issue(t, s, unlimited("summer"), "C1")
	at := now(t, s)
	one(t, s, coupon.OK, request("m0", at, placed("o0", "c1")))
	const chain = 20 // longer than the attempts that Apply makes
	for i := 1; i <= chain; i++ {
		f := placed(fmt.Sprint("o", i), "c1")
		f.Supersedes = fmt.Sprint("o", i-1)
		one(t, s, coupon.OK, request(fmt.Sprint("m", i), at, f))
	}
	loaded := 0
	r := request("late", at, paid("o0"))
	err := s.Apply(t.Context(), []coupon.Request{r}, func(w *coupon.World) {
		for i := range chain + 1 {
			if w.OrderRow(fmt.Sprint("o", i)) != nil {
				loaded++
			}
		}
	})
	if err != nil || loaded != chain+1 {
		t.Errorf("%d orders were there, want %d: %v", loaded, chain+1, err)
	}

	strict := openAt(t, s.pool.Config().ConnString(), func(o *Options) { o.MaxLinkedOrders = 10 })
	if err := strict.Apply(t.Context(), []coupon.Request{r}, func(*coupon.World) {}); Classify(err) != batcher.Poison {
		t.Errorf("got %s: %v", Classify(err), err)
	}
}

// TestPolicyIsKnownToEveryReplica: what one replica defined, another reads once and
// keeps.
func TestPolicyIsKnownToEveryReplica(t *testing.T) {
	s := open(t)
	rules := policy.Policy{Version: 7, Full: policy.Retire, Partial: policy.Keep, Chargeback: policy.Keep}
	template := unlimited("strict")
	template.PolicyVersion = 7
	apply(t, s, coupon.Request{Fact: coupon.DefinePolicy{Policy: rules}})
	issue(t, s, template, "C1", "C2")
	at := now(t, s)
	other := openAt(t, s.pool.Config().ConnString())
	for i := range 2 {
		order := fmt.Sprint("o", i)
		one(t, other, coupon.OK, request("place-"+order, at, placed(order, fmt.Sprint("c", i+1))))
		one(t, other, coupon.Redeemed, request("pay-"+order, at, paid(order)))
		refund := coupon.RefundApproved{Order: order, Refund: "r1", Amount: 900, Currency: "EUR", Reason: "return"}
		one(t, other, "RETIRE:FULL", request("refund-"+order, at, refund))
	}
	if known, unknown := other.knownPolicies(map[int64]bool{7: true, 8: true}); len(known) != 1 || len(unknown) != 1 {
		t.Errorf("keeps %v, does not know %v", known, unknown)
	}
}
