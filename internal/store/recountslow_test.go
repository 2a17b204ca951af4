package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
	"couponlease/internal/testkit"
)

// TestTheTimeToCountIsForAllOfIt: two statements, each of which would have had time enough,
// have not together. It is Poison, so that nobody counts for ever.
func TestTheTimeToCountIsForAllOfIt(t *testing.T) {
	s := open(t, func(o *Options) { o.CountTimeout = 400 * time.Millisecond })
	counted(t, s)
	for table, pause := range map[string]float64{"coupon_operation": 0.3, "claim_counter": 0.15} { // read once, read twice
		execute(t, s, fmt.Sprintf(`alter table %[1]s rename to slow_%[1]s`, table))
		execute(t, s, fmt.Sprintf(`create view %[1]s as select slow_%[1]s.* from slow_%[1]s, pg_sleep(%[2]v)`, table, pause))
	}
	command := request("slow", now(t, s), coupon.RecountTemplate{Template: "spring"})
	command.Key = command.ID
	err := s.Apply(t.Context(), []coupon.Request{command}, decideAll([]coupon.Request{command}, new([]coupon.Outcome)))
	if !errors.Is(err, ErrTooManyToCount) || Classify(err) != batcher.Poison {
		t.Fatalf("got %v", err)
	}
}

// TestALinkDuringACountHoldsNobodyUp: it waits for the counting, and nobody for it. An
// erasure that has no such patience says what it waited for.
func TestALinkDuringACountHoldsNobodyUp(t *testing.T) {
	s := open(t)
	counted(t, s)
	named := func(name string, patience time.Duration) *Store {
		return openAt(t, s.pool.Config().ConnString(), func(o *Options) {
			o.MaxConns, o.ApplicationName, o.LockTimeout = 1, name, patience
			o.CountTimeout, o.StatementTimeout = time.Minute, time.Minute
		})
	}
	counting, linking, hasty := named("counting", time.Minute), named("linking", time.Minute), named("hasty", 50*time.Millisecond)
	execute(t, s, `update claim_counter set claimed = claimed + 3 where person_id = 'ann'`)
	conn := connection(t, s)
	if _, err := conn.Exec(t.Context(), `begin; lock table return_policy in access exclusive mode`); err != nil {
		t.Fatal(err)
	}
	answered, linked := make(chan coupon.Outcome), make(chan error)
	go func() {
		request, outcomes := request("count", now(t, s), coupon.RecountTemplate{Template: "spring"}), []coupon.Outcome{{}}
		request.Key = request.ID
		_ = counting.Apply(context.Background(), []coupon.Request{request}, decideAll([]coupon.Request{request}, &outcomes))
		answered <- outcomes[0]
	}()
	waits := func(name string) {
		t.Helper()
		testkit.Eventually(t, 10*time.Second, name+" waits", func() (bool, string) {
			n := scalar[int64](t, s, `select count(*) from pg_stat_activity where application_name = $1 and wait_event_type = 'Lock'`, name)
			return n == 1, fmt.Sprint(n)
		})
	}
	waits("counting")
	go func() { linked <- linking.LinkPerson(context.Background(), "ann", "bob", "op") }()
	waits("linking")
	claimOf(t, s, "spring", "ann")
	order := placed("meanwhile", claimOf(t, s, "spring", "eve"))
	order.Customer = "eve"
	one(t, s, coupon.OK, request("meanwhile", now(t, s), order))
	if _, err := hasty.Unlink(t.Context(), "ann", "op", "wrong"); !errors.Is(err, ErrCounting) {
		t.Errorf("who does not wait gets %v", err)
	}
	if _, err := conn.Exec(t.Context(), `rollback`); err != nil {
		t.Fatal(err)
	}
	if outcome := <-answered; outcome.Code != coupon.Recounted {
		t.Errorf("answered %+v", outcome)
	}
	if err := <-linked; err != nil {
		t.Error(err)
	}
	if n := scalar[int64](t, s, `select claimed from claim_counter where person_id = 'bob'`); n != 5 {
		t.Errorf("the two have claimed %d, want 5", n)
	}
	if _, found := reconciled(t, s); len(found) != 0 {
		t.Errorf("found %v", found)
	}
}
