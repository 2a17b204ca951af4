package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"couponlease/internal/coupon"
	"couponlease/internal/testkit"
)

// campaigns is a store that can make codes, with two templates: "camp" to claim from, and
// "once", of which a person may use one coupon at a time.
func campaigns(t *testing.T) *Store {
	t.Helper()
	s := open(t, func(o *Options) {
		o.Source.Code = func(template string, n int64) string { return fmt.Sprintf("%s-%d", template, n) }
	})
	camp, once := coupon.Unlimited(), coupon.Unlimited()
	camp.PerPerson, camp.PerDay = 100, 100
	once.UsesPerPerson = 1
	apply(t, s,
		coupon.Request{Actor: "test", Fact: coupon.DefineTemplate{Template: coupon.Template{ID: "camp", Terms: camp}}},
		coupon.Request{Actor: "test", Fact: coupon.DefineTemplate{Template: coupon.Template{ID: "once", Terms: once}}})
	return s
}

func claimed(key, person, batch string, at time.Time) coupon.Request {
	return command(key, at, coupon.ClaimCoupon{Template: "camp", Person: person, Batch: batch})
}

func own(code, owner string) coupon.Request {
	return coupon.Request{Actor: "test", Fact: coupon.ImportCoupon{Code: code, Template: "once", Owner: owner}}
}

func placedBy(customer, order string, coupons ...string) coupon.OrderPlaced {
	f := placed(order, coupons...)
	f.Customer = customer
	return f
}

func link(t testing.TB, s *Store, alias, person string) Linked {
	t.Helper()
	done, err := s.Link(t.Context(), Link{Alias: alias, Person: person, Actor: "op", Reason: "one person"})
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func personOf(t testing.TB, s *Store, id string) Person {
	t.Helper()
	p, err := s.Person(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// proveAll proves the coupons and the counters.
func proveAll(t testing.TB, s *Store) {
	t.Helper()
	if err := s.EachHistory(t.Context(), func(h coupon.History) error {
		for _, violation := range coupon.Check(h) {
			t.Error(violation)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func TestLinkedPersonsAreOne(t *testing.T) {
	s := campaigns(t)
	at := now(t, s)
	apply(t, s, own("C1", "Ann@x.org"), own("C2", "p"))
	for i, person := range []string{"ann@x.org", "ann@x.org", "p"} {
		one(t, s, coupon.OK, claimed(fmt.Sprint("k", i), person, "", at))
	}
	one(t, s, coupon.OK, claimed("b1", "ann@x.org", "batch", at))
	one(t, s, coupon.OK, claimed("b2", "p", "batch", at))
	one(t, s, coupon.OK, request("o1", at, placedBy("ann@x.org", "o1", "c1")))
	one(t, s, coupon.OK, request("o2", at, placedBy("p", "o2", "c2")))
	one(t, s, coupon.OK, request("o3", at, placedBy("ann@x.org", "o3")))

	done := link(t, s, " ANN@x.org", "p")
	if diff := cmp.Diff(Linked{Person: "p", Moved: Moved{Coupons: 4, Counters: 2, Orders: 2}}, done); diff != "" {
		t.Error(diff)
	}
	want := Person{
		ID: "p", Aliases: []Alias{{ID: "ann@x.org", Person: "p", Actor: "op"}},
		Coupons: map[coupon.State]int64{coupon.Available: 5, coupon.Locked: 2},
		Counters: []PersonCounter{
			{Template: "camp", Claimed: 5, Day: at.Format(time.DateOnly), OnDay: 5}, {Template: "once", Held: 2},
		},
	}
	for _, id := range []string{"p", "Ann@X.org"} {
		if diff := cmp.Diff(want, personOf(t, s, id), cmpopts.IgnoreFields(Alias{}, "Since")); diff != "" {
			t.Error(diff)
		}
	}
	if n := scalar[int64](t, s, `select count(*) from order_fact where customer_id = 'p'`); n != 3 {
		t.Errorf("the person has %d orders, want 3", n)
	}
	one(t, s, coupon.Duplicate, claimed("b3", "ann@x.org", "batch", at))
	one(t, s, coupon.OK, claimed("k9", "ann@x.org", "", at))
	one(t, s, coupon.Redeemed, request("p1", at, paid("o1")))
	one(t, s, coupon.Rejected(coupon.UseLimitReached), request("o4", at, func() coupon.Fact {
		apply(t, s, own("C3", "ann@x.org"))
		return placedBy("p", "o4", "c3")
	}()))
	if again := link(t, s, "ann@x.org", "p"); !again.Already || again.Moved != (Moved{}) {
		t.Errorf("linked again: %+v", again)
	}
	proveAll(t, s)
	wrongCounters(t, s)
}

func TestChainsOfIDsEndAtThePerson(t *testing.T) {
	s := campaigns(t)
	link(t, s, "a", "b")
	link(t, s, "b", "c") // b brings a along
	if done := link(t, s, "d", "a"); done.Person != "c" {
		t.Errorf("an id of an id became one of %q", done.Person)
	}
	for _, id := range []string{"a", "b", "c", "d"} {
		if p := personOf(t, s, id); p.ID != "c" || len(p.Aliases) != 3 {
			t.Errorf("%s is %+v", id, p)
		}
	}
	for pair, want := range map[[2]string]error{
		{"c", "c"}: ErrSamePerson, {"c", "a"}: ErrSamePerson, {" a ", "a"}: ErrSamePerson, {"a", "e"}: ErrAliasTaken,
		{"", "c"}: ErrNoPerson, {"e", " "}: ErrNoPerson, {"e", "erased:1"}: ErrNoPerson, {"erased:1", "e"}: ErrNoPerson,
	} {
		if _, err := s.Link(t.Context(), Link{Alias: pair[0], Person: pair[1]}); !errors.Is(err, want) {
			t.Errorf("linking %q to %q: %v, want %v", pair[0], pair[1], err, want)
		}
	}
	if person, err := s.Unlink(t.Context(), "a", "op", "it was not"); person != "c" || err != nil {
		t.Errorf("unlinked from %q: %v", person, err)
	}
	if p := personOf(t, s, "a"); p.ID != "a" || len(p.Aliases) != 0 {
		t.Errorf("an id of its own is %+v", p)
	}
	if _, err := s.Unlink(t.Context(), "a", "op", ""); !errors.Is(err, ErrNoAlias) {
		t.Errorf("unlinked twice: %v", err)
	}
	link(t, s, "a", "e")
	if rows, err := s.AuditLog(t.Context(), coupon.AuditFilter{Actor: "op"}); err != nil || len(rows) != 5 ||
		rows[1].Action != "UnlinkPerson" || rows[1].Subject != "c" || rows[1].Reason != "it was not" ||
		rows[2].Action != "LinkPerson" || rows[2].Reason != "one person" {
		t.Errorf("the audit log has %+v: %v", rows, err)
	}
}

// TestLinkingAmongTraffic links ids one after the other while all of them buy and claim.
func TestLinkingAmongTraffic(t *testing.T) {
	const ids, writers = 6, 3
	s := campaigns(t)
	at := now(t, s)
	for i := range prizes {
		apply(t, s, own(fmt.Sprint("c", i), fmt.Sprint("id", i%ids)))
	}
	const deadlocks = `select deadlocks from pg_stat_database where datname = current_database()`
	before := scalar[int64](t, s, deadlocks)
	var group sync.WaitGroup
	var linked atomic.Bool
	var batches atomic.Int64
	for w := range writers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 15))
			for n := 0; !linked.Load() && !t.Failed(); n++ {
				buyAndClaim(t, s, at, random, w, n, ids)
				batches.Add(1)
			}
		})
	}
	for i := 1; i < ids; i++ {
		seen := batches.Load()
		testkit.Eventually(t, time.Minute, "all writers go on", func() (bool, string) {
			done := batches.Load() - seen
			return done >= writers, fmt.Sprint(done, " batches")
		})
		link(t, s, fmt.Sprint("id", i), "id0")
	}
	linked.Store(true)
	group.Wait()
	for _, left := range []string{
		`select count(*) from user_coupon where owner_id like 'id%' and owner_id <> 'id0'`,
		`select count(*) from claim_counter where person_id <> 'id0'`,
		`select count(*) from order_fact where customer_id like 'id%' and customer_id <> 'id0'`,
	} {
		if n := scalar[int64](t, s, left); n != 0 {
			t.Errorf("%d: %s", n, left)
		}
	}
	execute(t, s, `select pg_stat_force_next_flush()`)
	if after := scalar[int64](t, s, deadlocks); after != before {
		t.Errorf("%d deadlocks", after-before)
	}
	proveAll(t, s)
	wrongCounters(t, s)
}

// buyAndClaim works one batch off in which the ids claim, and fight for coupons.
func buyAndClaim(t *testing.T, s *Store, at time.Time, random *rand.Rand, w, n, ids int) {
	var requests []coupon.Request
	for i := range 8 {
		id, who := fmt.Sprintf("%d-%d-%d", w, n, i), fmt.Sprint("id", random.IntN(ids))
		order := fmt.Sprintf("o%d-%d", w, n*8+i/2)
		switch random.IntN(4) {
		case 0:
			requests = append(requests, claimed(id, who, fmt.Sprint("b", random.IntN(3)), at))
		case 1:
			requests = append(requests, claimed(id, who, "", at))
		case 2:
			requests = append(requests, request(id, at, placedBy(who, order, prize("c", random))))
		default:
			requests = append(requests, request(id, at, coupon.OrderClosed{Order: order, Reason: "cancelled"}))
		}
	}
	var outcomes []coupon.Outcome
	if err := s.Apply(t.Context(), requests, decideAll(requests, &outcomes)); err != nil {
		t.Errorf("%s: %v", Classify(err), err)
	}
}

// TestLinkingReadsNoTableWhole: whoever acts for a person waits meanwhile.
func TestLinkingReadsNoTableWhole(t *testing.T) {
	s := open(t)
	for name, test := range map[string]struct{ statement, by string }{
		"aliases":      {personsOfSQL, "person_alias_person"},
		"orders":       {personsLockOrdersSQL, "user_coupon_owner"},
		"templates":    {personsLockTemplatesSQL, "user_coupon_owner"},
		"held":         {personsLockTemplatesSQL, "((template_id = t.template_id) AND (person_id = $1))"},
		"new counters": {personsAdmitCountersSQL, "claim_counter_pkey"},
		"counters":     {personsLockCountersSQL, "claim_counter_pkey"},
		"sums":         {personsAddCountersSQL, "claim_counter_pkey"},
		"old counters": {personsDropCountersSQL, "claim_counter_pkey"},
		"limits":       {personsHonourSQL, "claim_counter_pkey"},
		"coupons":      {personsLockCouponsSQL, "user_coupon_owner"},
		"owners":       {personsMoveCouponsSQL, "user_coupon_owner"},
		"customers":    {personsMoveOrdersSQL, "order_fact_pkey"},
		"link":         {linkPersonSQL, "person_alias_person"},
	} {
		if plan := explain(t, s, test.statement); tableScan.MatchString(plan) || !strings.Contains(plan, test.by) {
			t.Errorf("%s: not by %s\n%s", name, test.by, plan)
		}
	}
}
