// Package migrations holds the numbered schema changes and runs them. Several
// replicas may start at once: one of them migrates while the others wait.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"fmt"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed *.sql
var files embed.FS

// The wait for another replica that is migrating: every second, for five minutes.
const (
	lockPeriodSeconds = 1
	lockAttempts      = 300
)

// State tells one migration and whether the database has it.
type State struct {
	Version int64
	Name    string
	Applied bool
}

// Up brings the schema on the search path of db to the newest version.
func Up(ctx context.Context, db *sql.DB) error {
	provider, err := newProvider(ctx, db)
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate up: %w", err)
	}
	return nil
}

// Down takes every migration back, and with them all data.
func Down(ctx context.Context, db *sql.DB) error {
	provider, err := newProvider(ctx, db)
	if err != nil {
		return err
	}
	if _, err := provider.DownTo(ctx, 0); err != nil {
		return fmt.Errorf("migrate down: %w", err)
	}
	return nil
}

// Status lists all migrations in order.
func Status(ctx context.Context, db *sql.DB) ([]State, error) {
	provider, err := newProvider(ctx, db)
	if err != nil {
		return nil, err
	}
	found, err := provider.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("read migration status: %w", err)
	}
	states := make([]State, len(found))
	for i, status := range found {
		states[i] = State{
			Version: status.Source.Version,
			Name:    status.Source.Path,
			Applied: status.State == goose.StateApplied,
		}
	}
	return states, nil
}

// newProvider locks by schema, so that installations which share a database do not
// wait for each other.
func newProvider(ctx context.Context, db *sql.DB) (*goose.Provider, error) {
	var lockID int64
	const query = `select hashtextextended('couponlease migrations ' || current_schema(), 0)`
	if err := db.QueryRowContext(ctx, query).Scan(&lockID); err != nil {
		return nil, fmt.Errorf("find the schema to migrate: %w", err)
	}
	locker, err := lock.NewPostgresSessionLocker(
		lock.WithLockID(lockID), lock.WithLockTimeout(lockPeriodSeconds, lockAttempts))
	if err != nil {
		return nil, fmt.Errorf("prepare the migration lock: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSessionLocker(locker))
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return provider, nil
}
