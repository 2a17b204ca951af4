package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
	"couponlease/internal/policy"
	"couponlease/internal/reconcile"
	"couponlease/internal/testkit"
)

// keepsBudget is a policy under which a returned use stays counted.
const keepsBudget = 7

// counted makes a campaign with every counter in use: ann and bob have claimed two each,
// carl has an imported coupon; of the five, three are held, of which one by ann, and one
// was given back and stays counted.
func counted(t *testing.T, s *Store) {
	t.Helper()
	keeps := policy.Default()
	keeps.Version = keepsBudget
	terms := coupon.Unlimited()
	terms.Total, terms.Budget, terms.UsesPerPerson, terms.PerPerson, terms.PolicyVersion = 1000, 500, 40, 50, keepsBudget
	apply(t, s, coupon.Request{Fact: coupon.DefinePolicy{Policy: keeps}},
		coupon.Request{Fact: coupon.DefineTemplate{Template: coupon.Template{ID: "spring", Terms: terms}}},
		coupon.Request{Fact: coupon.ImportCoupon{Code: "old", Template: "spring", Owner: "carl"}})
	mine := map[string]string{}
	for _, person := range []string{"ann", "ann", "bob", "bob"} {
		mine[person] = claimOf(t, s, "spring", person)
	}
	for person, id := range map[string]string{"ann": mine["ann"], "bob": mine["bob"], "carl": "old"} {
		command := request("lock "+id, now(t, s), coupon.LockCoupon{Coupon: id, Order: "q-" + id, Customer: person, Lease: time.Hour})
		command.Key = command.ID
		one(t, s, coupon.OK, command)
	}
	given := claimOf(t, s, "spring", "dora")
	order := placed("o", given)
	order.Customer = "dora"
	one(t, s, coupon.OK, request("placed", now(t, s), order))
	one(t, s, coupon.Redeemed, request("paid", now(t, s), paid("o")))
	one(t, s, "RETURN:FULL", request("refunded", now(t, s), coupon.RefundApproved{Order: "o", Refund: "r", Amount: 900, Currency: "EUR"}))
}

// claimOf has a person claim one coupon of a campaign.
func claimOf(t testing.TB, s *Store, template, person string) string {
	t.Helper()
	command := request(realSource().ID(), now(t, s), coupon.ClaimCoupon{Template: template, Person: person})
	command.Key = command.ID
	outcome := apply(t, s, command)[0]
	if outcome.Code != coupon.OK {
		t.Fatalf("%s claims: %+v", person, outcome)
	}
	return outcome.Answer.Coupon
}

// miscounts are all counters, each wrong in both directions.
func miscounts() map[string]string {
	return map[string]string{
		"issued, too many":            `update coupon_template set issued = issued + 3`,
		"issued, too few":             `update coupon_template set issued = issued - 3`,
		"imported, too many":          `update coupon_template set imported = imported + 1`,
		"imported, too few":           `update coupon_template set imported = 0`,
		"held, too many":              `update coupon_template set held = held + 1`,
		"held, too few":               `update coupon_template set held = 0`,
		"held by a person, too many":  `update claim_counter set held = held + 1 where person_id = 'carl'`,
		"held by a person, too few":   `update claim_counter set held = 0 where person_id = 'ann'`,
		"held by nobody":              `insert into claim_counter (template_id, person_id, held) values ('spring', 'zoe', 2)`,
		"a person that is not there":  `delete from claim_counter where person_id = 'ann'`,
		"claimed by a person, more":   `update claim_counter set claimed = claimed + 1 where person_id = 'ann'`,
		"claimed by a person, fewer":  `update claim_counter set claimed = 0, claimed_on_day = 0 where person_id = 'bob'`,
		"claimed by nobody":           `insert into claim_counter (template_id, person_id, held, claimed) values ('spring', 'yves', 0, 2)`,
		"everything":                  `update coupon_template set issued = 0, imported = 9, held = 9`,
		"nothing of persons is there": `delete from claim_counter`,
	}
}

func repairing(t *testing.T, s *Store) func(*reconcile.RunOptions) {
	return func(o *reconcile.RunOptions) {
		o.Repair = &reconcile.Repair{Engine: engineOf{t, s}, Reason: "drill", Rate: 100_000, Patience: time.Hour}
	}
}

// TestEachWrongCounterIsFoundAndRepaired: and is gone in the next run, with its evidence.
func TestEachWrongCounterIsFoundAndRepaired(t *testing.T) {
	s := open(t)
	counted(t, s)
	if _, found := reconciled(t, s); len(found) != 0 {
		t.Fatalf("found %v", found)
	}
	for name, statement := range miscounts() {
		t.Run(name, func(t *testing.T) {
			before := allCounters(t, s)
			execute(t, s, statement)
			if allCounters(t, s) == before {
				t.Fatal("nothing was planted")
			}
			summary, found := reconciled(t, s, repairing(t, s))
			if !slices.Equal(found, []string{"DRIFT spring"}) || summary.Repaired != 1 || summary.Repairs["RECOUNTED"] != 1 {
				t.Errorf("found %v; repaired %d: %v", found, summary.Repaired, summary.Repairs)
			}
			gone, found := reconciled(t, s)
			if len(found) != 0 || gone.Closed != 1 {
				t.Errorf("afterwards found %v, closed %d", found, gone.Closed)
			}
			if after := allCounters(t, s); after != before {
				t.Errorf("counters are\n%s, were\n%s", after, before)
			}
			rows, err := s.AuditLog(t.Context(), coupon.AuditFilter{Action: "RecountTemplate", Limit: 1})
			if err != nil || len(rows) != 1 || len(rows[0].Corrections) == 0 || rows[0].Subject != "spring" ||
				rows[0].Code != coupon.Recounted || rows[0].Reason != "drill" {
				t.Errorf("the audit log has %+v, %v", rows, err)
			}
			for _, c := range rows[0].Corrections {
				if c.Before == c.After || strings.Contains(c.Person, "ann") {
					t.Errorf("corrected %+v", c)
				}
			}
		})
	}
}

// allCounters gives all counters that are not 0, as a text.
func allCounters(t *testing.T, s *Store) string {
	t.Helper()
	return scalar[string](t, s, `select concat_ws(' ', (select concat_ws('/', issued, imported, held) from coupon_template),
		(select string_agg(concat_ws(':', person_id, held, claimed), ' ' order by person_id) from claim_counter
			where held <> 0 or claimed <> 0))`)
}

// TestWhatIsBeyondALimitStaysFound: the counters say the truth, and a person has to see to
// the rest. More than the total cannot even be said.
func TestWhatIsBeyondALimitStaysFound(t *testing.T) {
	s := open(t)
	counted(t, s)
	execute(t, s, `update coupon_template set held = 0, budget = 2`)
	if _, found := reconciled(t, s, repairing(t, s)); !slices.Equal(found, []string{"DRIFT spring"}) {
		t.Fatalf("found %v", found)
	}
	if held := scalar[int64](t, s, `select held from coupon_template`); held != 4 {
		t.Errorf("%d uses are counted as held, want 4", held)
	}
	summary, _ := reconciled(t, s, repairing(t, s))
	if kept := findings(t, s, reconcile.FindingFilter{OpenOnly: true}); len(kept) != 1 ||
		kept[0].Detail != "4 uses held of 2" || kept[0].Repair != string(coupon.Noop) || summary.Repaired != 0 {
		t.Errorf("kept %+v", kept)
	}
	execute(t, s, `update coupon_template set issued = 4, total = 4, budget = 500`)
	summary, _ = reconciled(t, s, repairing(t, s))
	if summary.Repairs[string(coupon.BelowIssued)] != 1 || scalar[int64](t, s, `select issued from coupon_template`) != 4 {
		t.Errorf("repairs were answered %v", summary.Repairs)
	}
}

// TestManyWrongPersonsAreRepairedPageByPage: memory is bounded, and every run goes on.
func TestManyWrongPersonsAreRepairedPageByPage(t *testing.T) {
	s := open(t, func(o *Options) { o.PageSize = 10 })
	counted(t, s)
	execute(t, s, `insert into claim_counter (template_id, person_id, held)
		select 'spring', 'nobody-' || n, 1 from generate_series(1, 25) n`)
	runs := 0
	for ; ; runs++ {
		if summary, _ := reconciled(t, s, repairing(t, s)); summary.Found == 0 || runs > 5 {
			break
		}
	}
	if runs != 3 {
		t.Errorf("it took %d runs to repair 25 counters by tens, want 3", runs)
	}
}

// TestCountersAreRepairedUnderTraffic: claims, leases and what ends them go on while the
// counters are wrong and are set right; in the end all agree.
func TestCountersAreRepairedUnderTraffic(t *testing.T) {
	s := open(t, func(o *Options) { o.MaxConns = 12 })
	counted(t, s)
	before := scalar[int64](t, s, `select issued from coupon_template`)
	stop := make(chan struct{})
	var traffic sync.WaitGroup
	claimed := make([]int64, 4)
	for worker := range claimed {
		traffic.Go(func() {
			person := fmt.Sprint("p", worker)
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if claimed[worker] < 50 {
					claimOf(t, s, "spring", person)
					claimed[worker]++
				}
				order := placed(fmt.Sprint(person, "-", n), "old", scalar[string](t, s,
					`select coupon_id from user_coupon where owner_id = $1 limit 1`, person))
				order.Customer = person
				id := fmt.Sprint(person, " ", n)
				apply(t, s, request(id+" placed", now(t, s), order))
				apply(t, s, request(id+" closed", now(t, s), coupon.OrderClosed{Order: order.Order, Reason: "cancelled"}))
			}
		})
	}
	for round := range 12 {
		execute(t, s, `update coupon_template set issued = issued + $1, imported = imported + 1, held = held + 2`, 1+round%3)
		execute(t, s, `update claim_counter set claimed = claimed + 1 where person_id = 'bob'`)
		execute(t, s, `update claim_counter set held = held + 1 where person_id = 'carl'`)
		if summary, found := reconciled(t, s, repairing(t, s)); len(found) != 1 || summary.Repaired != 1 {
			t.Errorf("round %d: found %v, repaired %d: %v", round, found, summary.Repaired, summary.Repairs)
		}
		if _, found := reconciled(t, s); len(found) != 0 {
			t.Errorf("round %d: found %v afterwards", round, found)
		}
	}
	close(stop)
	traffic.Wait()
	for _, n := range claimed {
		before += n
	}
	if issued := scalar[int64](t, s, `select issued from coupon_template`); issued != before {
		t.Errorf("%d are counted as issued, want %d", issued, before)
	}
	if _, found := reconciled(t, s); len(found) != 0 {
		t.Errorf("in the end found %v", found)
	}
}

// TestACountThatTakesTooLongIsAnError: of that request alone, and nobody waits any longer.
func TestACountThatTakesTooLongIsAnError(t *testing.T) {
	s := open(t, func(o *Options) { o.CountTimeout, o.MaxConns = 100*time.Millisecond, 1 })
	counted(t, s)
	first := request("first", now(t, s), coupon.RecountTemplate{Template: "spring"})
	first.Key = first.ID
	one(t, s, coupon.Noop, first) // and the statements are known to the connection
	conn := connection(t, s)
	if _, err := conn.Exec(t.Context(), `begin; lock table coupon_operation in access exclusive mode`); err != nil {
		t.Fatal(err)
	}
	command := request("again", now(t, s), coupon.RecountTemplate{Template: "spring"})
	command.Key = command.ID
	decide := decideAll([]coupon.Request{command}, new([]coupon.Outcome))
	err := s.Apply(t.Context(), []coupon.Request{command}, decide)
	if !errors.Is(err, ErrTooManyToCount) || Classify(err) != batcher.Poison {
		t.Fatalf("got %v", err)
	}
	if _, err := conn.Exec(t.Context(), `rollback`); err != nil {
		t.Fatal(err)
	}
	one(t, s, coupon.Noop, command)
}

// poisonous is an engine that has no answer to recounts.
type poisonous struct{ engineOf }

func (e poisonous) SubmitAll(ctx context.Context, requests []coupon.Request) ([]coupon.Outcome, []error) {
	outcomes, errs := make([]coupon.Outcome, len(requests)), make([]error, len(requests))
	for i, r := range requests {
		if _, recount := r.Fact.(coupon.RecountTemplate); recount {
			if len(requests) > 1 {
				e.t.Errorf("one of %d requests is counted again", len(requests))
			}
			errs[i] = &batcher.Error{Class: batcher.Poison, Err: ErrTooManyToCount}
			continue
		}
		answers, _ := e.engineOf.SubmitAll(ctx, requests[i:i+1])
		outcomes[i] = answers[0]
	}
	return outcomes, errs
}

// TestARepairThatFailsStopsNoOther: what cannot be repaired says why.
func TestARepairThatFailsStopsNoOther(t *testing.T) {
	s := open(t)
	counted(t, s)
	execute(t, s, `update coupon_template set imported = 9`)
	execute(t, s, `delete from lease_timer`)
	execute(t, s, `update user_coupon set lease_deadline = now() - interval '1 hour' where state = 'LOCKED'`)
	summary, _ := reconciled(t, s, func(o *reconcile.RunOptions) {
		o.Repair = &reconcile.Repair{Engine: poisonous{engineOf{t, s}}, Reason: "drill", Rate: 100_000, Patience: time.Hour}
	})
	if summary.Repairs["FAILED"] != 1 || summary.Repairs[string(coupon.Released)] != 3 || summary.Finished.IsZero() {
		t.Errorf("repaired %d: %v", summary.Repaired, summary.Repairs)
	}
	kept := findings(t, s, reconcile.FindingFilter{Fault: coupon.FaultDrift})
	if len(kept) != 1 || !strings.HasPrefix(kept[0].Repair, "FAILED: ") || !strings.Contains(kept[0].Repair, "too many coupons") {
		t.Errorf("kept %+v", kept)
	}
}

// TestNobodyWaitsWhileCouponsAreCounted: the counting is held up here, and claims and leases
// go on; what they change meanwhile is counted right.
func TestNobodyWaitsWhileCouponsAreCounted(t *testing.T) {
	s := open(t)
	counted(t, s)
	counting := openAt(t, s.pool.Config().ConnString(), func(o *Options) {
		o.MaxConns, o.ApplicationName, o.CountTimeout, o.LockTimeout = 1, "counting", time.Minute, time.Minute
	})
	ask := func(key string) coupon.Request {
		r := request(key, now(t, s), coupon.RecountTemplate{Template: "spring"})
		r.Key = r.ID
		return r
	}
	one(t, counting, coupon.Noop, ask("first")) // and the statements are known to the connection
	execute(t, s, `update coupon_template set issued = issued + 5, imported = 3, held = held + 1`)
	wrong := scalar[int64](t, s, `select issued from coupon_template`)

	conn := connection(t, s)
	if _, err := conn.Exec(t.Context(), `begin; lock table return_policy in access exclusive mode`); err != nil {
		t.Fatal(err)
	}
	answered := make(chan coupon.Outcome)
	go func() {
		request, outcomes := ask("second"), []coupon.Outcome{{}}
		_ = counting.Apply(context.Background(), []coupon.Request{request}, decideAll([]coupon.Request{request}, &outcomes))
		answered <- outcomes[0]
	}()
	testkit.Eventually(t, 10*time.Second, "the counting waits", func() (bool, string) {
		n := scalar[int64](t, s, `select count(*) from pg_stat_activity where application_name = 'counting' and wait_event_type = 'Lock'`)
		return n == 1, fmt.Sprint(n)
	})
	claimOf(t, s, "spring", "eve")
	lock := request("lock", now(t, s), coupon.LockCoupon{Coupon: claimOf(t, s, "spring", "eve"), Order: "q", Customer: "eve", Lease: time.Hour})
	lock.Key = lock.ID
	one(t, s, coupon.OK, lock)
	if n := scalar[int64](t, s, `select issued from coupon_template`); n != wrong+2 {
		t.Errorf("%d are counted as issued, want %d", n, wrong+2)
	}
	if _, err := conn.Exec(t.Context(), `rollback`); err != nil {
		t.Fatal(err)
	}
	if outcome := <-answered; outcome.Code != coupon.Recounted {
		t.Errorf("answered %+v", outcome)
	}
	if n := scalar[int64](t, s, `select issued from coupon_template`); n != wrong-3 {
		t.Errorf("%d are counted as issued in the end, want %d", n, wrong-3)
	}
	if _, found := reconciled(t, s); len(found) != 0 {
		t.Errorf("found %v", found)
	}
}
