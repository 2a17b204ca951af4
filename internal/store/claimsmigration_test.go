package store

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"couponlease/internal/coupon"
	"couponlease/internal/testkit"
)

// TestClaimsMigrateWithTheirData: what was issued before there were claims was imported, and
// whoever goes back has all of it issued, even if that is more than the total of today.
func TestClaimsMigrateWithTheirData(t *testing.T) {
	const before, after = 13, 14
	s := openAt(t, testkit.Postgres(t))
	db := stdlib.OpenDBFromPool(s.pool)
	t.Cleanup(func() { _ = db.Close() })
	provider, err := goose.NewProvider(goose.DialectPostgres, db, os.DirFS("../../migrations"))
	if err != nil {
		t.Fatal(err)
	}
	up := func(version int64) {
		t.Helper()
		if _, err := provider.UpTo(t.Context(), version); err != nil {
			t.Fatal(err)
		}
	}
	down := func() {
		t.Helper()
		if _, err := provider.DownTo(t.Context(), before); err != nil {
			t.Fatal(err)
		}
	}
	counters := func(want string) {
		t.Helper()
		if got := scalar[string](t, s, `select issued || ' of ' || total || ', ' || imported || ' imported, ' || uses_most ||
			' uses at most' from coupon_template`); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	up(before)
	execute(t, s, `insert into coupon_template (template_id, version, status, budget, uses_per_person, held, issued,
		policy_version, valid_days, zone, transferable) values ('old', 1, 'ACTIVE', -1, 3, 0, 1, 1, 0, '', false)`)
	execute(t, s, `insert into user_coupon (coupon_id, code, template_id, owner_id, batch_id, state, version,
		policy_version, leases, cycle, voided_from) values ('c1', 'C1', 'old', 'ann', 'B', 'AVAILABLE', 1, 1, 0, 0, '')`)
	execute(t, s, `insert into coupon_operation (coupon_id, to_version, from_version, policy_version, at, operation_id,
		operation, from_state, to_state, reason, order_id, payment_id, refund_id, cause_id, actor)
		values ('c1', 1, 0, 1, now(), gen_random_uuid(), 'ISSUE', '', 'AVAILABLE', '', '', '', '', 'm', 'test')`)
	execute(t, s, `insert into claim_counter (template_id, person_id, held) values ('old', 'ann', 0)`)
	up(after)
	counters("0 of -1, 1 imported, 3 uses at most")
	origin := scalar[string](t, s, `select origin || ' ' || coalesce(claim_no, 0) || ' ' || template_version from user_coupon`)
	if origin != "IMPORT 0 1" {
		t.Errorf("the coupon is %s", origin)
	}

	if err := s.MigrateUp(t.Context()); err != nil { // the program of today goes on from there
		t.Fatal(err)
	}
	total := int64(2)
	at := now(t, s)
	one(t, s, coupon.OK, command("k1", at, coupon.EditTemplate{Template: "old", Set: coupon.TermsEdit{Total: &total}}))
	one(t, s, coupon.OK, command("k2", at, coupon.ClaimCoupon{Template: "old", Person: "ann", Batch: "B"}))
	one(t, s, coupon.OK, command("k3", at, coupon.ClaimCoupon{Template: "old", Person: "ann"}))
	one(t, s, coupon.QuotaExhausted, command("k4", at, coupon.ClaimCoupon{Template: "old", Person: "bob"}))
	counters("2 of 2, 1 imported, 3 uses at most")
	wrongTemplates(t, s)

	down()
	if issued := scalar[int64](t, s, `select issued from coupon_template`); issued != 3 {
		t.Errorf("%d issued after the way back, want 3", issued)
	}
	up(after)
	counters("0 of -1, 3 imported, 3 uses at most")
}
