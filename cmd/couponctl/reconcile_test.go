package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/console"
	"couponlease/internal/coupon"
)

// orphaned is a shop with a paid order, and a payment of an order that was never placed.
func orphaned(t *testing.T) {
	t.Helper()
	s := newShop(t, "c1")
	for i, fact := range []coupon.Fact{
		coupon.OrderPlaced{Order: "A", Customer: "ann", Payable: 900, Currency: "EUR", Wanted: []coupon.Wanted{{Coupon: "c1"}}},
		coupon.PaymentSucceeded{Order: "A", Payment: "p1", Amount: 900, Currency: "EUR"},
		coupon.PaymentSucceeded{Order: "B", Payment: "p2", Amount: 500, Currency: "EUR"},
	} {
		s.ask(t, coupon.Request{ID: string(rune('a' + i)), Fact: fact})
	}
}

func TestFindingsAreKeptRepairedAndClosed(t *testing.T) {
	orphaned(t)
	ctl(t, "gate").want(t, exitFindings, "reconciliation", "RED", "never", "OPERATIONS.md#gate-reconciliation")
	ctl(t, "reconcile", "run").want(t, exitOK, "1 coupon and 2 orders looked at", "nothing is wrong")
	ctl(t, "gate").want(t, exitOK, "all green")

	o := ctl(t, "reconcile", "run", "--payment-wait", "1us", "-o", "json")
	o.want(t, exitFindings)
	report := decode[console.ReconcileReport](t, o)
	if report.Found != 1 || report.New != 1 || report.ByFault[coupon.FaultOrphanPayment] != 1 ||
		report.Findings[0].Order != "B" || report.Findings[0].Severity != coupon.SeverityP2 {
		t.Fatalf("found %+v", report)
	}
	ctl(t, "gate").want(t, exitFindings, "paid-unsettled", "1 red")
	ctl(t, "gate", "--paid-unsettled", "1").want(t, exitOK)
	ctl(t, "gate", "--watch", "--every", "100ms", "--timeout", "1ms").want(t, exitFindings)

	list := decode[console.FindingPage](t, ctl(t, "reconcile", "findings", "list", "--order", "B", "-o", "json"))
	if len(list.Findings) != 1 || list.Findings[0].Fault != coupon.FaultOrphanPayment {
		t.Fatalf("listed %+v", list)
	}
	id := list.Findings[0].ID
	ctl(t, "reconcile", "findings", "show", id).want(t, exitOK, "P2 ORPHAN_PAYMENT", "payment p2 of 500", "--repair")

	ctl(t, "reconcile", "run", "--payment-wait", "1us", "--repair").want(t, exitFindings, "say why")
	ctl(t, "reconcile", "run", "--payment-wait", "1us", "--repair", "--reason", "ticket 4711", "--actor", "ann@desk").
		want(t, exitFindings, "P2 ORPHAN_PAYMENT B", "1 finding changed by repairs")
	ctl(t, "review", "list").want(t, exitOK, "ORPHAN_PAYMENT", "REFUND_PAYMENT")
	ctl(t, "audit", "list").want(t, exitOK, "ReportOrphan", "ticket 4711", "ann@desk")
	ctl(t, "reconcile", "run", "--payment-wait", "1us").want(t, exitOK, "1 finding gone")
	ctl(t, "reconcile", "findings", "show", id).want(t, exitOK, "the engine answered REVIEW", "gone")
	ctl(t, "reconcile", "findings", "list").want(t, exitOK, "FINDING")
	ctl(t, "reconcile", "findings", "list", "--all").want(t, exitOK, id)
	ctl(t, "check").want(t, exitOK)
}

func TestExportsOfOtherSystemsAreCompared(t *testing.T) {
	orphaned(t)
	orders := file(t, "orders.jsonl", `{"orderId": "A", "amount": 950, "status": "PAID"}`+"\n"+
		`{"orderId": "B", "status": "cancelled", "at": "2026-01-01T00:00:00Z"}`+"\n"+
		`{"orderId": "elsewhere", "amount": 5, "extra": null}`+"\n")
	payments := file(t, "payments.csv", "orderId,reference,amount,at\nA,p1,900,\nB,p9,500,2026-01-01T00:00:00Z\n")
	refunds := file(t, "refunds.csv", "orderId,refundId,amount\nA,r1,900\n")
	o := ctl(t, "reconcile", "run", "--orders", orders, "--payments", payments, "--refunds", refunds, "--grace", "0s",
		"--map", "paymentId=reference", "--until", "2100-01-01T00:00:00Z", "-o", "json")
	o.want(t, exitFindings)
	report := decode[console.ReconcileReport](t, o)
	got := map[string]string{}
	for _, f := range report.Findings {
		got[f.Subject] = string(f.Fault)
	}
	want := map[string]string{
		"A": "AMOUNT_DIFFERS", "B": "UPSTREAM_CLOSE_UNKNOWN", "B/p9": "UPSTREAM_PAYMENT_UNKNOWN",
		"A/r1": "UPSTREAM_REFUND_UNKNOWN", "payments/B/p2": "NOT_UPSTREAM",
	}
	if diff := cmp.Diff(want, got); diff != "" || report.Compared.Orders != 3 || report.Compared.Payments != 2 {
		t.Errorf("%+v (-want +got):\n%s", report.Compared, diff)
	}
	// Without the exports nothing can be said about what only they show.
	ctl(t, "reconcile", "run").want(t, exitOK, "0 findings gone")
}

func TestExportsThatCannotBeRead(t *testing.T) {
	newShop(t, "c1")
	for text, says := range map[string]string{
		"orderId,paymentId,amount\nA,p1,12.50\n": `row 1: amount "12.50"`,
		"orderId,amount\nA,12\n":                 "names none of its payments",
		"paymentId,amount\np,12\n":               "it names no order",
		"orderId,paymentId,at\nA,p,yesterday\n":  `time "yesterday"`,
		"{\"orderId\": \n":                       "row 1",
	} {
		ctlWith(t, text, "reconcile", "run", "--payments", "-").want(t, exitFindings, says)
	}
	ctlWith(t, "", "reconcile", "run", "--payments", "-").want(t, exitOK)
	ctl(t, "reconcile", "run", "--payments", "/nowhere").want(t, exitFindings, "nowhere")
	ctl(t, "reconcile", "run", "--map", "x=y").want(t, exitFindings, "no export")
	ctlWith(t, "a,b\n", "reconcile", "run", "--payments", "-", "--map", "x=y").want(t, exitFindings, `no column "x"`)
	ctl(t, "reconcile", "run", "--limit=-1").want(t, exitFindings, "choose 0")
	ctl(t, "reconcile", "findings", "show", "x").want(t, exitFindings, "no finding")
	ctl(t, "gate", "--every", "1ms").want(t, exitFindings, "choose 100ms")
}
