package store

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"couponlease/migrations"
)

var (
	//go:embed sql/schema_there.sql
	schemaThereSQL string
	//go:embed sql/schema_versions.sql
	schemaVersionsSQL string
	//go:embed sql/server_facts.sql
	serverFactsSQL string
)

// MinServerVersion is the oldest PostgreSQL that the schema works on.
const MinServerVersion = 15

// ServerFacts are what an installation stands on.
type ServerFacts struct {
	// Version is for people, Number for comparisons: 150004 is 15.4.
	Version string
	Number  int64
	// Clock is the server's; Asked and Answered are ours around it.
	Clock, Asked, Answered time.Time
	// Standby says that nothing can be written.
	Standby bool
	// Settings that are off although a commit would not be safe then.
	Unsafe []string
	// OldestSnapshot is how long another session has kept dead rows from being cleaned
	// up.
	OldestSnapshot time.Duration
}

// ServerFacts asks the server.
func (s *Store) ServerFacts(ctx context.Context) (f ServerFacts, err error) {
	var fsync, pages, commit string
	var seconds int64
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return f, fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Release()
	// The first question also prepares the statement; the clock is that of the second.
	for range 2 {
		f.Asked = time.Now()
		err := conn.QueryRow(ctx, serverFactsSQL).Scan(&f.Version, &f.Number, &f.Clock, &f.Standby, &fsync, &pages, &commit,
			&seconds)
		if err != nil {
			return f, fmt.Errorf("ask the database about itself: %w", err)
		}
		f.Answered = time.Now()
	}
	f.OldestSnapshot = time.Duration(seconds) * time.Second
	for _, setting := range []struct{ name, value string }{
		{"fsync", fsync}, {"full_page_writes", pages}, {"synchronous_commit", commit},
	} {
		if setting.value == "off" {
			f.Unsafe = append(f.Unsafe, setting.name)
		}
	}
	return f, nil
}

// SchemaFacts are which migrations a schema has, compared with those of this program.
type SchemaFacts struct {
	// Missing are those that it lacks, Unknown those of a newer program.
	Missing []string
	Unknown []int64
}

// SchemaFacts looks at the schema and changes nothing.
func (s *Store) SchemaFacts(ctx context.Context) (f SchemaFacts, err error) {
	var there bool
	if err := s.pool.QueryRow(ctx, schemaThereSQL).Scan(&there); err != nil {
		return f, fmt.Errorf("look for the schema: %w", err)
	}
	applied := map[int64]bool{}
	if there {
		if err := s.each(ctx, schemaVersionsSQL, func(rows pgx.Rows) error {
			var version int64
			err := rows.Scan(&version)
			applied[version] = true
			return err
		}); err != nil {
			return f, fmt.Errorf("read the migrations that the schema has: %w", err)
		}
	}
	known, err := migrations.All()
	if err != nil {
		return f, err
	}
	for _, m := range known {
		if !applied[m.Version] {
			f.Missing = append(f.Missing, m.Name)
		}
		delete(applied, m.Version)
	}
	for version := range applied {
		f.Unknown = append(f.Unknown, version)
	}
	return f, nil
}

// PartitionFacts are which days are missing, and which are left over.
type PartitionFacts struct {
	// Today has partitions of today that are missing: what belongs there cannot be
	// written. Tomorrow has those of tomorrow.
	Today, Tomorrow []string
	// Over have been due for dropping for days.
	Over []string
}

// graceDays is how long a partition may wait to be dropped: leases that are still held
// keep the days of their timers.
const graceDays = 3

// PartitionFacts compares the daily partitions with what the coming days need. retention
// is how many days the inbox remembers.
func (s *Store) PartitionFacts(ctx context.Context, retention int) (f PartitionFacts, err error) {
	now, err := s.Ping(ctx)
	if err != nil {
		return f, err
	}
	existing, err := s.partitions(ctx)
	if err != nil {
		return f, err
	}
	there := map[partition]bool{}
	today := dayOf(now)
	for _, p := range existing {
		there[partition{p.table, p.day.UTC()}] = true
		if p.table == inboxTable && p.day.Before(today.AddDate(0, 0, -retention-graceDays)) {
			f.Over = append(f.Over, p.name())
		}
	}
	for _, table := range []string{inboxTable, nearTimerTable} {
		if p := (partition{table, today}); !there[p] {
			f.Today = append(f.Today, p.name())
		}
		if p := (partition{table, today.AddDate(0, 0, 1)}); !there[p] {
			f.Tomorrow = append(f.Tomorrow, p.name())
		}
	}
	return f, nil
}
