package console

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"couponlease/internal/coupon"
)

// busy plays several orders on coupons of their own, and the incident.
func (w *world) busy() {
	w.t.Helper()
	w.incident("c-incident")
	for i := range 5 {
		code, order := fmt.Sprintf("c-%d", i), fmt.Sprintf("o-%d", i)
		w.issue(code)
		w.ask(order+"-placed", placed(order, code))
		if i%2 == 0 {
			w.ask(order+"-paid", paid(order))
		}
	}
	split := placed("part-1", "c-split")
	split.Parent = "whole"
	w.issue("c-split")
	w.ask("part-placed", split)
}

func (w *world) check(limit int) CheckReport {
	w.t.Helper()
	report, err := w.Check(w.t.Context(), CheckOptions{Limit: limit, Overdue: time.Minute})
	if err != nil {
		w.t.Fatal(err)
	}
	return report
}

func TestCheckFindsNothingWhereNothingIs(t *testing.T) {
	w := newWorld(t)
	w.busy()
	report := w.check(20)
	if report.Found != 0 {
		t.Errorf("violations: %v", report.Violations)
	}
	if report.Coupons != 7 || report.Orders != 9 || report.Templates != 1 || report.States[coupon.Used] != 4 {
		t.Errorf("looked at %+v", report)
	}
	if report.OpenReviews != 1 {
		t.Errorf("%d open reviews, want 1", report.OpenReviews)
	}
	var b bytes.Buffer
	if err := report.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "every invariant holds") {
		t.Errorf("it says:\n%s", &b)
	}
}

// Each fault is one that the schema's own constraints do not stop.
func TestCheckFindsPlantedFaults(t *testing.T) {
	const unguarded = "alter table coupon_operation disable trigger append_only"
	tests := []struct {
		name       string
		statements []string
		invariant  int
		says       string
	}{
		{"a ledger row is gone", []string{unguarded,
			"delete from coupon_operation where coupon_id = 'c-1' and to_version = 2"}, 7, "coupon c-1"},
		{"a version was skipped", []string{
			"update user_coupon set version = version + 1 where coupon_id = 'c-0'"}, 7, "coupon c-0"},
		{"a lease without evidence", []string{
			"delete from coupon_lock where coupon_id = 'c-1'"}, 5, "coupon c-1"},
		{"a redemption without evidence", []string{
			"delete from coupon_redemption where coupon_id = 'c-0'"}, 5, "coupon c-0"},
		{"two leases share a token", []string{
			"update coupon_lock set token_hash = (select token_hash from coupon_lock where coupon_id = 'c-incident' limit 1) " +
				"where coupon_id = 'c-incident'"}, 3, "share a token"},
		{"an issue was not counted", []string{
			"update coupon_template set imported = imported - 1"}, 9, "template spring"},
		{"a use was counted twice", []string{
			"update coupon_template set held = held + 1"}, 9, "template spring"},
		{"a person's use was not counted", []string{
			"update claim_counter set held = held - 1"}, 9, "a person holds"},
		{"a payment settled nothing", []string{
			`update order_fact set payments = '[{"id": "p", "amount": 2500, "at": "2026-03-01T09:00:00Z"}]' ` +
				`where order_id = 'o-1'`}, 12, "o-1"},
		{"a split order's payment settled nothing", []string{
			`update order_fact set payments = '[{"id": "p", "amount": 2500, "at": "2026-03-01T09:00:00Z"}]' ` +
				`where order_id = 'part-1'`}, 12, "whole"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.busy()
			w.sql(test.statements...)
			report := w.check(20)
			if report.ByInvariant[test.invariant] == 0 {
				t.Fatalf("invariant %d holds; found: %v", test.invariant, report.Violations)
			}
			if text := fmt.Sprint(report.Violations); !strings.Contains(text, test.says) {
				t.Errorf("it does not name %q: %s", test.says, text)
			}
		})
	}
}

func TestCheckCountsAllAndListsSome(t *testing.T) {
	w := newWorld(t)
	w.busy()
	w.sql("update user_coupon set version = version + 1")
	report := w.check(2)
	if report.Found != 7 || len(report.Violations) != 2 {
		t.Errorf("%d found and %d listed, want 7 and 2", report.Found, len(report.Violations))
	}
	var b bytes.Buffer
	if err := report.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "... and 5 more") {
		t.Errorf("it says:\n%s", &b)
	}
}
