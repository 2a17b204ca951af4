package daemon_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/telemetry"
	"couponlease/internal/testkit"
	"couponlease/messages"
)

// leaveDeadRows has every shard of the outbox begin with rows that were published, as
// many as come together in minutes.
func (s *shop) leaveDeadRows(rows int) {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.postgres)
	must(s.t, err, "connect")
	defer func() { must(s.t, conn.Close(context.Background()), "close the connection") }()
	_, err = conn.Exec(s.t.Context(), `insert into coupon_outbox (shard, messages, created_at, payload)
		select n % $2, 1, clock_timestamp(), repeat('x', 600) from generate_series(1, $1::int) n`, rows, s.config().OutboxShards)
	must(s.t, err, "write rows")
	_, err = conn.Exec(s.t.Context(), "delete from coupon_outbox")
	must(s.t, err, "delete rows")
}

// T22: a transaction that nobody ends keeps dead rows from being cleaned up. Events are
// published all the same, and a metric tells; an alert asks it.
func TestT22PublishingGoesOnBesideAnOldSnapshot(t *testing.T) {
	const orders = 200
	s := newShop(t)
	s.issue(0, orders)
	idle, err := pgx.Connect(t.Context(), s.postgres)
	must(t, err, "connect")
	t.Cleanup(func() { must(t, idle.Close(context.Background()), "close the connection") })
	_, err = idle.Exec(t.Context(), "begin isolation level repeatable read; select count(*) from coupon_outbox")
	must(t, err, "begin to read")
	s.leaveDeadRows(60_000)

	d := start(t, s.config())
	events := s.listen()
	for i := range orders {
		s.publish(placed(i, 0), paid(i))
	}
	events.eventually(t, messages.TypeCouponRedeemed, orders)
	s.eventuallyPublished()
	testkit.Eventually(t, patience, "the snapshot is told", func() (bool, string) {
		age := d.metric(telemetry.OldestSnapshot)
		return age > 0, fmt.Sprint(age)
	})
	var seen int
	must(t, idle.QueryRow(t.Context(), "select count(*) from order_fact").Scan(&seen), "read as of then")
	if seen != 0 {
		t.Errorf("the transaction sees %d messages that came later: it keeps no dead rows", seen)
	}
	must(t, d.stop(), "stop")
}
