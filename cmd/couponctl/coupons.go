package main

import (
	"cmp"
	"errors"
	"fmt"

	"couponlease/internal/console"
	"couponlease/internal/coupon"
)

type couponsCommand struct {
	Import couponsImport `cmd:"" help:"Make the codes of a file coupons."`
	Issue  couponsIssue  `cmd:"" help:"Give each person of a list a coupon."`
	Show   couponsShow   `cmd:"" help:"Print a coupon as it is now."`
}

type couponsImport struct {
	fileFlags
	File     string `arg:"" placeholder:"FILE" help:"CSV with a header row, or JSON lines; - is standard input."`
	Template string `placeholder:"ID" help:"Template of rows that name none."`

	DefineTemplate bool   `group:"Limits of new templates" help:"Create templates that do not exist yet."`
	Budget         *int64 `group:"Limits of new templates" placeholder:"N" help:"Most uses at a time of all coupons; none if absent."`
	UsesPerPerson  *int64 `group:"Limits of new templates" placeholder:"N" help:"Most uses at a time of one person; none if absent."`
	ValidDays      int    `group:"Limits of new templates" placeholder:"N" help:"Days that a coupon without valid_until is valid; for ever if absent."`
	Transferable   bool   `group:"Limits of new templates" help:"Let somebody other than the owner use a coupon."`
}

func (couponsImport) Help() string {
	return `Columns, in any order, of which only code is needed:

  code,template,owner,valid_from,valid_until,batch

As JSON lines each line is an object with the same fields. Times are RFC 3339, or plain dates that count whole:
valid_until 2026-12-31 is the end of that day. Codes are compared without letter case. A code that is a coupon already
is left alone, so a file may be imported again. What is imported does not count in the total of its template. Rows that
cannot be read are listed and passed over; then the exit code is 2. Exit code 3 when --define-template asks for other
limits than an existing template has.

  couponctl coupons import codes.csv --template spring --define-template --budget 1000
  zcat codes.csv.gz | couponctl coupons import - --dry-run
  couponctl coupons import codes.jsonl --template spring --reason "printed, ticket 4724"`
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
	zone, err := c.check()
	if err != nil {
		return console.ImportOptions{}, err
	}
	options := console.ImportOptions{
		Template: c.Template, Format: c.format(c.File), DryRun: c.DryRun, Zone: zone, Actor: cmp.Or(c.Actor, actor()),
		Reason: c.Reason, File: c.File, KeepBad: c.Limit,
	}
	limited := c.Budget != nil || c.UsesPerPerson != nil || c.ValidDays != 0 || c.Transferable
	switch {
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
