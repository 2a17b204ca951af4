package daemon

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/config"
	"couponlease/internal/coupon"
	"couponlease/internal/store"
	"couponlease/internal/testkit"
)

// TestMaintenanceDeletesWhatIsOver: each kind of rows has its own time, and all are seen to.
func TestMaintenanceDeletesWhatIsOver(t *testing.T) {
	address := testkit.Postgres(t)
	workers, err := store.Open(t.Context(), address, store.Options{Rules: coupon.DefaultRules()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(workers.Close)
	if err := workers.MigrateUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, statement := range []string{
		`insert into finding (finding_id, run_id, fault, severity, subject, order_id, coupon_id, template_id, detail,
			first_seen_at, last_seen_at, closed_at)
		select gen_random_uuid(), gen_random_uuid(), 'DRIFT', 'P2', days::text, '', '', '', '', now(), now(),
			now() - days * interval '1 day'
		from unnest(array[29, 31]) days`,
		`insert into replay_job (replay_job_id, status, filter, rate_limit, canary, stop_on_failures, total, actor, reason,
			updated_at)
		select gen_random_uuid(), 'DONE', '{}', 1, 0, 0, days, '', '', now() - days * interval '1 day'
		from unnest(array[59, 61]) days`,
	} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	var complaints strings.Builder
	cfg := config.Default()
	cfg.FindingRetentionDays, cfg.DeadRetentionDays = 30, 60
	p := &parts{Daemon: &Daemon{cfg: cfg, log: slog.New(slog.NewTextHandler(&complaints, nil))}, workers: workers}
	p.maintainOnce(t.Context())
	var left string
	const all = `select (select string_agg(subject, ' ') from finding) || ', ' || (select string_agg(total::text, ' ') from replay_job)`
	if err := conn.QueryRow(t.Context(), all).Scan(&left); err != nil {
		t.Fatal(err)
	}
	if left != "29, 59" || complaints.Len() > 0 {
		t.Errorf("left are findings and replays that are %s days old, want 29, 59; log:\n%s", left, &complaints)
	}
}
