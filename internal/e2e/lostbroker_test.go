package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/console"
	"couponlease/internal/coupon"
	"couponlease/internal/fleet"
	"couponlease/internal/testkit"
)

// The broker is lost with all its data under a replica that works. Once there is a new one
// with the layout, the replica goes on by itself: what was committed meanwhile is
// published, leases whose timers are gone end all the same, and new facts are applied.
func TestBrokerLostUnderAReplicaThatWorks(t *testing.T) {
	space := fleet.NewSpace(t)
	ctl := newOperator(t, space)
	orders := fleet.Orders(300)
	space.Import(t, append(fleet.Codes(orders), "quote", "withdrawn"))
	before := fleet.Listen(t, space)
	replica := fleet.Start(t, fleet.Binary(t), space, "--sweep-interval", "1s", "--sweep-grace", "0s")
	known, fresh := orders[:200], orders[200:]
	facts := fleet.Shuffle(known, time.Now().Add(-time.Hour), 0.2, 7)
	space.Publish(t, facts)
	space.WaitForSettled(t, facts)
	ctl.do(t, 0, "lock", "quote", "--order", "quote", "--lease", "6s")
	testkit.Eventually(t, time.Minute, "everything is with the broker", func() (bool, string) {
		n := number(t, space, "select count(*) from coupon_outbox")
		return n == 0, fmt.Sprint(n, " rows wait")
	})
	space.CheckEventsSeen(t, before)

	found := space.Broker.Lose(t)
	testkit.Eventually(t, time.Minute, "coupond says that it is not ready", func() (bool, string) {
		return !replica.Ready(), "still ready"
	})
	ctl.do(t, 0, "void", "withdrawn", "--reason", "committed while there is no broker")
	// Whoever listens has its queue before the replica publishes: it is held meanwhile.
	replica.Signal(t, syscall.SIGSTOP)
	found()
	after := fleet.Listen(t, space)
	ctl.do(t, 0, "topology", "apply")
	ctl.do(t, 0, "topology", "diff")
	replica.Signal(t, syscall.SIGCONT)
	testkit.Eventually(t, time.Minute, "coupond is ready again", func() (bool, string) {
		return replica.Ready(), replica.Log()
	})

	facts = fleet.Shuffle(fresh, time.Now().Add(-time.Hour), 0.2, 8)
	space.Publish(t, facts)
	space.WaitForSettled(t, facts)
	waitForState(t, space, "quote", coupon.Available)
	waitForState(t, space, "withdrawn", coupon.Void)
	space.CheckOrders(t, orders)
	space.CheckEventsSeen(t, before, after)
	space.CheckNoDeadLetters(t)
	space.Check(t)
	ctl.do(t, 0, "doctor")
	ctl.do(t, 0, "gate", "--watch", "--every", "1s", "--timeout", "1m")
}

// What upstream services had published and nobody had taken is lost with the broker.
// Reconciliation with their books names all of it and nothing else; once it is published
// again nothing is found any more.
func TestFactsLostWithTheBrokerAreFound(t *testing.T) {
	space := fleet.NewSpace(t)
	ctl := newOperator(t, space)
	orders := fleet.Orders(200)
	space.Import(t, fleet.Codes(orders))
	binary := fleet.Binary(t)
	known, lost := orders[:150], orders[150:]
	start := time.Now().Add(-time.Hour)
	facts := fleet.Shuffle(known, start, 0.2, 9)
	replica := fleet.Start(t, binary, space)
	space.Publish(t, facts)
	space.WaitForSettled(t, facts)
	replica.Signal(t, syscall.SIGTERM)
	replica.Wait(t, time.Minute)
	missing := fleet.InOrder(lost, start)
	space.Publish(t, missing)

	space.Broker.Lose(t)()
	ctl.do(t, 0, "topology", "apply")
	fleet.Start(t, binary, space)
	exports := exportOf(t, orders, start)
	var report console.ReconcileReport
	ctl.tell(t, &report, 2, append([]string{"reconcile", "run"}, exports...)...)
	if diff := cmp.Diff(unknownHere(lost), subjects(t, ctl)); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	space.Publish(t, missing)
	space.WaitForSettled(t, slices.Concat(facts, missing))
	ctl.do(t, 0, append([]string{"reconcile", "run"}, exports...)...)
	if left := subjects(t, ctl); len(left) > 0 {
		t.Errorf("still found: %v", left)
	}
	space.CheckOrders(t, orders)
	space.CheckNoDeadLetters(t)
	space.Check(t)
}

// exportOf writes the books of upstream services about orders, and gives the flags that
// name them.
func exportOf(t *testing.T, orders []fleet.Order, start time.Time) []string {
	t.Helper()
	at := start.UTC().Format(time.RFC3339)
	books := map[string][]string{
		"orders": {"orderId,status,at"}, "payments": {"orderId,paymentId,at"}, "refunds": {"orderId,refundId,at"},
	}
	for _, order := range orders {
		status := "OPEN"
		if order.Story == fleet.Abandoned {
			status = "CLOSED"
		}
		books["orders"] = append(books["orders"], order.ID+","+status+","+at)
		if order.Story != fleet.Abandoned {
			books["payments"] = append(books["payments"], order.ID+",payment-of-"+order.ID+","+at)
		}
		if order.Story == fleet.Returned || order.Story == fleet.Kept {
			books["refunds"] = append(books["refunds"], order.ID+",refund-of-"+order.ID+","+at)
		}
	}
	var flags []string
	for name, lines := range books {
		file := filepath.Join(t.TempDir(), name+".csv")
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		flags = append(flags, "--"+name, file)
	}
	return flags
}

// unknownHere is what has to be found when nothing of orders is known here.
func unknownHere(orders []fleet.Order) (found []string) {
	for _, order := range orders {
		if order.Story != fleet.Abandoned {
			found = append(found, string(coupon.FaultPaidUnknown)+" "+order.ID)
		}
		if order.Story == fleet.Returned || order.Story == fleet.Kept {
			found = append(found, string(coupon.FaultRefundUnknown)+" "+order.ID)
		}
	}
	slices.Sort(found)
	return found
}

// subjects are the findings that are open, as fault and order.
func subjects(t *testing.T, ctl operator) (found []string) {
	t.Helper()
	var page console.FindingPage
	ctl.tell(t, &page, 0, "reconcile", "findings", "list", "--limit", "1000")
	for _, f := range page.Findings {
		found = append(found, string(f.Fault)+" "+f.Order)
	}
	slices.Sort(found)
	return found
}
