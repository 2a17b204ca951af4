package store

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"couponlease/internal/coupon"
	"couponlease/internal/reconcile"
)

var (
	//go:embed sql/run_start.sql
	runStartSQL string
	//go:embed sql/run_end.sql
	runEndSQL string
	//go:embed sql/run_last.sql
	runLastSQL string
	//go:embed sql/findings_keep.sql
	findingsKeepSQL string
	//go:embed sql/findings_close.sql
	findingsCloseSQL string
	//go:embed sql/findings_gone.sql
	findingsGoneSQL string
	//go:embed sql/findings_list.sql
	findingsListSQL string
	//go:embed sql/findings_repaired.sql
	findingsRepairedSQL string
)

// StartRun implements reconcile.Books.
func (s *Store) StartRun(ctx context.Context, run reconcile.Run) error {
	faults := collect[texts](run.Faults, func(f coupon.Fault) string { return string(f) })
	if err := s.each(ctx, runStartSQL, nothing, run.ID, run.Actor, faults); err != nil {
		return fmt.Errorf("begin a run of reconciliation: %w", err)
	}
	return nil
}

// KeepFindings implements reconcile.Books. Of several findings about the same the first
// is kept.
func (s *Store) KeepFindings(ctx context.Context, run string, findings []coupon.Finding) (opened int64, err error) {
	type key struct {
		fault   coupon.Fault
		subject string
	}
	seen := make(map[key]bool, len(findings))
	rows := make([]coupon.Finding, 0, len(findings))
	ids := make(uuids, 0, len(findings))
	for _, f := range findings {
		if k := (key{f.Fault, f.Subject}); !seen[k] {
			seen[k] = true
			id, err := uuid.NewV7()
			if err != nil {
				return 0, fmt.Errorf("draw an id: %w", err)
			}
			rows, ids = append(rows, f), append(ids, id.String())
		}
	}
	err = s.each(ctx, findingsKeepSQL, func(rows pgx.Rows) error { return rows.Scan(&opened) }, ids, run,
		collect[texts](rows, func(f coupon.Finding) string { return string(f.Fault) }),
		collect[texts](rows, func(f coupon.Finding) string { return string(f.Fault.Severity()) }),
		collect[texts](rows, func(f coupon.Finding) string { return f.Subject }),
		collect[texts](rows, func(f coupon.Finding) string { return f.Order }),
		collect[texts](rows, func(f coupon.Finding) string { return f.Coupon }),
		collect[texts](rows, func(f coupon.Finding) string { return f.Template }),
		collect[texts](rows, func(f coupon.Finding) string { return f.Detail }))
	if err != nil {
		return 0, fmt.Errorf("keep %d findings: %w", len(rows), err)
	}
	return opened, nil
}

// EndRun implements reconcile.Books. Our own books were read whole: what was not found in
// them is gone.
func (s *Store) EndRun(ctx context.Context, run reconcile.Run) (closed int64, err error) {
	var faults texts
	for _, fault := range coupon.OwnFaults() {
		if slices.Contains(run.Faults, fault) {
			faults = append(faults, string(fault))
		}
	}
	err = s.each(ctx, findingsGoneSQL, func(rows pgx.Rows) error { return rows.Scan(&closed) }, faults, run.ID, run.Started)
	if err == nil {
		err = s.each(ctx, runEndSQL, nothing, run.ID, run.Coupons, run.Orders, run.Found, run.Opened, run.Closed+closed,
			run.Repaired)
	}
	if err != nil {
		return 0, fmt.Errorf("end a run of reconciliation: %w", err)
	}
	return closed, nil
}

// CloseFindings implements reconcile.Books.
func (s *Store) CloseFindings(ctx context.Context, run reconcile.Run, ids []string) (closed int64, err error) {
	err = s.each(ctx, findingsCloseSQL, func(rows pgx.Rows) error { return rows.Scan(&closed) }, uuids(ids), run.ID,
		run.Started)
	if err != nil {
		return 0, fmt.Errorf("close %d findings: %w", len(ids), err)
	}
	return closed, nil
}

// LastRun gives the last finished run that looked for a fault, nil if there was none.
func (s *Store) LastRun(ctx context.Context, fault coupon.Fault) (*reconcile.Run, error) {
	var last *reconcile.Run
	err := s.each(ctx, runLastSQL, func(rows pgx.Rows) error {
		var r reconcile.Run
		var faults []string
		err := rows.Scan(toText{&r.ID}, &r.Actor, &faults, toTime{&r.Started}, toTime{&r.Finished}, &r.Coupons, &r.Orders,
			&r.Found, &r.Opened, &r.Closed, &r.Repaired)
		for _, name := range faults {
			r.Faults = append(r.Faults, coupon.Fault(name))
		}
		last = &r
		return err
	}, string(fault))
	if err != nil {
		return nil, fmt.Errorf("read the last run of reconciliation: %w", err)
	}
	return last, nil
}

// Findings implements reconcile.Books.
func (s *Store) Findings(ctx context.Context, f reconcile.FindingFilter) ([]reconcile.Record, error) {
	var records []reconcile.Record
	err := s.each(ctx, findingsListSQL, list(&records, scanFinding), cmp.Or(f.After, noUUID), string(f.Fault),
		string(f.Severity), optionalText(f.Run), f.Order, f.Coupon, f.OpenOnly, optionalText(f.ID),
		cmp.Or(f.Limit, s.options.PageSize))
	if err != nil {
		return nil, fmt.Errorf("read findings: %w", err)
	}
	return records, nil
}

// optionalText is null for "".
func optionalText(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func scanFinding(row scanTarget) (r reconcile.Record, err error) {
	err = row.Scan(toText{&r.ID}, toText{(*string)(&r.Fault)}, toText{(*string)(&r.Severity)}, &r.Subject, &r.Order,
		&r.Coupon, &r.Template, &r.Detail, toTime{&r.First}, toTime{&r.Last}, toTime{&r.Closed}, &r.Seen, &r.Repair)
	return r, err
}

// NoteRepair implements reconcile.Books.
func (s *Store) NoteRepair(ctx context.Context, finding, answer string) error {
	if err := s.each(ctx, findingsRepairedSQL, nothing, finding, answer); err != nil {
		return fmt.Errorf("note a repair: %w", err)
	}
	return nil
}

func nothing(pgx.Rows) error { return nil }
