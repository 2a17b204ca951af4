package store

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
	"couponlease/internal/reconcile"
)

// usedInTest is how many used coupons faults are planted among. To measure:
// go test ./internal/store -run TestPlantedFaultsAreFound -v -timeout 1h -used 1000000
var usedInTest = flag.Int("used", 2000, "used coupons among which faults are planted")

func reconciled(t *testing.T, s *Store, change ...func(*reconcile.RunOptions)) (reconcile.Summary, []string) {
	t.Helper()
	found := []string{}
	o := reconcile.RunOptions{Actor: "test", Patience: coupon.DefaultPatience(), Found: func(f coupon.Finding) {
		found = append(found, fmt.Sprintf("%s %s", f.Fault, f.Subject))
	}}
	for _, f := range change {
		f(&o)
	}
	summary, err := reconcile.Reconcile(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return summary, found
}

// TestPlantedFaultsAreFound: every planted fault is found and nothing else, each is kept
// once however often it is found, and closed when it is gone.
func TestPlantedFaultsAreFound(t *testing.T) {
	s := open(t, func(o *Options) { o.StatementTimeout = time.Hour })
	began := time.Now()
	fill(t, s, *usedInTest)
	t.Logf("%d used coupons made in %.1f s", *usedInTest, time.Since(began).Seconds())
	small := func(o *reconcile.RunOptions) { o.Range = min(50_000, *usedInTest/3) }

	began = time.Now()
	summary, found := reconciled(t, s, small)
	t.Logf("nothing found in %.1f s", time.Since(began).Seconds())
	if len(found) != 0 || summary.Coupons != int64(*usedInTest) || summary.Orders != int64(*usedInTest) {
		t.Fatalf("found %v among %d coupons and %d orders", found, summary.Coupons, summary.Orders)
	}

	want := sow(t, s, 3)
	began = time.Now()
	summary, found = reconciled(t, s, small)
	t.Logf("%d planted, %d found in %.1f s; read whole: %d coupons, %d orders; %s", len(want), len(found),
		time.Since(began).Seconds(), summary.Looked.SuspectCoupons, summary.Looked.SuspectOrders, memory(t))
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("(-planted +found):\n%s", diff)
	}
	if summary.Opened != int64(len(want)) || summary.Closed != 0 {
		t.Errorf("opened %d and closed %d", summary.Opened, summary.Closed)
	}

	untold := findings(t, s, reconcile.FindingFilter{Fault: coupon.FaultReturnNotPublished})
	if len(untold) != 1 || untold[0].Coupon != "c9" || untold[0].Order != "o9" {
		t.Errorf("not published: %+v", untold)
	}
	again, found := reconciled(t, s)
	if diff := cmp.Diff(want, found); diff != "" || again.Opened != 0 || again.Closed != 0 {
		t.Errorf("again: opened %d and closed %d (-planted +found):\n%s", again.Opened, again.Closed, diff)
	}
	execute(t, s, `delete from coupon_outbox`)
	execute(t, s, `delete from order_fact where not placed`)
	gone, found := reconciled(t, s)
	if gone.Closed != 4 || len(found) != len(want)-4 {
		t.Errorf("of %d faults 4 are gone, but %d were closed and %d found", len(want), gone.Closed, len(found))
	}
	open := findings(t, s, reconcile.FindingFilter{OpenOnly: true})
	if len(open) != len(want)-4 || open[0].Seen != 3 || !open[0].Closed.IsZero() || open[0].First.Equal(open[0].Last) {
		t.Errorf("%d are open, the first is %+v", len(open), open[0])
	}
	for _, closed := range findings(t, s, reconcile.FindingFilter{Fault: coupon.FaultOrphanPayment}) {
		if closed.Closed.IsZero() || closed.Severity != coupon.SeverityP2 {
			t.Errorf("kept %+v", closed)
		}
	}
}

func findings(t *testing.T, s *Store, filter reconcile.FindingFilter) []reconcile.Record {
	t.Helper()
	records, err := s.Findings(t.Context(), filter)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// memory is the most that this process has had.
func memory(t *testing.T) string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmHWM") {
			return strings.Join(strings.Fields(line), " ")
		}
	}
	return "memory unknown"
}

// TestNothingIsFoundAfterRandomTraffic: what the engine leaves behind has no fault.
func TestNothingIsFoundAfterRandomTraffic(t *testing.T) {
	s := open(t)
	lived(t, s)
	patient := func(o *reconcile.RunOptions) {
		o.Range = 7
		o.Patience = coupon.Patience{Payment: 1000 * time.Hour, Lease: 1000 * time.Hour, Publish: time.Hour, OpenLease: 1000 * time.Hour}
	}
	summary, found := reconciled(t, s, patient)
	if len(found) != 0 || summary.Looked.SuspectOrders == 0 {
		t.Errorf("found %v; %+v", found, summary.Looked)
	}
}

// engineOf answers repairs as the engine does, one at a time.
type engineOf struct {
	t *testing.T
	s *Store
}

func (e engineOf) SubmitAll(_ context.Context, requests []coupon.Request) ([]coupon.Outcome, []error) {
	outcomes := make([]coupon.Outcome, len(requests))
	for i, r := range requests {
		outcomes[i] = apply(e.t, e.s, r)[0]
	}
	return outcomes, make([]error, len(requests))
}

// TestRepairsGoThroughTheEngine: after them nothing of what can be repaired is found.
func TestRepairsGoThroughTheEngine(t *testing.T) {
	s := open(t)
	fill(t, s, 600)
	want := sow(t, s, 2)
	repair := func(o *reconcile.RunOptions) {
		o.Repair = &reconcile.Repair{Engine: engineOf{t, s}, Reason: "drill", Rate: 100_000, Patience: time.Hour}
	}
	summary, found := reconciled(t, s, repair)
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("(-planted +found):\n%s", diff)
	}
	_, left := reconciled(t, s)
	for _, fault := range []coupon.Fault{
		coupon.FaultPaidNotRedeemed, coupon.FaultClosedStillLocked, coupon.FaultReviewNotOpened, coupon.FaultOrphanPayment,
		coupon.FaultStaleFlow, coupon.FaultDiscountWithoutRedemption,
	} {
		if slices.ContainsFunc(left, func(f string) bool { return strings.HasPrefix(f, string(fault)+" ") }) {
			t.Errorf("%s is left: %v", fault, left)
		}
	}
	if summary.Repaired < 10 || summary.Repairs[string(coupon.Redeemed)] != 2 {
		t.Errorf("repaired %d: %v", summary.Repaired, summary.Repairs)
	}
	if ended := scalar[int64](t, s, `select count(*) from redeem_flow where stage = 1 and step <> 'REJECTED'`); ended != 2 {
		t.Errorf("%d flows were ended, want 2", ended)
	}
	audits := scalar[int64](t, s, `select count(*) from audit_log where reason = 'drill' and actor = 'test'`)
	reviews := scalar[int64](t, s, `select count(*) from review_case where reason = 'ORPHAN_PAYMENT'`)
	if audits < 10 || reviews != 2 {
		t.Errorf("%d rows in the audit log, %d cases of orphan payments", audits, reviews)
	}
	for reason, want := range map[coupon.ReviewReason]int64{
		coupon.ReviewDoubleUse: 4, coupon.ReviewUsedWithoutRedemption: 4, coupon.ReviewDiscountWithoutRedemption: 2,
	} {
		if cases := scalar[int64](t, s, `select count(*) from review_case where reason = $1`, string(reason)); cases != want {
			t.Errorf("%d cases of %s, want %d", cases, reason, want)
		}
	}
	noted := findings(t, s, reconcile.FindingFilter{Fault: coupon.FaultPaidNotRedeemed})
	if len(noted) != 2 || noted[0].Repair != string(coupon.Redeemed) || noted[0].Closed.IsZero() {
		t.Errorf("kept %+v", noted)
	}
}

// TestAReturnThatWasNotDoneIsDoneByHand: what the runbook says about RETURN_NOT_DONE gives
// the coupon back and closes the finding.
func TestAReturnThatWasNotDoneIsDoneByHand(t *testing.T) {
	s := open(t)
	fill(t, s, 3)
	for _, p := range plants() {
		for _, statement := range p.statements {
			if p.fault == coupon.FaultReturnNotDone {
				execute(t, s, strings.ReplaceAll(statement, "%[1]d", "2"))
			}
		}
	}
	if _, found := reconciled(t, s); !slices.Equal(found, []string{"RETURN_NOT_DONE " + couponOf(2)}) {
		t.Fatalf("found %v", found)
	}
	again := request("again", now(t, s), coupon.ReturnCoupon{
		Coupon: couponOf(2), Order: "order-2", Refund: "refund-again", Reason: "not done",
	})
	again.Key = "again"
	one(t, s, "RETURN:FULL", again)
	if gone, found := reconciled(t, s); len(found) != 0 || gone.Closed != 1 {
		t.Errorf("closed %d and found %v", gone.Closed, found)
	}
}
