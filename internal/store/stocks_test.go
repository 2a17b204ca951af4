package store

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/reconcile"
)

// stocks are what a pool says of itself.
type stocks struct {
	wrong     []string
	away      error
	refuses   error
	restocked []string
}

// Drifts implements reconcile.Stocks.
func (s *stocks) Drifts(context.Context) (findings []coupon.Finding, err error) {
	for _, template := range s.wrong {
		findings = append(findings, coupon.Finding{Fault: coupon.FaultQuotaDrift, Subject: template, Template: template, Detail: "low"})
	}
	return findings, s.away
}

// Restock implements reconcile.Stocks.
func (s *stocks) Restock(_ context.Context, template string) error {
	if s.refuses != nil {
		return s.refuses
	}
	s.restocked = append(s.restocked, template)
	s.wrong = slices.DeleteFunc(s.wrong, func(wrong string) bool { return wrong == template })
	return nil
}

// TestStocksAreReconciled: what is wrong is kept, restocked, and closed when it is gone; who
// cannot look says so, and closes nothing.
func TestStocksAreReconciled(t *testing.T) {
	s := open(t)
	pool := &stocks{wrong: []string{"spring", "summer"}}
	looking := func(o *reconcile.RunOptions) { o.Stocks = pool }
	repairing := func(o *reconcile.RunOptions) {
		o.Stocks = pool
		o.Repair = &reconcile.Repair{Engine: engineOf{t, s}, Reason: "drill", Rate: 100_000, Patience: time.Hour}
	}
	both := []string{"QUOTA_DRIFT spring", "QUOTA_DRIFT summer"}
	summary, found := reconciled(t, s, looking)
	if !slices.Equal(found, both) || summary.Opened != 2 || len(summary.Unchecked) != 0 || len(pool.restocked) != 0 {
		t.Fatalf("found %v, opened %d, unchecked %v, restocked %v", found, summary.Opened, summary.Unchecked, pool.restocked)
	}
	pool.away = errors.New("Redis is away")
	for _, change := range []func(*reconcile.RunOptions){looking, repairing, func(*reconcile.RunOptions) {}} {
		summary, found = reconciled(t, s, change)
		if len(found) != 0 || summary.Closed != 0 || summary.Unchecked[coupon.FaultQuotaDrift] == "" ||
			slices.Contains(summary.Faults, coupon.FaultQuotaDrift) {
			t.Errorf("found %v, closed %d, looked for %v; unchecked %v", found, summary.Closed, summary.Faults, summary.Unchecked)
		}
	}
	last, err := s.LastRun(t.Context(), coupon.FaultQuotaDrift)
	if err != nil || last == nil || !slices.Contains(last.Faults, coupon.FaultQuotaDrift) {
		t.Errorf("the last run that looked is %+v, %v", last, err)
	}
	pool.away, pool.refuses = nil, errors.New("Redis takes no writes")
	summary, _ = reconciled(t, s, repairing)
	if summary.Repaired != 0 || summary.Repairs[string(coupon.NotRestocked)] != 2 {
		t.Errorf("repaired %d: %v", summary.Repaired, summary.Repairs)
	}
	pool.refuses = nil
	summary, _ = reconciled(t, s, repairing)
	if summary.Repaired != 2 || summary.Repairs[string(coupon.Restocked)] != 2 || !slices.Equal(pool.restocked, []string{"spring", "summer"}) {
		t.Errorf("repaired %d: %v, restocked %v", summary.Repaired, summary.Repairs, pool.restocked)
	}
	if kept := findings(t, s, reconcile.FindingFilter{OpenOnly: true}); len(kept) != 2 || kept[0].Repair != string(coupon.Restocked) ||
		kept[0].Severity != coupon.SeverityP2 || kept[0].Template == "" {
		t.Errorf("kept %+v", kept)
	}
	if gone, found := reconciled(t, s, looking); gone.Closed != 2 || len(found) != 0 {
		t.Errorf("closed %d, found %v", gone.Closed, found)
	}
}
