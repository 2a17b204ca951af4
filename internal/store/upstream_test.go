package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
	"couponlease/internal/reconcile"
)

// rows is an export of these rows.
func rows(kind string, all ...reconcile.Exported) reconcile.Export {
	return exportOf(kind, len(all), func(i int) (reconcile.Exported, bool) { return all[i-1], true })
}

// exported runs reconciliation with exports, and gives how many findings it closed and what
// is open afterwards.
func exported(t *testing.T, s *Store, exports ...reconcile.Export) (closed int64, open []string) {
	t.Helper()
	now := now(t, s)
	summary, _ := reconciled(t, s, func(o *reconcile.RunOptions) {
		o.Upstream = &reconcile.Upstream{
			Exports: exports, Orders: s, Grace: 15 * time.Minute, Since: now.Add(-time.Second), Until: now,
		}
	})
	open = []string{}
	for _, r := range findings(t, s, reconcile.FindingFilter{OpenOnly: true}) {
		open = append(open, fmt.Sprintf("%s %s", r.Fault, r.Subject))
	}
	slices.Sort(open)
	return summary.Closed, open
}

// TestUpstreamFindingsStayUntilTheyAreLookedFor: Monday's findings are closed by what shows
// that they are gone, not by Tuesday's exports, which are about other orders.
func TestUpstreamFindingsStayUntilTheyAreLookedFor(t *testing.T) {
	s := open(t)
	fill(t, s, 20)
	pay := func(n int, id string, amount int64) reconcile.Exported {
		return reconcile.Exported{Order: fmt.Sprintf("order-%d", n), ID: id, Amount: amount, HasAmount: true}
	}
	order := func(n int, closed bool) reconcile.Exported {
		return reconcile.Exported{Order: fmt.Sprintf("order-%d", n), Closed: closed}
	}
	monday := []string{
		"AMOUNT_DIFFERS order-1/pay-1", "UPSTREAM_CLOSE_UNKNOWN order-3", "UPSTREAM_CLOSE_UNKNOWN order-4",
		"UPSTREAM_PAYMENT_UNKNOWN order-2/late", "UPSTREAM_REFUND_UNKNOWN order-5/refund",
	}
	expect := func(name string, closed int64, want []string, exports ...reconcile.Export) {
		t.Helper()
		got, open := exported(t, s, exports...)
		if diff := cmp.Diff(want, open); diff != "" || got != closed {
			t.Fatalf("%s: closed %d, want %d; open (-want +got):\n%s", name, got, closed, diff)
		}
	}
	expect("monday", 0, monday,
		rows(reconcile.ExportPayments, pay(1, "pay-1", 899), pay(2, "late", 900)),
		rows(reconcile.ExportOrders, order(3, true), order(4, true)), rows(reconcile.ExportRefunds, pay(5, "refund", 900)))
	expect("tuesday, of other orders", 0, monday,
		rows(reconcile.ExportPayments, pay(11, "pay-11", 900)), rows(reconcile.ExportOrders, order(12, false)),
		rows(reconcile.ExportRefunds))
	expect("empty files", 0, monday,
		rows(reconcile.ExportPayments), rows(reconcile.ExportOrders), rows(reconcile.ExportRefunds))
	expect("the same without an amount", 0, monday,
		rows(reconcile.ExportPayments, reconcile.Exported{Order: "order-1", ID: "pay-1"}))
	expect("the amount was put right, one order was never closed", 2, monday[2:],
		rows(reconcile.ExportPayments, pay(1, "pay-1", 900)), rows(reconcile.ExportOrders, order(3, false)))
	apply(t, s, request("late", now(t, s), coupon.PaymentSucceeded{
		Order: "order-2", Payment: "late", Amount: 900, Currency: "EUR",
	}))
	expect("the payment came meanwhile", 1, []string{monday[2], monday[4]}, rows(reconcile.ExportPayments))
	apply(t, s, request("close", now(t, s), coupon.OrderClosed{Order: "order-4", Reason: "cancelled"}))
	expect("the close came meanwhile, and nobody exports anything", 1, []string{monday[4]})
}

// TestWhatWasMissingUpstreamIsClosedWhenItIsThere: an export that contains it closes it.
func TestWhatWasMissingUpstreamIsClosedWhenItIsThere(t *testing.T) {
	s := open(t)
	fill(t, s, 2)
	wide := func(exports ...reconcile.Export) reconcile.Summary {
		now := now(t, s)
		summary, _ := reconciled(t, s, func(o *reconcile.RunOptions) {
			o.Upstream = &reconcile.Upstream{Exports: exports, Orders: s, Since: now.Add(-72 * time.Hour), Until: now}
		})
		return summary
	}
	one, two := reconcile.Exported{Order: "order-1"}, reconcile.Exported{Order: "order-2"}
	if first := wide(rows(reconcile.ExportOrders, one)); first.ByFault[coupon.FaultNotUpstream] != 1 {
		t.Fatalf("found %v", first.ByFault)
	}
	if closed, open := exported(t, s, rows(reconcile.ExportOrders, one)); closed != 0 || len(open) != 1 {
		t.Errorf("an export without it closed %d and left %v", closed, open)
	}
	if closed, open := exported(t, s, rows(reconcile.ExportOrders, two)); closed != 1 || len(open) != 0 {
		t.Errorf("an export with it closed %d and left %v", closed, open)
	}
}
