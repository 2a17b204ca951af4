package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"couponlease/internal/coupon"
)

// transaction is one attempt of Apply on one connection.
type transaction struct {
	store  *Store
	conn   *pgxpool.Conn
	asked  asked
	world  *coupon.World
	window window
	begun  bool

	// The rows as they were read, to tell new from changed and locked from not.
	orders    map[string]*coupon.Order
	named     map[orderCoupon]coupon.Named
	templates map[string]*lockable
	uses      map[usesKey]bool
	aliases   map[string]string
	coupons   []*coupon.Coupon
	// truths are what the coupons of templates say that are counted again, beside their
	// counters, miscounted the counters of their persons that say something else.
	truths     []truth
	miscounted []PersonUse
	// revivable are the policies of redemptions that a reversal may bring back.
	revivable []int64
}

type orderCoupon struct{ order, coupon string }

// lockable is a template and whether its row is locked.
type lockable struct {
	template *coupon.Template
	locked   bool
}

func (s *Store) begin(ctx context.Context, a asked) (*transaction, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("get a database connection: %w", err)
	}
	return &transaction{
		store:     s,
		conn:      conn,
		asked:     a,
		orders:    make(map[string]*coupon.Order, len(a.orders)),
		named:     make(map[orderCoupon]coupon.Named, len(a.orders)),
		templates: map[string]*lockable{},
		uses:      map[usesKey]bool{},
		aliases:   map[string]string{},
	}, nil
}

// rollbackTimeout bounds the attempt to end a transaction politely; a connection that
// does not is closed, which ends it as well.
const rollbackTimeout = 2 * time.Second

// end takes back what was not committed and gives the connection back.
func (tx *transaction) end(ctx context.Context) {
	giveBack(ctx, tx.conn)
}

// giveBack ends the transaction on a connection, if there still is one, and returns
// the connection to its pool.
func giveBack(ctx context.Context, conn *pgxpool.Conn) {
	defer conn.Release()
	raw := conn.Conn()
	if raw.IsClosed() || raw.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	if _, err := raw.Exec(ctx, rollbackSQL); err != nil {
		_ = raw.Close(ctx) // the pool drops it; there is nobody else to tell
	}
}

// batchSender is a connection, or a pool that lends one for the trip.
type batchSender interface {
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

// trip is one round trip: statements that are sent together and answered in order.
type trip struct {
	batch   pgx.Batch
	purpose []string
	done    int
}

// query adds a statement and what is done with each of its rows.
func (t *trip) query(purpose, sql string, scan func(pgx.Rows) error, args ...any) {
	t.purpose = append(t.purpose, purpose)
	t.batch.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		if err := forEach(rows, scan); err != nil {
			return err
		}
		t.done++
		return nil
	})
}

// exec adds a statement whose rows do not matter.
func (t *trip) exec(purpose, sql string, args ...any) {
	t.query(purpose, sql, func(pgx.Rows) error { return nil }, args...)
}

// commit adds the COMMIT. A server that had aborted the transaction would answer it
// with a polite ROLLBACK.
func (t *trip) commit() {
	t.purpose = append(t.purpose, "commit")
	t.batch.Queue(commitSQL).Exec(func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" {
			return fmt.Errorf("commit answered %q: %w", tag, errRolledBack)
		}
		t.done++
		return nil
	})
}

// send makes the round trip. The error names the statement that failed.
func (t *trip) send(ctx context.Context, s *Store, conn batchSender) error {
	return t.sendWithin(ctx, s.options.StatementTimeout+patience, conn)
}

// sendWithin is send for statements that take longer than others.
func (t *trip) sendWithin(ctx context.Context, limit time.Duration, conn batchSender) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := conn.SendBatch(ctx, &t.batch).Close()
	if err != nil && t.done < len(t.purpose) {
		return fmt.Errorf("%s: %w", t.purpose[t.done], err)
	}
	return err
}
