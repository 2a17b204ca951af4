package main

import (
	"fmt"
	"time"

	"couponlease/internal/console"
)

type checkCommand struct {
	Limit   int           `default:"20" help:"How many violations are listed; all are counted."`
	Overdue time.Duration `default:"1m" help:"How long after its deadline a lease counts as overdue."`
}

func (checkCommand) Help() string {
	return `Reads every coupon with its ledger, every order and every template as of one moment, and proves the
invariants of ARCHITECTURE.md on them. Changes nothing and may run at any time. Exit code 2 when one is broken.

  couponctl check --output json | jq .byInvariant`
}

func (c checkCommand) Run(s *session) error {
	const most = 100_000
	if c.Limit < 0 || c.Limit > most {
		return console.Usage(fmt.Errorf("--limit %d: choose 0 to %d", c.Limit, most))
	}
	return s.withSchema(func(d *console.Database) error {
		show, end := s.progress("checked")
		report, err := d.Check(s.ctx, console.CheckOptions{Limit: c.Limit, Overdue: c.Overdue, Progress: show})
		end()
		if err != nil {
			return err
		}
		if err := s.write(report); err != nil {
			return err
		}
		if report.Found > 0 {
			return errFindings
		}
		return nil
	})
}
