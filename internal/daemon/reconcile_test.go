package daemon_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/config"
	"couponlease/internal/coupon"
	"couponlease/internal/reconcile"
	"couponlease/internal/telemetry"
	"couponlease/internal/testkit"
)

// TestOneReplicaReconciles: of several replicas one does the run, finds what is wrong,
// and has the engine repair it when it may; afterwards nobody does another before its time.
func TestOneReplicaReconciles(t *testing.T) {
	s := newShop(t)
	lost := coupon.Request{
		ID: "lost", At: time.Now().Add(-2 * time.Hour), Actor: "test",
		Fact: coupon.PaymentSucceeded{Order: "lost", Payment: "p", Amount: 500, Currency: "EUR"},
	}
	must(t, s.store.Apply(t.Context(), []coupon.Request{lost}, func(w *coupon.World) {
		coupon.Decide(w, &lost)
		w.Seal()
	}), "pay an order that is never placed")
	var replicas []*running
	for range 3 {
		cfg := s.config()
		cfg.ReconcileRepair = config.On
		replicas = append(replicas, start(t, cfg))
	}
	testkit.Eventually(t, 20*time.Second, "a run is over", func() (bool, string) {
		last, err := s.store.LastRun(t.Context(), reconcile.OwnBooks)
		return err == nil && last != nil, fmt.Sprint(last, err)
	})
	last, err := s.store.LastRun(t.Context(), reconcile.OwnBooks)
	if err != nil || last.Found != 1 || last.Opened != 1 || last.Repaired != 1 {
		t.Errorf("run %+v, %v", last, err)
	}
	testkit.Eventually(t, 10*time.Second, "the replica that did it says so", func() (bool, string) {
		done := 0.0
		for _, replica := range replicas {
			done += replica.metric(telemetry.ReconcileRuns, `result="done"`)
		}
		return done == 1, fmt.Sprint(done)
	})
	records, err := s.store.Findings(t.Context(), reconcile.FindingFilter{OpenOnly: true})
	if err != nil || len(records) != 1 || records[0].Fault != coupon.FaultOrphanPayment || records[0].Repair != "REVIEW" {
		t.Errorf("findings %+v, %v", records, err)
	}
}

// TestACountKeepsNoMessageWaiting: counters are counted again on connections of their own,
// and messages are worked off meanwhile, by as few writers as there may be.
func TestACountKeepsNoMessageWaiting(t *testing.T) {
	s := newShop(t)
	s.issue(0, 2)
	conn, err := pgx.Connect(t.Context(), s.postgres)
	must(t, err, "connect")
	t.Cleanup(func() { must(t, conn.Close(context.Background()), "close connection") })
	execute := func(statement string) {
		t.Helper()
		_, err := conn.Exec(t.Context(), statement)
		must(t, err, statement)
	}
	execute(`update coupon_template set imported = imported + 5`)
	execute(`select pg_advisory_lock(hashtextextended(current_schema() || '.recount', 0))`)
	cfg := s.config()
	cfg.ReconcileRepair, cfg.Writers = config.On, 1
	start(t, cfg)
	testkit.Eventually(t, 20*time.Second, "the counting waits", func() (bool, string) {
		var who string
		err := conn.QueryRow(t.Context(), `select coalesce(string_agg(application_name, ','), '') from pg_stat_activity
			where datname = current_database() and wait_event = 'advisory'`).Scan(&who)
		return err == nil && who == "coupond worker", fmt.Sprint(who, err)
	})
	s.publish(placed(0, 0), paid(0))
	s.eventuallyInState(0, coupon.Used)
	execute(`select pg_advisory_unlock(hashtextextended(current_schema() || '.recount', 0))`)
	testkit.Eventually(t, 20*time.Second, "a run is over", func() (bool, string) {
		last, err := s.store.LastRun(t.Context(), reconcile.OwnBooks)
		return err == nil && last != nil && last.Repaired == 1, fmt.Sprint(last, err)
	})
}
