package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/store"
	"couponlease/internal/testkit"
)

// Ledgers is how long it takes to verify the ledgers of many coupons.
type Ledgers struct {
	Conditions Conditions `json:"conditions"`
	Coupons    int64      `json:"coupons"`
	Operations int64      `json:"operations"`
	// Bytes are those of both tables with their indexes, Filled how long making them
	// took, in seconds.
	Bytes  int64   `json:"bytes"`
	Filled float64 `json:"filledSeconds"`
	// Runs are the verifications.
	Runs []LedgerRun `json:"runs"`
	// Peak is the memory of this process afterwards, in bytes.
	Peak   int64         `json:"peakBytes"`
	Plants []LedgerPlant `json:"plants"`
	Faults []string      `json:"faults,omitempty"`
}

// LedgerRun is one verification, with so many connections.
type LedgerRun struct {
	Parallel int     `json:"parallel"`
	Seconds  float64 `json:"seconds"`
	// CPU and DatabaseCPU are the processor time of this process and of its sessions in
	// the database, in seconds: what the run costs whatever else the machine does.
	CPU         float64 `json:"cpuSeconds"`
	DatabaseCPU float64 `json:"databaseCPUSeconds"`
}

// LedgerPlant is one fault that was planted, and what was found of it.
type LedgerPlant struct {
	Name    string  `json:"name"`
	Found   string  `json:"found"`
	Seconds float64 `json:"seconds"`
}

// ledgerGoal is how long a million coupons may take, in seconds.
const ledgerGoal = 60.0

// stories are the lives of the coupons, in equal parts: state and version at the end,
// leases, redemptions, which lease is current, and whether the redemption is.
const ledgerStories = `(values
	(0, 'AVAILABLE', 4, 1, 1, 0, false), (1, 'USED', 4, 1, 1, 0, true), (2, 'LOCKED', 4, 2, 0, 2, false),
	(3, 'USED', 3, 1, 1, 0, true), (4, 'USED', 5, 2, 1, 0, true), (5, 'LOCKED', 4, 1, 0, 1, false),
	(6, 'REFUNDED', 4, 1, 1, 0, false), (7, 'VOID', 4, 1, 1, 0, false)
) as s (story, state, version, leases, cycle, lease, used)`

// ledgerSteps are their operations: the lease that each is about, and for what ends or
// takes back something the version of what it ends.
const ledgerSteps = `(values
	(0, 1, 'ISSUE', '', 'AVAILABLE', 0, 0), (0, 2, 'LOCK', 'AVAILABLE', 'LOCKED', 1, 0),
	(0, 3, 'REDEEM', 'LOCKED', 'USED', 1, 0), (0, 4, 'RETURN', 'USED', 'AVAILABLE', 1, 3),
	(1, 1, 'ISSUE', '', 'AVAILABLE', 0, 0), (1, 2, 'LOCK', 'AVAILABLE', 'LOCKED', 1, 0),
	(1, 3, 'RENEW', 'LOCKED', 'LOCKED', 1, 0), (1, 4, 'REDEEM', 'LOCKED', 'USED', 1, 0),
	(2, 1, 'ISSUE', '', 'AVAILABLE', 0, 0), (2, 2, 'LOCK', 'AVAILABLE', 'LOCKED', 1, 0),
	(2, 3, 'RELEASE', 'LOCKED', 'AVAILABLE', 1, 0), (2, 4, 'LOCK', 'AVAILABLE', 'LOCKED', 2, 0),
	(3, 1, 'ISSUE', '', 'AVAILABLE', 0, 0), (3, 2, 'LOCK', 'AVAILABLE', 'LOCKED', 1, 0),
	(3, 3, 'REDEEM', 'LOCKED', 'USED', 1, 0),
	(4, 1, 'ISSUE', '', 'AVAILABLE', 0, 0), (4, 2, 'LOCK', 'AVAILABLE', 'LOCKED', 1, 0),
	(4, 3, 'RELEASE', 'LOCKED', 'AVAILABLE', 1, 0), (4, 4, 'LOCK', 'AVAILABLE', 'LOCKED', 2, 0),
	(4, 5, 'REDEEM', 'LOCKED', 'USED', 2, 0),
	(5, 1, 'ISSUE', '', 'AVAILABLE', 0, 0), (5, 2, 'VOID', 'AVAILABLE', 'VOID', 0, 0),
	(5, 3, 'REVERSE', 'VOID', 'AVAILABLE', 0, 2), (5, 4, 'LOCK', 'AVAILABLE', 'LOCKED', 1, 0),
	(6, 1, 'ISSUE', '', 'AVAILABLE', 0, 0), (6, 2, 'LOCK', 'AVAILABLE', 'LOCKED', 1, 0),
	(6, 3, 'REDEEM', 'LOCKED', 'USED', 1, 0), (6, 4, 'RETIRE', 'USED', 'REFUNDED', 1, 3),
	(7, 1, 'ISSUE', '', 'AVAILABLE', 0, 0), (7, 2, 'LOCK', 'AVAILABLE', 'LOCKED', 1, 0),
	(7, 3, 'REDEEM', 'LOCKED', 'USED', 1, 0), (7, 4, 'VOID', 'USED', 'VOID', 1, 3)
) as s (story, version, operation, from_state, to_state, lease, original)`

// fillCouponsSQL makes n coupons, whose ids are not in the order in which they came.
const fillCouponsSQL = `insert into user_coupon (coupon_id, code, template_id, owner_id, batch_id, state, version,
	valid_until, issued_until, policy_version, leases, cycle, voided_from, lease_id, lease_generation, lease_order_id,
	lease_token_hash, lease_purpose, lease_deadline, lease_acquired_version, lease_version, redemption_id,
	redemption_cycle, redemption_order_id, redemption_payment_id, redemption_policy_version)
select left(md5(n::text), 16), upper(left(md5(n::text), 16)), 'bench', 'user-' || n % 100000, 'batch', s.state, s.version,
	'2030-01-01Z', '2030-01-01Z', 1, s.leases, s.cycle, case s.state when 'VOID' then 'USED' else '' end,
	md5('lease' || n || '-' || nullif(s.lease, 0))::uuid, nullif(s.lease, 0), 'order-' || n || '-' || nullif(s.lease, 0),
	case when s.lease > 0 then sha256(('token' || n)::bytea) end, case when s.lease > 0 then 'ORDER' end,
	case when s.lease > 0 then '2029-01-01Z'::timestamptz end, case when s.lease > 0 then s.version end,
	case when s.lease > 0 then s.version end, case when s.used then md5('redemption' || n)::uuid end,
	case when s.used then 1 end, case when s.used then 'order-' || n || '-' || s.leases end,
	case when s.used then 'pay-' || n end, case when s.used then 1 end
from generate_series(1, $1::bigint) n
join ` + ledgerStories + ` on s.story = n % 8`

// fillLedgerSQL makes what happened to the coupons at one version, in an order of its
// own: their ledgers are strewn over the table, as in a shop.
const fillLedgerSQL = `insert into coupon_operation (coupon_id, to_version, from_version, policy_version, valid_until, at,
	operation_id, lease_id, redemption_id, original_id, operation, from_state, to_state, reason, order_id, payment_id,
	refund_id, cause_id, actor, business_key, request_hash)
select left(md5(n::text), 16), s.version, s.version - 1, 1, '2030-01-01Z', now() - interval '1 day' * (9 - s.version),
	md5('operation' || n || '-' || s.version)::uuid, md5('lease' || n || '-' || nullif(s.lease, 0))::uuid,
	case when s.to_state = 'USED' or s.from_state = 'USED' then md5('redemption' || n)::uuid end,
	md5('operation' || n || '-' || nullif(s.original, 0))::uuid, s.operation, s.from_state, s.to_state, '',
	coalesce('order-' || n || '-' || nullif(s.lease, 0), ''),
	case s.operation when 'REDEEM' then 'pay-' || n else '' end,
	case when s.operation in ('RETURN', 'RETIRE') then 'refund-' || n else '' end,
	md5('cause' || n || '-' || s.version), 'orders', s.operation || ':' || n || ':' || s.lease,
	sha256(('request' || n || s.version)::bytea)
from generate_series(1, $1::bigint) n
join ` + ledgerSteps + ` on s.story = n % 8
where s.version = $2
order by md5(n || '/' || s.version)`

// longestStory is the last version of any coupon.
const longestStory = 5

// verifyLedgers fills a schema of its own with n coupons and four times as many
// operations, and verifies them as couponctl does. Faults planted afterwards show that
// it is not blind.
func verifyLedgers(t testing.TB, n, rounds int) (l Ledgers) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), drainLimit)
	defer cancel()
	s, db := openLedgers(t, ctx)
	begin := time.Now()
	must(t, db.fillLedgers(ctx, n), "fill the ledgers")
	must(t, db.settle(ctx), "settle the tables")
	l.Filled = time.Since(begin).Seconds()
	size, err := db.number(ctx, `select (pg_total_relation_size('user_coupon') +
		pg_total_relation_size('coupon_operation'))::float8`)
	must(t, err, "ask for the size")
	l.Bytes = int64(size)
	for round := range rounds {
		for _, parallel := range []int{1, 2, 4} {
			own, sessions := db.ledgerCPU(t, ctx)
			verdict, seconds := l.verify(t, ctx, s, parallel)
			ownAfter, sessionsAfter := db.ledgerCPU(t, ctx)
			l.Coupons, l.Operations = verdict.Coupons, verdict.Operations
			l.Runs = append(l.Runs, LedgerRun{
				parallel, seconds, (ownAfter - own).Seconds(), (sessionsAfter - sessions).Seconds(),
			})
			fmt.Fprintf(os.Stderr, "round %d of %d, %d connections: %.1f s\n", round+1, rounds, parallel, seconds)
			if verdict.Found != 0 || verdict.Coupons != int64(n) {
				l.Faults = append(l.Faults, fmt.Sprintf("%d coupons, %d findings where there are none: %v",
					verdict.Coupons, verdict.Found, verdict.Findings))
			}
		}
	}
	l.plant(t, ctx, s, db)
	l.Peak, err = peakMemory(os.Getpid())
	must(t, err, "measure this process")
	return l
}

// openLedgers opens an empty schema of its own.
func openLedgers(t testing.TB, ctx context.Context) (*store.Store, *database) {
	t.Helper()
	address := testkit.Postgres(t)
	s, err := store.Open(ctx, address, store.Options{ApplicationName: ledgerSession})
	must(t, err, "open store")
	t.Cleanup(s.Close)
	must(t, s.MigrateUp(ctx), "migrate")
	db, err := openDatabase(ctx, address)
	must(t, err, "connect to PostgreSQL")
	t.Cleanup(func() { must(t, db.close(context.WithoutCancel(ctx)), "leave the database") })
	return s, db
}

func (d *database) fillLedgers(ctx context.Context, n int) error {
	if _, err := d.conn.Exec(ctx, fillCouponsSQL, n); err != nil {
		return fmt.Errorf("make coupons: %w", err)
	}
	for version := range longestStory {
		if _, err := d.conn.Exec(ctx, fillLedgerSQL, n, version+1); err != nil {
			return fmt.Errorf("make operations of version %d: %w", version+1, err)
		}
	}
	return nil
}

// ledgerSession names the sessions of the verification.
const ledgerSession = "bench verify"

// ledgerCPU is the processor time of this process and of its sessions so far.
func (d *database) ledgerCPU(t testing.TB, ctx context.Context) (own, sessions time.Duration) {
	t.Helper()
	own, err := cpuOf(os.Getpid())
	must(t, err, "measure this process")
	rows, err := d.conn.Query(ctx, `select pid from pg_stat_activity where application_name = $1`, ledgerSession)
	must(t, err, "list sessions")
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	must(t, err, "list sessions")
	for _, pid := range pids {
		used, err := cpuOf(pid)
		must(t, err, "measure a session")
		sessions += used
	}
	return own, sessions
}

func (l *Ledgers) verify(
	t testing.TB, ctx context.Context, s *store.Store, parallel int,
) (verdict store.LedgerVerdict, seconds float64) {
	t.Helper()
	begin := time.Now()
	verdict, err := s.VerifyLedger(ctx, store.VerifyOptions{Parallel: parallel, Limit: 20})
	must(t, err, "verify the ledger")
	return verdict, time.Since(begin).Seconds()
}

// ledgerPlants are faults, each on a coupon of its own, by which coupon and as what they
// are found. The ledger defends itself, so its defences are taken down first.
func ledgerPlants() []struct{ name, coupon, found, statement string } {
	const coupon = `(select coupon_id from user_coupon where state = '%s' order by coupon_id offset %d limit 1)`
	used, locked := fmt.Sprintf(coupon, "USED", 100), fmt.Sprintf(coupon, "LOCKED", 200)
	gap, fork := fmt.Sprintf(coupon, "USED", 300), fmt.Sprintf(coupon, "VOID", 10)
	lost, orphan := fmt.Sprintf(coupon, "AVAILABLE", 20), fmt.Sprintf(coupon, "REFUNDED", 30)
	return []struct{ name, coupon, found, statement string }{
		{"a row was altered", used, "DIFFERS", `update user_coupon set redemption_order_id = 'other' where coupon_id = $1`},
		{"a lease was altered", locked, "DIFFERS", `update user_coupon set version = version + 1 where coupon_id = $1`},
		{"an operation is missing", gap, "GAP", `delete from coupon_operation where coupon_id = $1 and to_version = 2`},
		{"a version is forked", fork, "FORK", `insert into coupon_operation select * from coupon_operation
			where coupon_id = $1 and to_version = 3`},
		{"a ledger is missing", lost, "NO_LEDGER", `delete from coupon_operation where coupon_id = $1`},
		{"a row is missing", orphan, "NO_ROW", `delete from user_coupon where coupon_id = $1`},
	}
}

// plant plants one fault after the other; each is found, and nothing else is.
func (l *Ledgers) plant(t testing.TB, ctx context.Context, s *store.Store, db *database) {
	t.Helper()
	for _, statement := range []string{
		`alter table coupon_operation disable trigger append_only`,
		`alter table coupon_operation drop constraint coupon_operation_pkey`,
		`create index on coupon_operation (coupon_id, to_version)`,
		`drop index coupon_operation_business_key`,
	} {
		_, err := db.conn.Exec(ctx, statement)
		must(t, err, statement)
	}
	for i, p := range ledgerPlants() {
		var coupon string
		must(t, db.conn.QueryRow(ctx, "select "+p.coupon).Scan(&coupon), "choose a coupon")
		_, err := db.conn.Exec(ctx, p.statement, coupon)
		must(t, err, "plant: "+p.name)
		verdict, seconds := l.verify(t, ctx, s, 2)
		plant := LedgerPlant{Name: p.name, Found: "nothing", Seconds: seconds}
		for _, f := range verdict.Findings {
			if f.Coupon == coupon {
				plant.Found = fmt.Sprint(f.Kind, " ", f.Violations)
			}
		}
		l.Plants = append(l.Plants, plant)
		if verdict.Found != int64(i+1) || !strings.HasPrefix(plant.Found, p.found) {
			l.Faults = append(l.Faults, fmt.Sprintf("%s on coupon %s: found %s, and %d in all", p.name, coupon, plant.Found,
				verdict.Found))
		}
	}
}

func (l *Ledgers) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nReplay of %d coupons with %d operations, %.0f MB in tables and indexes (made in %.0f s)\n\n",
		l.Coupons, l.Operations, float64(l.Bytes)/1e6, l.Filled)
	fmt.Fprintln(w, "connections\tseconds\tcoupons/s\toperations/s\tCPU s: this process\tdatabase")
	best := math.Inf(1)
	for _, run := range l.Runs {
		best = min(best, run.Seconds)
		fmt.Fprintf(w, "%d\t%.1f\t%.0f\t%.0f\t%.1f\t%.1f\n", run.Parallel, run.Seconds, float64(l.Coupons)/run.Seconds,
			float64(l.Operations)/run.Seconds, run.CPU, run.DatabaseCPU)
	}
	verdict := "reached"
	if best*1e6/float64(max(1, l.Coupons)) > ledgerGoal {
		verdict = "missed"
	}
	fmt.Fprintf(w, "\npeak memory of the verifying process %.0f MB; goal of %.0f s for a million coupons: %s by the best\n\n",
		float64(l.Peak)/1e6, ledgerGoal, verdict)
	for _, p := range l.Plants {
		fmt.Fprintf(w, "planted: %s\tfound in %.1f s: %s\n", p.Name, p.Seconds, p.Found)
	}
	for _, fault := range l.Faults {
		fmt.Fprintf(w, "fault: %s\n", fault)
	}
	l.Conditions.print(w)
	return w.Flush()
}
