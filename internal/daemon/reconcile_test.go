package daemon_test

import (
	"fmt"
	"testing"
	"time"

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
