package store

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"couponlease/internal/coupon"
	"couponlease/internal/reconcile"
)

// keepFound keeps one finding for each subject as those of one run.
func keepFound(t *testing.T, s *Store, fault coupon.Fault, subjects ...string) {
	t.Helper()
	var all []coupon.Finding
	for _, subject := range subjects {
		all = append(all, coupon.Finding{Fault: fault, Subject: subject})
	}
	if _, err := s.KeepFindings(t.Context(), uuid.NewString(), all); err != nil {
		t.Fatal(err)
	}
}

// TestManyFindingsHideNoOther: a fault that is found more often than anybody counts leaves
// the figures of the others as they are.
func TestManyFindingsHideNoOther(t *testing.T) {
	s := open(t)
	keepFound(t, s, coupon.FaultDrift, "a", "b", "c", "d")
	keepFound(t, s, coupon.FaultUsedWithoutRedemption, "x", "y")
	keepFound(t, s, coupon.FaultDoubleUse, "z")
	figures, err := s.figuresUpTo(t.Context(), time.Minute, 3)
	if err != nil {
		t.Fatal(err)
	}
	if figures.Open[coupon.FaultDrift] != 3 || figures.Open[coupon.FaultUsedWithoutRedemption] != 2 ||
		figures.Open[coupon.FaultDoubleUse] != 1 || len(figures.Open) != 3 {
		t.Errorf("open: %v", figures.Open)
	}
	for _, gate := range reconcile.DefaultThresholds().Judge(figures) {
		if gate.Name == reconcile.GateDoubleUse && (!gate.Red || gate.Value != "3") {
			t.Errorf("double use: %+v", gate)
		}
	}
}

// TestEachFigureTurnsItsGate: one row of what a gate is about makes it red, and no other.
func TestEachFigureTurnsItsGate(t *testing.T) {
	s := open(t)
	issue(t, s, unlimited("T"), "C1")
	one(t, s, coupon.OK, request("m1", now(t, s), placed("o1", "c1")))
	reconciled(t, s)
	finding := func(fault coupon.Fault) func(*testing.T) {
		return func(t *testing.T) { keepFound(t, s, fault, "subject") }
	}
	statement := func(text string) func(*testing.T) { return func(t *testing.T) { execute(t, s, text) } }
	waiting := `insert into coupon_outbox (shard, messages, created_at, payload, parked_at) values `
	for _, test := range []struct {
		name, gate string
		plant      func(*testing.T)
	}{
		{"nothing", "", func(*testing.T) {}},
		{"a message that waits", reconcile.GateOutboxAge, statement(waiting + `(3, 1, now() - interval '5 minutes', '', null)`)},
		{"a young message before an old one", reconcile.GateOutboxAge,
			statement(waiting + `(2, 1, now(), '', null), (9, 1, now() - interval '5 minutes', '', null)`)},
		{"a young message", "", statement(waiting + `(3, 1, now() - interval '5 seconds', '', null)`)},
		{"an old message that was put aside", reconcile.GateOutboxParked,
			statement(waiting + `(3, 1, now() - interval '5 minutes', '', now())`)},
		{"a timer", reconcile.GateTimersOverdue, statement(`update lease_timer set due_at = now() - interval '10 minutes'`)},
		{"a dead letter", reconcile.GateDeadLetters, func(t *testing.T) { fileLetter(t, s, "01", "m", "", "{}", "NEW") }},
		{"a dead letter that was dealt with", "", func(t *testing.T) { fileLetter(t, s, "01", "m", "", "{}", "RESOLVED") }},
		{"double use", reconcile.GateDoubleUse, finding(coupon.FaultDoubleUse)},
		{"use by nobody", reconcile.GateDoubleUse, finding(coupon.FaultUsedWithoutRedemption)},
		{"an orphan lease", reconcile.GateOrphanLease, finding(coupon.FaultOrphanLease)},
		{"a gap", reconcile.GateLedgerGap, finding(coupon.FaultLedgerGap)},
		{"a paid order", reconcile.GatePaidUnsettled, finding(coupon.FaultPaidNotRedeemed)},
		{"a counter", reconcile.GateDrift, finding(coupon.FaultDrift)},
		{"a lease without a deadline", "", finding(coupon.FaultOldOpenLease)},
		{"an old run", reconcile.GateReconciliation,
			statement(`update reconcile_run set finished_at = now() - interval '4 hours'`)},
	} {
		t.Run(test.name, func(t *testing.T) {
			execute(t, s, `truncate coupon_outbox, dead_letter, finding cascade`)
			execute(t, s, `update reconcile_run set finished_at = now()`)
			execute(t, s, `update lease_timer set due_at = now() + interval '10 minutes'`)
			test.plant(t)
			figures, err := s.GateFigures(t.Context(), time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			var red []string
			for _, gate := range reconcile.DefaultThresholds().Judge(figures) {
				if gate.Red {
					red = append(red, gate.Name)
				}
			}
			if want := slices.DeleteFunc([]string{test.gate}, func(name string) bool { return name == "" }); !slices.Equal(red, want) {
				t.Errorf("red: %v, want %v; %+v", red, want, figures)
			}
		})
	}
}
