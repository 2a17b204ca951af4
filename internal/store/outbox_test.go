package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/outbox"
	"couponlease/internal/outbox/outboxtest"
)

func TestOutboxStore(t *testing.T) {
	outboxtest.Run(t, func(t *testing.T) outboxtest.Harness { return outboxHarness{open(t)} })
}

type outboxHarness struct{ store *Store }

func (h outboxHarness) Store() outbox.Store { return h.store }

func (h outboxHarness) Draw(t testing.TB) int64 {
	return scalar[int64](t, h.store, `select nextval(pg_get_serial_sequence('coupon_outbox', 'id'))`)
}

func (h outboxHarness) Commit(t testing.TB, shard int, id int64, payload []byte) {
	execute(t, h.store, `insert into coupon_outbox (id, shard, messages, created_at, payload)
		overriding system value values ($1, $2, 1, clock_timestamp(), $3)`, id, shard, string(payload))
}

func (h outboxHarness) Parked(t testing.TB, shard int) (parked []outbox.Parked) {
	err := h.store.each(t.Context(), `select id, payload, created_at, parks, parked_reason, parked_at
		from coupon_outbox where shard = $1 and parked_at is not null order by id`, func(rows pgx.Rows) error {
		var p outbox.Parked
		err := rows.Scan(&p.ID, &p.Payload, &p.CreatedAt, &p.Parks, &p.Reason, &p.At)
		parked = append(parked, p)
		return err
	}, shard)
	if err != nil {
		t.Fatal(err)
	}
	return parked
}

// Pass back-dates what was stored: the database's clock belongs to everybody.
func (h outboxHarness) Pass(t testing.TB, d time.Duration) {
	by := fmt.Sprintf("interval '%d microseconds'", d.Microseconds())
	execute(t, h.store, "update outbox_lease set expires_at = expires_at - "+by)
	execute(t, h.store, "update coupon_outbox set created_at = created_at - "+by+", parked_at = parked_at - "+by)
}
