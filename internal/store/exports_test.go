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

// exportOf gives n rows, one after the other, as row makes them; a false row is left out.
func exportOf(kind string, n int, row func(i int) (reconcile.Exported, bool)) reconcile.Export {
	i := 0
	return reconcile.Export{Kind: kind, Next: func() (reconcile.Exported, bool, error) {
		for i++; i <= n; i++ {
			if r, there := row(i); there {
				return r, true, nil
			}
		}
		return reconcile.Exported{}, false, nil
	}}
}

// TestExportsAreCompared: of exports as long as our books every difference is found, and
// nothing else. -used says how long.
func TestExportsAreCompared(t *testing.T) {
	s := open(t, func(o *Options) { o.StatementTimeout = time.Hour })
	n := *usedInTest
	fill(t, s, n)
	now := now(t, s)
	order := func(i int) string { return fmt.Sprintf("order-%d", i) }
	orders := exportOf(reconcile.ExportOrders, n, func(i int) (reconcile.Exported, bool) {
		row := reconcile.Exported{Order: order(i), Amount: 900, HasAmount: true, At: now.Add(-24 * time.Hour)}
		switch i {
		case 11:
			row.Amount = 950
		case 12:
			row.Closed = true
		case 13:
			return row, false // known here only
		case 14:
			row.HasAmount = false
		}
		return row, true
	})
	payments := exportOf(reconcile.ExportPayments, n+2, func(i int) (reconcile.Exported, bool) {
		row := reconcile.Exported{Order: order(i), ID: fmt.Sprintf("pay-%d", i), Amount: 900, HasAmount: true}
		switch i {
		case 21:
			row.Amount = 899
		case 22:
			row.ID = "other"
		case n + 2:
			row.At = now.Add(-time.Minute) // on its way
		}
		return row, true
	})
	refunds := exportOf(reconcile.ExportRefunds, 1, func(i int) (reconcile.Exported, bool) {
		return reconcile.Exported{Order: order(31), ID: "refund", Amount: 900, HasAmount: true}, true
	})
	began := time.Now()
	compared := func(o *reconcile.RunOptions) {
		o.Upstream = &reconcile.Upstream{
			Exports: []reconcile.Export{orders, payments, refunds}, Orders: s, Grace: 15 * time.Minute,
			Since: now.Add(-48 * time.Hour), Until: now,
		}
	}
	summary, found := reconciled(t, s, compared)
	t.Logf("%d rows of exports compared in %.1f s; %s", summary.Compared.Orders+summary.Compared.Payments+1,
		time.Since(began).Seconds(), memory(t))
	want := []string{
		"AMOUNT_DIFFERS order-11", "UPSTREAM_CLOSE_UNKNOWN order-12", "NOT_UPSTREAM orders/order-13/",
		"AMOUNT_DIFFERS order-21/pay-21", "UPSTREAM_PAYMENT_UNKNOWN order-22/other", "NOT_UPSTREAM payments/order-22/pay-22",
		fmt.Sprintf("UPSTREAM_PAYMENT_UNKNOWN %s/pay-%d", order(n+1), n+1), "UPSTREAM_REFUND_UNKNOWN order-31/refund",
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("(-planted +found):\n%s", diff)
	}
	again, _ := reconciled(t, s)
	if open := findings(t, s, reconcile.FindingFilter{OpenOnly: true}); again.Closed != 0 || len(open) != len(want) {
		t.Errorf("a run without exports closed %d of what only they show; %d are open", again.Closed, len(open))
	}
	if again.ByFault[coupon.FaultNotUpstream] != 0 {
		t.Errorf("a run without exports found %v", again.ByFault)
	}
}
