package main

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"couponlease/internal/console"
	"couponlease/internal/coupon"
)

type couponsCommand struct {
	Import couponsImport `cmd:"" help:"Make the codes of a CSV file coupons."`
	Show   couponsShow   `cmd:"" help:"Print a coupon as it is now."`
}

type couponsImport struct {
	File         string `arg:"" placeholder:"FILE.csv" help:"CSV with a header row; - is standard input."`
	Template     string `placeholder:"ID" help:"Template of rows that name none."`
	DryRun       bool   `help:"Change nothing, tell what would happen."`
	Zone         string `default:"UTC" placeholder:"AREA/CITY" help:"Where plain dates in the file count."`
	Limit        int    `default:"20" help:"How many bad rows are listed."`
	OutboxShards int    `default:"1" env:"COUPONLEASE_OUTBOX_SHARDS" help:"Outbox shards, as the daemons have it."`
	Actor        string `placeholder:"WHO" help:"Who imports, for ledger and audit log; user@host if absent."`
	Reason       string `placeholder:"TEXT" help:"Why, for the audit log; may be left out."`

	DefineTemplate bool   `group:"Limits of new templates" help:"Create templates that do not exist yet."`
	Budget         *int64 `group:"Limits of new templates" placeholder:"N" help:"Most uses at a time of all coupons; none if absent."`
	UsesPerPerson  *int64 `group:"Limits of new templates" placeholder:"N" help:"Most uses at a time of one person; none if absent."`
	ValidDays      int    `group:"Limits of new templates" placeholder:"N" help:"Days that a coupon without valid_until is valid; for ever if absent."`
	Transferable   bool   `group:"Limits of new templates" help:"Let somebody other than the owner use a coupon."`
}

func (couponsImport) Help() string {
	return `Columns, in any order, of which only code is needed:

  code,template,owner,valid_from,valid_until,batch

Times are RFC 3339, or plain dates that count whole: valid_until 2026-12-31 is the end of that day. Codes
are compared without letter case. A code that is a coupon already is left alone, so a file may be imported
again. Rows that cannot be read are listed and passed over; then the exit code is 2. Exit code 3 when
--define-template asks for other limits than an existing template has.

  couponctl coupons import codes.csv --template spring --define-template --budget 1000
  zcat codes.csv.gz | couponctl coupons import - --dry-run`
}

func (c couponsImport) Run(s *session) error {
	options, err := c.options()
	if err != nil {
		return err
	}
	source, err := s.open(c.File)
	if err != nil {
		return console.Usage(err)
	}
	defer source.Close()
	return s.withSchema(func(d *console.Database) error {
		show, end := s.progress("rows")
		options.Progress = func(rows int) { show(int64(rows), 0) }
		report, err := d.ImportCoupons(s.ctx, source, c.OutboxShards, options)
		end()
		if err != nil {
			return fmt.Errorf("import %s: %w", c.File, err)
		}
		if err := s.write(report); err != nil {
			return err
		}
		if report.Bad > 0 {
			return errFindings
		}
		return nil
	})
}

func (c couponsImport) options() (console.ImportOptions, error) {
	const most = 10_000
	options := console.ImportOptions{
		Template: c.Template, DryRun: c.DryRun, Actor: cmp.Or(c.Actor, actor()), Reason: c.Reason, File: c.File,
		KeepBad: c.Limit,
	}
	zone, err := time.LoadLocation(c.Zone)
	if err != nil {
		return options, console.Usage(fmt.Errorf("--zone: %w", err))
	}
	options.Zone = zone
	limited := c.Budget != nil || c.UsesPerPerson != nil || c.ValidDays != 0 || c.Transferable
	switch {
	case c.Limit < 0 || c.Limit > most:
		return options, console.Usage(fmt.Errorf("--limit %d: choose 0 to %d", c.Limit, most))
	case c.OutboxShards < 1 || c.OutboxShards > 1024:
		return options, console.Usage(fmt.Errorf("--outbox-shards %d: choose 1 to 1024", c.OutboxShards))
	case c.ValidDays < 0 || negative(c.Budget) || negative(c.UsesPerPerson):
		return options, console.Usage(errors.New("a limit cannot be below 0"))
	case limited && !c.DefineTemplate:
		return options, console.Usage(errors.New("limits are for new templates: add --define-template"))
	}
	if c.DefineTemplate {
		terms := coupon.Unlimited()
		terms.Budget, terms.UsesPerPerson = orNone(c.Budget), orNone(c.UsesPerPerson)
		terms.ValidDays, terms.Transferable = c.ValidDays, c.Transferable
		options.Define = &coupon.Template{Terms: terms}
	}
	return options, nil
}

func negative(n *int64) bool { return n != nil && *n < 0 }

func orNone(n *int64) int64 {
	if n == nil {
		return coupon.NoLimit
	}
	return *n
}
