package store

import (
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
