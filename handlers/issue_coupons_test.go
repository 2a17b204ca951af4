package handlers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
	"couponlease/messages"
)

// The audit log knows of a batch how many coupons it was, and not for whom: that is in
// the wallets.
func TestIssueIsAuditedWithoutItsCustomers(t *testing.T) {
	envelope := parseCommand(t, messages.TypeIssueCoupons, `{"idempotencyKey":"K","templateId":"T","batchId":"B",
		"coupons":[{"code":" C1 ","customerId":"ann@example.org"},{"customerId":"u2","validUntil":"2026-05-01T00:00:00Z"}],
		"actor":"ops"}`)
	requests, err := IssueCoupons(envelope)
	if err != nil || len(requests) != 1 {
		t.Fatalf("%d requests, %v", len(requests), err)
	}
	want := coupon.IssueCoupons{Template: "T", Batch: "B", Items: []coupon.IssueItem{
		{Code: " C1 ", Person: "ann@example.org"}, {Person: "u2", ValidUntil: envelopeTime(t, "2026-05-01T00:00:00Z")},
	}}
	if diff := cmp.Diff(coupon.Fact(want), requests[0].Fact); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := string(requests[0].Audit.Arguments); got != `{"templateId":"T","batchId":"B","coupons":2}` {
		t.Errorf("audited as %s", got)
	}
}

func envelopeTime(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
