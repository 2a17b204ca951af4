package store

import (
	"slices"
	"testing"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/reconcile"
)

// findingsOf keeps findings in a run of their own, which ends unless it is broken off.
func findingsOf(t *testing.T, s *Store, faults []coupon.Fault, end bool, found ...coupon.Finding) (run string) {
	t.Helper()
	r := reconcile.Run{ID: newID(), Actor: "test", Faults: faults, Started: time.Now()}
	if err := s.StartRun(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if _, err := s.KeepFindings(t.Context(), r.ID, found); err != nil {
		t.Fatal(err)
	}
	if end {
		if _, err := s.EndRun(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return r.ID
}

// Findings go once they have been closed for long enough, in as many pages as it takes;
// what is open stays, however old it is.
func TestPurgeTakesOldClosedFindings(t *testing.T) {
	s := open(t)
	var many []coupon.Finding
	for i := range 2*purgePage + 1 {
		many = append(many, coupon.Finding{Fault: coupon.FaultOrphanPayment, Subject: name("o", i)})
	}
	findingsOf(t, s, nil, true, many...)
	execute(t, s, `update finding set closed_at = clock_timestamp() - interval '90 days'`)
	findingsOf(t, s, nil, true, many[0]) // it is back, and open
	findingsOf(t, s, nil, true,
		coupon.Finding{Fault: coupon.FaultDrift, Subject: "open"}, coupon.Finding{Fault: coupon.FaultDrift, Subject: "fresh"})
	execute(t, s, `update finding set closed_at = clock_timestamp() - interval '88 days' where subject = 'fresh'`)
	execute(t, s, `update finding set first_seen_at = first_seen_at - interval '1 year', last_seen_at = last_seen_at - interval '1 year'`)
	if err := s.PurgeFindings(t.Context(), 89); err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, record := range findings(t, s, reconcile.FindingFilter{}) {
		left = append(left, record.Subject)
	}
	slices.Sort(left)
	if want := []string{"fresh", name("o", 0), "open"}; !slices.Equal(left, want) {
		t.Errorf("left are %d, among them %v, want %v", len(left), left[:min(len(left), 5)], want)
	}
}

// Runs go as well, but for the last one that says when a fault was looked for.
func TestPurgeKeepsTheLastRunOfEachFault(t *testing.T) {
	s := open(t)
	own := []coupon.Fault{coupon.FaultDrift, reconcile.OwnBooks}
	upstream := append(slices.Clone(own), coupon.FaultPaidUnknown)
	findingsOf(t, s, own, true)
	findingsOf(t, s, upstream, true)
	lastUpstream := findingsOf(t, s, upstream, true)
	lastOwn := findingsOf(t, s, own, true)
	findingsOf(t, s, own, false)
	execute(t, s, `update reconcile_run set started_at = started_at - interval '90 days',
		finished_at = finished_at - interval '90 days'`)
	running := findingsOf(t, s, own, false)
	if err := s.PurgeFindings(t.Context(), 89); err != nil {
		t.Fatal(err)
	}
	left := scalar[[]string](t, s, "select array_agg(run_id::text order by run_id) from reconcile_run")
	if want := []string{lastUpstream, lastOwn, running}; !slices.Equal(left, want) {
		t.Errorf("left are %v, want %v", left, want)
	}
	for fault, want := range map[coupon.Fault]string{reconcile.OwnBooks: lastOwn, coupon.FaultPaidUnknown: lastUpstream} {
		if last, err := s.LastRun(t.Context(), fault); err != nil || last == nil || last.ID != want {
			t.Errorf("the last run that looked for %s: %+v, %v; want %s", fault, last, err, want)
		}
	}
}
