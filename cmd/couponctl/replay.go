package main

import (
	"fmt"

	"couponlease/internal/console"
)

type replayCommand struct {
	Verify replayVerify `cmd:"" help:"Fold the ledger of every coupon and compare it with the row."`
}

type replayVerify struct {
	Coupon   string `arg:"" optional:"" placeholder:"CODE" help:"Code of the one coupon to look at, in any letter case. Without it: all."`
	Parallel int    `default:"2" help:"Connections that read at once, 1 to 8; as many as the database has processors to spare."`
	Limit    int    `default:"20" help:"How many findings are listed; all are counted."`
}

func (replayVerify) Help() string {
	return `Reads the ledger and the rows as of one moment, changes nothing and may run at any time. Exit code 2 when one
disagrees with the other:

  DIFFERS     the ledger gives another row: one of the two was changed, or the ledger lost its end
  GAP         an operation is missing
  FORK        a version is there twice
  IMPOSSIBLE  an operation that could not follow from those before
  NO_LEDGER   a coupon without a ledger
  NO_ROW      a ledger without a coupon

  couponctl replay verify
  couponctl replay verify SPRING-0001
  couponctl replay verify --parallel 4 -o json | jq '.findings[].coupon'`
}

func (c replayVerify) Run(s *session) error {
	const most = 100_000
	if c.Limit < 0 || c.Limit > most {
		return console.Usage(fmt.Errorf("--limit %d: choose 0 to %d", c.Limit, most))
	}
	return s.withSchema(func(d *console.Database) error {
		show, end := s.progress("verified")
		report, found, err := d.VerifyLedger(s.ctx, console.VerifyOptions{
			Code: c.Coupon, Parallel: c.Parallel, Limit: c.Limit, Progress: show,
		})
		end()
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("there is no coupon %q, and no ledger of it", c.Coupon)
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
