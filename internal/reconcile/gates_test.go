package reconcile_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
	"couponlease/internal/reconcile"
)

// red names the gates that are red.
func red(f reconcile.Figures) []string {
	var names []string
	for _, gate := range reconcile.DefaultThresholds().Judge(f) {
		if gate.Red {
			names = append(names, gate.Name)
		}
	}
	return names
}

func TestGates(t *testing.T) {
	found := func(fault coupon.Fault) reconcile.Figures {
		return reconcile.Figures{Open: map[coupon.Fault]int64{fault: 1}}
	}
	for _, test := range []struct {
		name    string
		figures reconcile.Figures
		want    []string
	}{
		{"all is well", reconcile.Figures{OutboxAge: time.Minute, ReconciledAge: time.Hour}, nil},
		{"old leases without a deadline are no fault", found(coupon.FaultOldOpenLease), nil},
		{"double use", found(coupon.FaultDoubleUse), []string{reconcile.GateDoubleUse}},
		{"use by nobody", found(coupon.FaultUsedWithoutRedemption), []string{reconcile.GateDoubleUse}},
		{"orphan lease", found(coupon.FaultOrphanLease), []string{reconcile.GateOrphanLease}},
		{"ledger gap", found(coupon.FaultLedgerGap), []string{reconcile.GateLedgerGap}},
		{"paid", found(coupon.FaultPaidNotRedeemed), []string{reconcile.GatePaidUnsettled}},
		{"orphan payment", found(coupon.FaultOrphanPayment), []string{reconcile.GatePaidUnsettled}},
		{"drift", found(coupon.FaultDrift), []string{reconcile.GateDrift}},
		{"an old outbox", reconcile.Figures{OutboxAge: time.Minute + 1}, []string{reconcile.GateOutboxAge}},
		{"parked rows", reconcile.Figures{OutboxParked: 1}, []string{reconcile.GateOutboxParked}},
		{"late leases", reconcile.Figures{TimersOverdue: 1}, []string{reconcile.GateTimersOverdue}},
		{"dead letters", reconcile.Figures{DeadLetters: 1}, []string{reconcile.GateDeadLetters}},
		{"not reconciled of late", reconcile.Figures{ReconciledAge: 4 * time.Hour}, []string{reconcile.GateReconciliation}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.figures.Reconciled = true
			if diff := cmp.Diff(test.want, red(test.figures)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff([]string{reconcile.GateReconciliation}, red(reconcile.Figures{})); diff != "" {
		t.Errorf("never reconciled (-want +got):\n%s", diff)
	}
}

// TestEveryFaultHasAGate: one finding of any fault makes exactly one gate red, or none if it
// is one of those that are left out on purpose.
func TestEveryFaultHasAGate(t *testing.T) {
	for _, fault := range slices.Concat(coupon.OwnFaults(), coupon.UpstreamFaults()) {
		names := red(reconcile.Figures{Reconciled: true, Open: map[coupon.Fault]int64{fault: 1}})
		want := 1
		if slices.Contains(reconcile.UngatedFaults(), fault) {
			want = 0
		}
		if len(names) != want {
			t.Errorf("%s makes %v red, want %d gates", fault, names, want)
		}
	}
}
