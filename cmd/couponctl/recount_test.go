package main

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/console"
	"couponlease/internal/coupon"
)

// A counter that somebody has written to is found, counted again, and told of.
func TestCountersAreCountedAgain(t *testing.T) {
	s := newShop(t, "c1", "c2")
	conn, err := pgx.Connect(t.Context(), s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `update coupon_template set imported = 5, issued = 1 where template_id = 't'`); err != nil {
		t.Fatal(err)
	}
	ctl(t, "reconcile", "run").want(t, exitFindings, "P2 DRIFT t", "1 coupons issued by the counter, 0 by the coupons",
		"5 coupons imported by the counter, 2 by the coupons")
	ctl(t, "gate").want(t, exitFindings, "drift", "RED", "OPERATIONS.md#gate-drift")
	found := decode[console.FindingPage](t, ctl(t, "reconcile", "findings", "list", "--fault", "DRIFT", "-o", "json")).Findings
	if len(found) != 1 {
		t.Fatalf("listed %+v", found)
	}
	ctl(t, "reconcile", "findings", "show", found[0].ID).want(t, exitOK, "--repair --reason TEXT` counts again")

	ctl(t, "reconcile", "run", "--repair", "--reason", "ticket 4731").want(t, exitFindings, "1 finding changed by repairs")
	ctl(t, "audit", "list").want(t, exitOK, "RecountTemplate", "RECOUNTED", "issued 1 -> 0; imported 5 -> 2", "ticket 4731")
	log := decode[console.AuditPage](t, ctl(t, "audit", "list", "--action", "RecountTemplate", "-o", "json")).Entries
	if len(log) != 1 || len(log[0].Corrections) != 2 || log[0].Corrections[0] != (coupon.Correction{Counter: "issued", Before: 1}) {
		t.Errorf("audited as %+v", log)
	}
	ctl(t, "reconcile", "run").want(t, exitOK, "1 finding gone")
	ctl(t, "gate").want(t, exitOK)
	ctl(t, "check").want(t, exitOK)
}
