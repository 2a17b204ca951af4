package store

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
	"couponlease/internal/testkit"
)

// TestOpposedWritersNeverDeadlock lets writers want the same orders, templates, persons
// and coupons in opposite orders.
func TestOpposedWritersNeverDeadlock(t *testing.T) {
	const writers, batches, size, things = 4, 60, 12, 10
	s := open(t)
	limited := coupon.Template{Budget: 1000, UsesPerPerson: 1000}
	for i := range things {
		limited.ID = fmt.Sprint("t", i%3)
		issue(t, s, limited)
		apply(t, s, coupon.Request{Fact: coupon.ImportCoupon{
			Code: fmt.Sprint("c", i), Template: limited.ID, Owner: fmt.Sprint("owner", i%4)}})
	}
	before := scalar[int64](t, s, `select deadlocks from pg_stat_database where datname = current_database()`)
	at := now(t, s)
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 7))
			var outcomes []coupon.Outcome
			for batch := range batches {
				var requests []coupon.Request
				for i := range size {
					order := fmt.Sprint("o", random.IntN(things))
					f := placed(order, fmt.Sprint("c", random.IntN(things)))
					f.Parent = fmt.Sprint("o", random.IntN(things))
					id := fmt.Sprintf("m-%d-%d-%d", w, batch, i)
					var fact coupon.Fact = f
					switch random.IntN(5) {
					case 0:
						fact = paid(order)
					case 1:
						fact = coupon.OrderClosed{Order: order, Reason: "cancelled"}
					case 2: // a coupon, a template and a policy that others make as well
						n := batch*size + i
						fact = coupon.ImportCoupon{Code: fmt.Sprint("new", n), Template: fmt.Sprint("t", n%3)}
					case 3:
						id = fmt.Sprintf("same-%d-%d", batch, i) // other writers bring it too
					}
					requests = append(requests, request(id, at, fact))
				}
				for { // a race for the same new row is lost once and then seen
					err := s.Apply(t.Context(), requests, decideAll(requests, &outcomes))
					if err == nil {
						break
					}
					if Classify(err) != Transient {
						t.Errorf("%s: %v", Classify(err), err)
						return
					}
				}
			}
		})
	}
	group.Wait()
	execute(t, s, `select pg_stat_force_next_flush()`)
	if after := scalar[int64](t, s,
		`select deadlocks from pg_stat_database where datname = current_database()`); after != before {
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
	wrongCounters(t, s)
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
// and the commit.
func TestRacesAreLostOnce(t *testing.T) {
	s := open(t)
	issue(t, s, unlimited("one"))
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
	} {
		t.Run(name, func(t *testing.T) {
			requests := []coupon.Request{test.mine}
			var outcomes []coupon.Outcome
			err := s.Apply(t.Context(), requests, func(w *coupon.World) {
				decideAll(requests, &outcomes)(w)
				apply(t, s, test.theirs)
			})
			if got := Classify(err); got != Transient {
				t.Fatalf("got %s, want %s: %v", got, Transient, err)
			}
			one(t, s, test.then, test.mine)
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
	if err := strict.Apply(t.Context(), []coupon.Request{r}, func(*coupon.World) {}); Classify(err) != Poison {
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
