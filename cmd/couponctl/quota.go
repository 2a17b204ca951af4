package main

import (
	"cmp"
	"errors"

	"couponlease/internal/console"
	"couponlease/internal/deadletter"
)

type quotaCommand struct {
	Show    quotaShow    `cmd:"" help:"Print what the database and Redis say of campaigns."`
	Drift   quotaDrift   `cmd:"" help:"Find stocks in Redis that are wrong."`
	Rebuild quotaRebuild `cmd:"" help:"Load stocks in Redis anew from the database."`
}

type quotaShow struct {
	Template string `arg:"" optional:"" placeholder:"TEMPLATE" help:"Campaign; all whose claims are limited if absent."`
}

func (quotaShow) Help() string {
	return `Prints what is left of a campaign by the database, which has the last word, and by Redis, which claims ask first. While
claims are under way Redis has less: that is no fault.

  couponctl quota show
  couponctl quota show spring --output json | jq '.campaigns[0].redis.left'`
}

func (c quotaShow) Run(s *session) error {
	return s.withSchema(func(d *console.Database) error {
		report, err := d.Quota(s.ctx, c.Template)
		if err != nil {
			return err
		}
		return s.write(report)
	})
}

type quotaDrift struct{}

func (quotaDrift) Help() string {
	return `Tells which stocks are wrong whatever is under way: of another generation than in the database, higher than what is left,
or lower for longer than a claim takes, for which it waits 5 seconds. Exit code 2 when one is wrong. Daemons look every
6 seconds and put right what they find.

  couponctl quota drift
  couponctl quota drift --output json | jq '.drifts[].templateId'`
}

func (quotaDrift) Run(s *session) error {
	return s.withSchema(func(d *console.Database) error {
		report, err := d.QuotaDrift(s.ctx)
		if err != nil {
			return err
		}
		if err := s.write(report); err != nil {
			return err
		}
		if len(report.Drifts) > 0 {
			return errFindings
		}
		return nil
	})
}

type quotaRebuild struct {
	Template string `arg:"" optional:"" placeholder:"TEMPLATE" help:"Campaign to load."`
	All      bool   `help:"Load all campaigns that are open, and those that Redis has a stock of."`
	Actor    string `placeholder:"WHO" help:"Who gives the command, for the audit log; user@host if absent."`
	maybeWhy `embed:""`
}

func (quotaRebuild) Help() string {
	return `Loads stocks as the database has them, as a new generation, whatever Redis holds, and prints what it held before. Claims
go on meanwhile: the database answers those that Redis had granted. Doing so twice does no harm.

  couponctl quota rebuild spring --reason "ticket 4730"
  couponctl quota rebuild --all --reason "the database was restored"`
}

func (c quotaRebuild) Run(s *session) error {
	if (c.Template != "") == c.All {
		return console.Usage(errors.New("name a template, or --all"))
	}
	return s.withSchema(func(d *console.Database) error {
		report, err := d.RebuildQuota(s.ctx, c.Template, deadletter.Decision{
			Actor: cmp.Or(c.Actor, actor()), Reason: c.Reason,
		})
		if err != nil {
			return err
		}
		return s.write(report)
	})
}
