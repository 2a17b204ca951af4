// Package store keeps coupons, orders and messages in PostgreSQL. It is the only
// package that knows the database.
//
// Apply is the one way in which coupons change: lock, read, decide, write, in one
// transaction of two or three round trips. All locks are taken in one global order:
// orders, templates, counters of uses, coupons, each by ascending id. Two writers
// therefore never wait for each other in a circle.
package store

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"couponlease/internal/policy"
	"couponlease/migrations"
)

// Store is safe for concurrent use.
type Store struct {
	pool    *pgxpool.Pool
	options Options

	// policies never change once they exist, so what was read once is kept.
	mu       sync.RWMutex
	policies map[int64]policy.Policy

	// restocking lets one work on a campaign through at a time.
	restocking chan struct{}
}

// Open prepares a store on the schema that the URL's search path names. It does not
// connect: a database that is down shows in Ping and in each call.
func Open(ctx context.Context, url string, options Options) (*Store, error) {
	options = options.withDefaults()
	pool, err := newPool(ctx, url, options)
	if err != nil {
		return nil, err
	}
	return &Store{
		pool: pool, options: options, policies: map[int64]policy.Policy{}, restocking: make(chan struct{}, 1),
	}, nil
}

// Close waits for running calls and closes all connections.
func (s *Store) Close() { s.pool.Close() }

// Ping asks the database for its clock, and with it whether it can be written to. An
// error says that it cannot.
func (s *Store) Ping(ctx context.Context) (time.Time, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var (
		now     time.Time
		standby bool
	)
	if err := s.pool.QueryRow(ctx, pingSQL).Scan(&now, &standby); err != nil {
		return time.Time{}, fmt.Errorf("ping the database: %w", err)
	}
	if standby {
		return time.Time{}, fmt.Errorf("ping the database: it is a standby and read-only")
	}
	return now.UTC(), nil
}

// MigrateUp brings the schema to the newest version. Replicas may call it at once: one
// migrates while the others wait on a lock of its session, so a pooler in transaction
// mode has to be passed by.
func (s *Store) MigrateUp(ctx context.Context) error { return s.migrate(ctx, migrations.Up) }

// MigrateDown takes the whole schema back, and with it all data.
func (s *Store) MigrateDown(ctx context.Context) error { return s.migrate(ctx, migrations.Down) }

// MigrationStatus lists all migrations.
func (s *Store) MigrationStatus(ctx context.Context) (states []migrations.State, err error) {
	err = s.migrate(ctx, func(ctx context.Context, db *sql.DB) error {
		states, err = migrations.Status(ctx, db)
		return err
	})
	return states, err
}

// migrate runs without the time limits of the pool: a migration may take long.
func (s *Store) migrate(ctx context.Context, run func(context.Context, *sql.DB) error) error {
	config := s.pool.Config().ConnConfig
	for _, limit := range []string{"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"} {
		delete(config.RuntimeParams, limit)
	}
	db := stdlib.OpenDB(*config)
	defer db.Close()
	return run(ctx, db)
}

// deadline bounds one round trip. The server's own limit comes first.
func (s *Store) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.options.StatementTimeout+patience)
}

// each runs a query and hands every row to scan.
func (s *Store) each(ctx context.Context, query string, scan func(pgx.Rows) error, args ...any) error {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	rows, err := s.pool.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	return forEach(rows, scan)
}

func forEach(rows pgx.Rows, scan func(pgx.Rows) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
