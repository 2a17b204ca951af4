package main

import (
	"context"
	"maps"
	"testing"

	"couponlease/internal/fleet"
)

// plant is a fault to put into the database.
type plant struct{ name, statement string }

// plants are on different coupons, so that each adds to what is found.
func plants() []plant {
	return []plant{
		{"a coupon written around the ledger", `update user_coupon set version = version + 1
			where coupon_id = (select min(coupon_id) from user_coupon where state = 'USED')`},
		{"a redemption lost", `update user_coupon set state = 'AVAILABLE', redemption_id = null
			where coupon_id = (select max(coupon_id) from user_coupon where state = 'USED')`},
		{"a lease without evidence", `delete from coupon_lock
			where coupon_id = (select coupon_id from coupon_lock order by coupon_id offset 10 limit 1)`},
	}
}

// control shows that the checks are not blind: on what a measurement has left,
// they see each fault as it is planted, and an event that is missing. The rows
// are of no use afterwards.
func (g *ground) control(t testing.TB, ctx context.Context, events collected, want announcements) {
	t.Helper()
	for id := range events.operations {
		lossy := collected{operations: maps.Clone(events.operations), others: events.others}
		delete(lossy.operations, id)
		if len(lossy.compare(want)) == 0 {
			t.Fatal("the loss of an event was planted, and the comparison does not see it")
		}
		break
	}
	found := 0
	for _, p := range plants() {
		changed, err := g.db.conn.Exec(ctx, p.statement)
		must(t, err, "plant "+p.name)
		violations, _, _, err := fleet.Verify(ctx, g.Store)
		must(t, err, "check invariants")
		if len(violations) <= found {
			t.Fatalf("%s was planted in %d row, and the invariants do not see it", p.name, changed.RowsAffected())
		}
		found = len(violations)
	}
}
