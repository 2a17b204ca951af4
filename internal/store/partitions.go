package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// inboxDaysAhead covers messages whose clock runs ahead, and nights without
	// maintenance.
	inboxDaysAhead = 2
	// timerHorizon is how soon a timer has to be due to go to a daily partition.
	timerHorizon = 7 * 24 * time.Hour
	// timerDaysAhead covers the horizon, and days without maintenance.
	timerDaysAhead = 9

	// maintenanceLockTimeout bounds how long writers queue behind maintenance.
	maintenanceLockTimeout = time.Second
	// maintenanceTimeout bounds each look through a whole partition.
	maintenanceTimeout = 5 * time.Minute
	// farTimersPerDrop bounds how many late timers one call deletes.
	farTimersPerDrop = 10_000
)

const (
	inboxTable     = "inbox"
	nearTimerTable = "lease_timer_near"
	dayFormat      = "20060102"
)

// partition is one day of a partitioned table.
type partition struct {
	table string
	day   time.Time
}

func (p partition) name() string { return p.table + "_" + p.day.Format(dayFormat) }

// bounds gives the key column and the literals around the day.
func (p partition) bounds() (key, lower, upper string) {
	if p.table == inboxTable {
		return "day", p.day.Format(time.DateOnly), p.day.AddDate(0, 0, 1).Format(time.DateOnly)
	}
	const midnight = time.DateOnly + " 00:00:00+00"
	return "due_at", p.day.Format(midnight), p.day.AddDate(0, 0, 1).Format(midnight)
}

// EnsurePartitions creates the daily partitions that messages and timers of the coming
// days will need, each in a transaction of its own. Replicas may call it at once, and
// as often as they like; the daemon does so every hour.
func (s *Store) EnsurePartitions(ctx context.Context) error {
	now, err := s.Now(ctx)
	if err != nil {
		return fmt.Errorf("ensure partitions: %w", err)
	}
	existing, err := s.partitions(ctx)
	if err != nil {
		return fmt.Errorf("ensure partitions: %w", err)
	}
	there := map[string]bool{}
	for _, p := range existing {
		there[p.name()] = true
	}
	for _, p := range s.wantedPartitions(now) {
		if there[p.name()] {
			continue
		}
		key, lower, upper := p.bounds()
		if err := s.maintain(ctx, createPartitionSQL, nil, p.table, p.name(), key, lower, upper); err != nil {
			return fmt.Errorf("create partition %s: %w", p.name(), err)
		}
	}
	return nil
}

func (s *Store) wantedPartitions(now time.Time) (wanted []partition) {
	today := dayOf(now)
	for offset := -s.options.InboxRetention; offset <= inboxDaysAhead; offset++ {
		wanted = append(wanted, partition{inboxTable, today.AddDate(0, 0, offset)})
	}
	for offset := -1; offset <= timerDaysAhead; offset++ {
		wanted = append(wanted, partition{nearTimerTable, today.AddDate(0, 0, offset)})
	}
	return wanted
}

// DropExpiredPartitions drops the days of the inbox that are older than its retention,
// and the timers whose retention is over. A timer whose lease is still held is kept,
// and so is its day. A table that is locked for longer than a second is left for the
// next call, and writers wait no longer than that; the error says so, after everything
// else was tried.
func (s *Store) DropExpiredPartitions(ctx context.Context) error {
	now, err := s.Now(ctx)
	if err != nil {
		return fmt.Errorf("drop expired partitions: %w", err)
	}
	existing, err := s.partitions(ctx)
	if err != nil {
		return fmt.Errorf("drop expired partitions: %w", err)
	}
	today := dayOf(now)
	retention := map[string]int{inboxTable: s.options.InboxRetention, nearTimerTable: s.options.TimerRetention}
	var failed []error
	busy := map[string]bool{}
	for _, p := range existing {
		if busy[p.table] || !p.day.Before(today.AddDate(0, 0, -retention[p.table])) {
			continue
		}
		if err := s.drop(ctx, p); err != nil {
			failed = append(failed, fmt.Errorf("drop partition %s: %w", p.name(), err))
			// The whole table is locked for each: writers are not held up again and again.
			busy[p.table] = true
		}
	}
	over := today.AddDate(0, 0, -s.options.TimerRetention)
	if err := s.maintain(ctx, deleteTimersSQL, nil, over, farTimersPerDrop); err != nil {
		failed = append(failed, fmt.Errorf("delete timers that are over: %w", err))
	}
	return errors.Join(failed...)
}

// drop looks first, without locking anybody out: no timer of a day that is over becomes
// that of a current lease again.
func (s *Store) drop(ctx context.Context, p partition) error {
	var held bool
	if p.table == nearTimerTable {
		err := s.maintain(ctx, timersHeldSQL, &held, p.name())
		if err != nil || held {
			return err
		}
	}
	return s.maintain(ctx, dropPartitionSQL, nil, p.name())
}

// partitions lists the daily partitions that exist.
func (s *Store) partitions(ctx context.Context) (found []partition, err error) {
	err = s.each(ctx, listPartitionsSQL, func(rows pgx.Rows) error {
		var table, name string
		if err := rows.Scan(&table, &name); err != nil {
			return err
		}
		day, err := time.Parse(dayFormat, strings.TrimPrefix(name, table+"_"))
		if err == nil { // others, such as the default partition, are not by day
			found = append(found, partition{table, day})
		}
		return nil
	}, texts{inboxTable, nearTimerTable})
	if err != nil {
		return nil, fmt.Errorf("list partitions: %w", err)
	}
	return found, nil
}

// maintain runs one statement in a transaction of its own that gives up on locks
// quickly and may otherwise take long. answer, if there is one, takes its only value.
func (s *Store) maintain(ctx context.Context, statement string, answer *bool, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, maintenanceTimeout+patience)
	defer cancel()
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, maintenanceSQL, milliseconds(maintenanceLockTimeout), milliseconds(maintenanceTimeout))
		if err != nil {
			return err
		}
		if answer != nil {
			return tx.QueryRow(ctx, statement, args...).Scan(answer)
		}
		_, err = tx.Exec(ctx, statement, args...)
		return err
	})
	var server *pgconn.PgError
	if errors.As(err, &server) && server.Code == "42P01" {
		return nil // another replica has dropped it
	}
	return err
}
