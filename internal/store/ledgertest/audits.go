package ledgertest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"couponlease/internal/coupon"
)

// byHand runs a command of a person, and gives the row that the audit log has to have
// of it, but for how the coupons stand.
func (b *bench) byHand(t testing.TB, code coupon.Code, key string, fact coupon.Command) coupon.AuditRow {
	t.Helper()
	request := b.command(key, fact)
	request.Audit = &coupon.Audit{Reason: "because of " + key, Arguments: []byte(`{}`)}
	outcomes, err := b.apply(context.Background(), request)
	if err != nil || outcomes[0].Code != code {
		t.Fatalf("%s: answered %+v, %v, want %s", key, outcomes, err, code)
	}
	return coupon.AuditRow{
		At: b.now(), Actor: "test", Action: coupon.Kind(fact), Coupons: fact.Coupons(), Reason: request.Audit.Reason,
		Code: code, First: outcomes[0].First, Key: key, Cause: request.ID, Arguments: request.Audit.Arguments,
	}
}

// audits: each command by hand has a row, and what was not given by hand has none.
func audits(t *testing.T, b *bench) {
	b.issue(t, 2, unlimited())
	stands := func(id string, state coupon.State, version int64) []coupon.Standing {
		return []coupon.Standing{{Coupon: id, State: state, Version: version}}
	}
	b.order(t, coupon.OK, "k0", coupon.LockCoupon{Coupon: "c2", Order: "A"})
	void := coupon.VoidCoupon{Coupon: "c1", Reason: "leaked"}
	done := b.byHand(t, coupon.OK, "k1", void)
	done.Subject, done.Count = "c1", 1
	done.Before, done.After = stands("c1", coupon.Available, 1), stands("c1", coupon.Void, 2)
	b.pass(time.Second)
	again := b.byHand(t, coupon.Duplicate, "k1", void)
	again.Subject, again.Before, again.After = "c1", done.After, done.After
	b.pass(time.Second)
	refused := b.byHand(t, coupon.InUse, "k2", coupon.VoidCoupon{Coupon: "c2"})
	refused.Subject, refused.Before = "c2", stands("c2", coupon.Locked, 2)
	refused.After = refused.Before

	last := b.audited(t, coupon.AuditFilter{}, refused, again, done)
	b.audited(t, coupon.AuditFilter{Coupon: "c1"}, again, done)
	b.audited(t, coupon.AuditFilter{Coupon: "c2", Actor: "test", Action: "VoidCoupon"}, refused)
	b.audited(t, coupon.AuditFilter{Actor: "somebody else"})
	b.audited(t, coupon.AuditFilter{Since: again.At, Until: refused.At}, again)
	b.audited(t, coupon.AuditFilter{Limit: 2}, refused, again)
	b.audited(t, coupon.AuditFilter{Before: last[1].ID}, done)
}

// audited compares the audit log with what it should have, newest first.
func (b *bench) audited(t testing.TB, filter coupon.AuditFilter, want ...coupon.AuditRow) []coupon.AuditRow {
	t.Helper()
	rows, err := b.ledger.AuditLog(context.Background(), filter)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, rows, cmpopts.IgnoreFields(coupon.AuditRow{}, "ID"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("audit log, %+v (-want +got):\n%s", filter, diff)
	}
	return rows
}
