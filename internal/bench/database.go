package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// database looks at PostgreSQL from outside the product.
type database struct {
	conn *pgx.Conn
	// postmaster is the process whose children serve the connections.
	postmaster int
}

func openDatabase(ctx context.Context, url string) (*database, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	d := &database{conn: conn}
	var backend int
	if err := conn.QueryRow(ctx, "select pg_backend_pid()").Scan(&backend); err != nil {
		return nil, fmt.Errorf("ask for the server's process: %w", err)
	}
	p, err := readProcess(backend)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL has to run on this machine: %w", err)
	}
	d.postmaster = p.parent
	return d, nil
}

func (d *database) close(ctx context.Context) error { return d.conn.Close(ctx) }

// number asks for one value.
func (d *database) number(ctx context.Context, query string, args ...any) (value float64, err error) {
	if err := d.conn.QueryRow(ctx, query, args...).Scan(&value); err != nil {
		return 0, fmt.Errorf("%s: %w", query, err)
	}
	return value, nil
}

// settle brings the tables to the state in which every measurement begins.
func (d *database) settle(ctx context.Context) error {
	rows, err := d.conn.Query(ctx, `select quote_ident(relname) from pg_class
		where relnamespace = current_schema()::regnamespace and relkind = 'r'`)
	if err != nil {
		return fmt.Errorf("list tables: %w", err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("list tables: %w", err)
	}
	for _, table := range tables {
		if _, err := d.conn.Exec(ctx, "vacuum (analyze) "+table); err != nil {
			return fmt.Errorf("vacuum %s: %w", table, err)
		}
	}
	if _, err := d.conn.Exec(ctx, "checkpoint"); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// wal is how much has been written to the log of the whole server, in bytes.
func (d *database) wal(ctx context.Context) (float64, error) {
	return d.number(ctx, `select (pg_current_wal_insert_lsn() - '0/0')::float8`)
}

// commits counts the transactions of the database. Sessions report theirs within
// a second, and when they end.
func (d *database) commits(ctx context.Context) (float64, error) {
	return d.number(ctx, `select xact_commit::float8 from pg_stat_database where datname = current_database()`)
}

// hotShare is how many of the updates of the schema touched no index.
func (d *database) hotShare(ctx context.Context) (float64, error) {
	return d.number(ctx, `select coalesce(sum(n_tup_hot_upd)::float8 / nullif(sum(n_tup_upd), 0), 0)
		from pg_stat_user_tables where schemaname = current_schema()`)
}

// written counts the rows that commands have left, and how many answers PostgreSQL's
// own statistics know of so far.
func (d *database) written(ctx context.Context) (w written, counted float64, err error) {
	err = d.conn.QueryRow(ctx, `select (select count(*) from coupon_command)::float8,
			(select count(*) from coupon_operation where operation <> 'ISSUE')::float8,
			(select n_tup_upd from pg_stat_user_tables where schemaname = current_schema() and relname = 'user_coupon')::float8,
			(select n_tup_ins from pg_stat_user_tables where schemaname = current_schema() and relname = 'coupon_command')::float8`,
	).Scan(&w.answers, &w.ledger, &w.updates, &counted)
	if err != nil {
		return w, 0, fmt.Errorf("count what commands have written: %w", err)
	}
	return w, counted, nil
}

// answered counts the messages of which the answer is committed.
func (d *database) answered(ctx context.Context) (int, error) {
	n, err := d.number(ctx, "select count(*)::float8 from inbox")
	return int(n), err
}

// outboxEmpty says whether everything announced has left.
func (d *database) outboxEmpty(ctx context.Context) (bool, error) {
	n, err := d.number(ctx, "select case when exists (select from coupon_outbox) then 0.0 else 1.0 end::float8")
	return n == 1, err
}

// announcements are the events that have to go out.
type announcements struct {
	// operations are the ledger rows that messages have caused.
	operations map[string]bool
	// others counts the events that no ledger row stands behind.
	others int
}

// announcements lists what has to be announced since a moment: one event for each
// ledger row, one for each decision on a refund and one more for each that leaves
// the coupon used, one for each review and one more for each that tells of a
// conflict.
func (d *database) announcements(ctx context.Context, since time.Time) (announcements, error) {
	a := announcements{operations: map[string]bool{}}
	rows, err := d.conn.Query(ctx, `select operation_id::text from coupon_operation where at >= $1`, since)
	if err != nil {
		return a, fmt.Errorf("read the ledger: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return a, fmt.Errorf("read the ledger: %w", err)
	}
	for _, id := range ids {
		a.operations[id] = true
	}
	others, err := d.number(ctx, `select (
		(select count(*) + count(*) filter (where operation_id is null) from refund_coupon where decided_at >= $1) +
		(select count(*) + count(*) filter (where reason like 'LATE_PAYMENT%' or reason = 'PAID_WITH_VOIDED_COUPON')
		 from review_case where opened_at >= $1))::float8`, since)
	a.others = int(others)
	return a, err
}

// setting is one that differs from PostgreSQL's own default.
type setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// uninteresting are settings of the installation, which say nothing about speed.
const uninteresting = `(?i)(director|file|listen|port|locale|lc_|encoding|prefix|destination|zone|search_config|style` +
	`|checksums|wal_segment|key|log_)`

// settings lists what is not left at its default, paths and addresses apart.
func (d *database) settings(ctx context.Context) ([]setting, error) {
	rows, err := d.conn.Query(ctx, `select name, current_setting(name) from pg_settings
		where source in ('configuration file', 'command line', 'database', 'user', 'override')
			and setting is distinct from boot_val
			and name !~ $1
		order by name`, uninteresting)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	settings, err := pgx.CollectRows(rows, pgx.RowToStructByPos[setting])
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		var value string
		if err := d.conn.QueryRow(ctx, "select current_setting($1)", name).Scan(&value); err != nil {
			return nil, fmt.Errorf("read setting %s: %w", name, err)
		}
		settings = append(settings, setting{name, value})
	}
	return settings, nil
}
