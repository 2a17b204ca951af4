package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestLedgersAreFilledAndFaultsFound: what is filled is what a shop could have left, and
// every fault that is planted in it is found.
func TestLedgersAreFilledAndFaultsFound(t *testing.T) {
	const coupons = 4000
	s, db := openLedgers(t, t.Context())
	must(t, db.fillLedgers(t.Context(), coupons), "fill the ledgers")
	var l Ledgers
	verdict, _ := l.verify(t, t.Context(), s, 2)
	if verdict.Found != 0 || verdict.Coupons != coupons || verdict.Operations != 4*coupons {
		t.Fatalf("%d coupons, %d operations, found %v", verdict.Coupons, verdict.Operations, verdict.Findings)
	}
	l.plant(t, t.Context(), s, db)
	var b bytes.Buffer
	must(t, l.print(&b), "print")
	if len(l.Faults) > 0 || len(l.Plants) != 6 || !strings.Contains(b.String(), "planted: a version is forked") {
		t.Errorf("faults %v\n%s", l.Faults, &b)
	}
}
