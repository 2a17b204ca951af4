package main

import (
	"fmt"
	"time"

	"couponlease/internal/console"
	"couponlease/internal/reconcile"
)

type gateCommand struct {
	Watch         bool          `help:"Ask again and again until all gates are green, or until --timeout."`
	Every         time.Duration `default:"10s" help:"Wait between two looks, 100ms to 1h."`
	Timeout       time.Duration `default:"0s" help:"With --watch: give up after so long; 0s is never."`
	OutboxAge     time.Duration `default:"1m" help:"How long an event may wait to be published."`
	Overdue       time.Duration `default:"1m" help:"How late a lease may end."`
	ReconcileAge  time.Duration `default:"3h" help:"How long ago the books may have been reconciled."`
	OutboxParked  int64         `help:"How many rows of the outbox may be put aside."`
	TimersOverdue int64         `help:"How many leases may be overdue."`
	DeadLetters   int64         `help:"How many dead letters may wait for somebody."`
	DoubleUse     int64         `help:"How many coupons may be used twice, or by nobody."`
	OrphanLease   int64         `help:"How many leases may be held for nothing."`
	LedgerGap     int64         `help:"How many ledgers may have gaps."`
	PaidUnsettled int64         `help:"How many paid orders may be unsettled."`
	Drift         int64         `help:"How many templates may have wrong counters or stocks."`
}

func (gateCommand) Help() string {
	return `Exit code 0 when all gates are green and 2 when one is red: a release asks before it goes on. The figures are read from
the heads of indexes and from what reconciliation has found last. Each gate names its section of OPERATIONS.md.

  couponctl gate
  couponctl gate --watch --timeout 10m && deploy
  couponctl gate --output json | jq '.gates[] | select(.red)'`
}

func (c gateCommand) Run(s *session) error {
	if c.Every < 100*time.Millisecond || c.Every > time.Hour {
		return console.Usage(fmt.Errorf("--every %v: choose 100ms to 1h", c.Every))
	}
	thresholds := reconcile.Thresholds{
		OutboxAge: c.OutboxAge, Overdue: c.Overdue, ReconcileAge: c.ReconcileAge, OutboxParked: c.OutboxParked,
		TimersOverdue: c.TimersOverdue, DeadLetters: c.DeadLetters, DoubleUse: c.DoubleUse, OrphanLease: c.OrphanLease,
		LedgerGap: c.LedgerGap, Paid: c.PaidUnsettled, Drift: c.Drift,
	}
	return s.withSchema(func(d *console.Database) error {
		for began := time.Now(); ; {
			report, err := d.Gates(s.ctx, thresholds)
			if err != nil {
				return err
			}
			if err := s.write(report); err != nil {
				return err
			}
			switch {
			case report.Red == 0:
				return nil
			case !c.Watch || c.Timeout > 0 && time.Since(began) >= c.Timeout:
				return errFindings
			}
			select {
			case <-s.ctx.Done():
				return s.ctx.Err()
			case <-time.After(c.Every):
			}
		}
	})
}
