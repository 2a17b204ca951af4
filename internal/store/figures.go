package store

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/coupon"
	"couponlease/internal/reconcile"
)

var (
	//go:embed sql/findings_open.sql
	findingsOpenSQL string
	//go:embed sql/gate_figures.sql
	gateFiguresSQL string
)

// GateFigures implements reconcile.Figured. It reads the heads of indexes only, and counts
// no further than reconcile.MaxCounted.
func (s *Store) GateFigures(ctx context.Context, overdue time.Duration) (reconcile.Figures, error) {
	return s.figuresUpTo(ctx, overdue, reconcile.MaxCounted)
}

// figuresUpTo counts each figure no further than most.
func (s *Store) figuresUpTo(ctx context.Context, overdue time.Duration, most int64) (reconcile.Figures, error) {
	f := reconcile.Figures{Open: map[coupon.Fault]int64{}}
	faults := collect[texts](slices.Concat(coupon.OwnFaults(), coupon.UpstreamFaults()),
		func(fault coupon.Fault) string { return string(fault) })
	var oldest, ran, now time.Time
	t := &trip{}
	t.query("read the figures of gates", gateFiguresSQL, func(rows pgx.Rows) error {
		return rows.Scan(&f.OutboxParked, toTime{&oldest}, &f.TimersOverdue, &f.DeadLetters, toTime{&ran}, toTime{&now})
	}, overdue.Microseconds(), most)
	t.query("count open findings", findingsOpenSQL, func(rows pgx.Rows) error {
		var fault string
		var open int64
		err := rows.Scan(&fault, &open)
		f.Open[coupon.Fault(fault)] = open
		return err
	}, faults, most)
	if err := t.send(ctx, s, s.pool); err != nil {
		return f, fmt.Errorf("read the figures of gates: %w", err)
	}
	if !oldest.IsZero() {
		f.OutboxAge = max(0, now.Sub(oldest))
	}
	if !ran.IsZero() {
		f.Reconciled, f.ReconciledAge = true, max(0, now.Sub(ran))
	}
	return f, nil
}
