package main

import (
	"cmp"
	"fmt"
	"time"

	"couponlease/internal/console"
)

type couponsIssue struct {
	fileFlags
	File     string `arg:"" placeholder:"FILE" help:"CSV with a header row, or JSON lines; - is standard input."`
	Template string `required:"" placeholder:"ID" help:"The campaign."`
	Batch    string `required:"" placeholder:"ID" help:"Name of the batch, of which each person gets one coupon."`
}

// fileFlags are what all files of coupons have in common.
type fileFlags struct {
	Format       string `enum:"auto,csv,jsonl" default:"auto" help:"How the file is written: ${enum}; auto goes by the name (.jsonl, .ndjson), CSV otherwise."`
	DryRun       bool   `help:"Change nothing, tell what would happen."`
	Zone         string `default:"UTC" placeholder:"AREA/CITY" help:"Where plain dates in the file count."`
	Limit        int    `default:"20" help:"How many bad rows are listed."`
	OutboxShards int    `default:"1" env:"COUPONLEASE_OUTBOX_SHARDS" help:"Outbox shards, as the daemons have it."`
	Actor        string `placeholder:"WHO" help:"Who gives the command, for ledger and audit log; user@host if absent."`
	Reason       string `placeholder:"TEXT" help:"Why, for the audit log; may be left out."`
}

// maxBadRows bounds how many bad rows are listed.
const maxBadRows = 10_000

// check refuses what no file can have, and reads the zone.
func (f fileFlags) check() (*time.Location, error) {
	if f.Limit < 0 || f.Limit > maxBadRows {
		return nil, console.Usage(fmt.Errorf("--limit %d: choose 0 to %d", f.Limit, maxBadRows))
	}
	if err := checkShards(f.OutboxShards); err != nil {
		return nil, err
	}
	zone, err := time.LoadLocation(f.Zone)
	if err != nil {
		return nil, console.Usage(fmt.Errorf("--zone: %w", err))
	}
	return zone, nil
}

// format tells how a file is written.
func (f fileFlags) format(file string) console.FileFormat {
	if f.Format == "auto" {
		return console.FileFormatOf(file)
	}
	return console.FileFormat(f.Format)
}

func (couponsIssue) Help() string {
	return `Gives each person of a list one coupon of the batch. Columns, in any order, of which only customer is needed:

  customer,code,valid_from,valid_until

Without a code one is made. Times are RFC 3339, or plain dates that count whole. As JSON lines each line is an object with
the same fields. A person who is twice in the file, mail addresses in whatever letter case, gets one coupon. The list is
issued in chunks of 200, each of them whole or not at all; the limits of claims by persons do not concern it. Who has
a coupon of the batch gets no other: after an interruption, or a kill, issue the same file again. Rows that cannot
be read are listed and passed over; then the exit code is 2. Exit code 3 when the campaign refuses, for example because
its total is used up (QUOTA_EXHAUSTED): nobody from that chunk on has got a coupon.

  couponctl coupons issue vip.csv --template spring --batch vip-2026 --reason "ticket 4723"
  jq -c '{customer: .id}' people.json | couponctl coupons issue - --format jsonl --template spring --batch b1 --dry-run`
}

func (c couponsIssue) Run(s *session) error {
	zone, err := c.check()
	if err != nil {
		return err
	}
	source, err := s.open(c.File)
	if err != nil {
		return console.Usage(err)
	}
	defer source.Close()
	return s.withSchema(func(d *console.Database) error {
		show, end := s.progress("people")
		report, err := d.IssueCoupons(s.ctx, source, console.IssueOptions{
			Template: c.Template, Batch: c.Batch, Format: c.format(c.File), DryRun: c.DryRun, Zone: zone,
			Actor: cmp.Or(c.Actor, actor()), Reason: c.Reason, File: c.File, KeepBad: c.Limit, Shards: c.OutboxShards,
			Progress: func(rows int) { show(int64(rows), 0) },
		})
		end()
		if err != nil {
			return fmt.Errorf("issue %s: %w", c.File, err)
		}
		if err := s.write(report); err != nil {
			return err
		}
		switch {
		case report.Stopped != "":
			return errRefused
		case report.Bad > 0:
			return errFindings
		default:
			return nil
		}
	})
}
