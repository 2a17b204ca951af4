package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/puddle/v2"

	"couponlease/internal/coupon"
)

// errClosed is what the pool answers once it is closed.
var errClosed = puddle.ErrClosedPool

// Options of a store. Every duration and count of zero takes its default.
type Options struct {
	// Rules and Source go to every world that Apply hands out.
	Rules  coupon.Rules
	Source coupon.Source
	// Now, when set, replaces the database's clock: for virtual time, as in the
	// acceptance cases. In production only the database's clock judges deadlines.
	Now func() time.Time

	// ApplicationName shows in pg_stat_activity; "couponlease" by default.
	ApplicationName string
	// MaxConns bounds the connections: two or three for the batch writers and a few for
	// relay, sweeper and operators. 8 by default.
	MaxConns int
	// StatementTimeout bounds each statement, on the server. A round trip may take a
	// little longer before the client gives up by itself. 10 s by default.
	StatementTimeout time.Duration
	// LockTimeout bounds each wait for a row. 5 s by default.
	LockTimeout time.Duration
	// CountTimeout bounds how long the coupons of templates are counted again. 20 s by
	// default: less than an attempt may take.
	CountTimeout time.Duration
	// IdleTimeout ends transactions whose client has gone silent. 15 s by default.
	IdleTimeout time.Duration

	// InboxRetention is how many whole days back messages are remembered in the inbox;
	// older ones are protected by business keys only. 14 by default.
	InboxRetention int
	// TimerRetention is how many whole days a timer is kept after it was due. 3 by
	// default.
	TimerRetention int
	// MaxLinkedOrders bounds how many orders one transaction locks because they are
	// linked to those of its requests. 4096 by default.
	MaxLinkedOrders int
	// PageSize is how many coupons, orders or timers one round trip of a scan reads.
	// 1000 by default.
	PageSize int
}

// patience is what a client waits longer than the server.
const patience = 2 * time.Second

// maxSnapshotPause bounds how long a streaming read may be held up by its consumer.
const maxSnapshotPause = 10 * time.Minute

func (o Options) withDefaults() Options {
	o.ApplicationName = cmp.Or(o.ApplicationName, "couponlease")
	o.MaxConns = cmp.Or(o.MaxConns, 8)
	o.StatementTimeout = cmp.Or(o.StatementTimeout, 10*time.Second)
	o.LockTimeout = cmp.Or(o.LockTimeout, 5*time.Second)
	o.CountTimeout = cmp.Or(o.CountTimeout, 20*time.Second)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 15*time.Second)
	o.InboxRetention = cmp.Or(o.InboxRetention, 14)
	o.TimerRetention = cmp.Or(o.TimerRetention, 3)
	o.MaxLinkedOrders = cmp.Or(o.MaxLinkedOrders, 4096)
	o.PageSize = cmp.Or(o.PageSize, 1000)
	return o
}

// newPool prepares a pool without connecting.
//
// Statements are prepared once per connection, and trips are pipelined. A pooler in
// transaction mode has to know prepared statements: PgBouncer 1.21 or later with
// max_prepared_statements set and the session settings below in
// ignore_startup_parameters (set them on the role instead), or
// default_query_exec_mode=cache_describe in the URL. The modes exec and
// simple_protocol cannot carry arrays and are refused.
func newPool(ctx context.Context, url string, o Options) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read the database URL: %w", err)
	}
	switch config.ConnConfig.DefaultQueryExecMode {
	case pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol:
		return nil, errors.New("read the database URL: default_query_exec_mode must be cache_statement, " +
			"cache_describe or describe_exec")
	}
	config.MaxConns = int32(o.MaxConns)
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		registerColumns(conn)
		keepPlanning(conn, time.Now())
		return nil
	}
	settings := config.ConnConfig.RuntimeParams
	settings["application_name"] = o.ApplicationName
	settings["timezone"] = "UTC"
	// Queries here take microseconds; compiling one takes longer than all of them.
	settings["jit"] = "off"
	settings["statement_timeout"] = milliseconds(o.StatementTimeout)
	settings["lock_timeout"] = milliseconds(o.LockTimeout)
	settings["idle_in_transaction_session_timeout"] = milliseconds(o.IdleTimeout)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("prepare database connections: %w", err)
	}
	return pool, nil
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
