package main

import (
	"cmp"
	"fmt"

	"couponlease/internal/console"
)

type templatesApply struct {
	maybeWhy
	File         string `arg:"" placeholder:"FILE.yaml" help:"YAML with a list of templates; - is standard input."`
	DryRun       bool   `help:"Change nothing, tell what would happen."`
	Actor        string `placeholder:"WHO" help:"Who gives the command, for the audit log; user@host if absent."`
	OutboxShards int    `default:"1" env:"COUPONLEASE_OUTBOX_SHARDS" help:"Outbox shards, as the daemons have it."`
}

func (templatesApply) Help() string {
	return `The file says each template in full: a limit that is not named does not exist. A status that is not named stays what it
is. Templates that are not in the file are left alone. Sums are in minor units of the currency.

  - template: spring
    name: Spring sale
    amount_off: 500           # or percent_off: 12.5, or no_threshold: 500
    min_spend: 5000
    currency: EUR
    total: 10000
    per_person: 1             # also per_day, uses_per_person, budget; none is no limit
    valid_from: 2026-12-01    # a time, or a date in the zone
    valid_until: 2026-12-31   # a date counts whole
    valid_days: 30
    zone: Europe/Berlin
    policy_version: 1
    transferable: true
    status: ACTIVE            # or PAUSED, OFFLINE

The whole file is checked, and decided on the templates as they are, before anything is asked: when one template would
be refused nothing is changed, and the exit code is 3. Applying a file again changes nothing.

  couponctl templates apply campaigns.yaml --dry-run
  couponctl templates apply campaigns.yaml --reason "spring, ticket 4722"
  couponctl templates export | couponctl templates apply - --dry-run`
}

func (c templatesApply) Run(s *session) error {
	if err := checkShards(c.OutboxShards); err != nil {
		return err
	}
	source, err := s.open(c.File)
	if err != nil {
		return console.Usage(err)
	}
	defer source.Close()
	documents, err := console.ReadTemplates(source)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	return s.withSchema(func(d *console.Database) error {
		plan, err := d.ApplyTemplates(s.ctx, documents, console.ApplyOptions{
			Actor: cmp.Or(c.Actor, actor()), Reason: c.Reason, Shards: c.OutboxShards, DryRun: c.DryRun,
		})
		if err != nil {
			return fmt.Errorf("apply %s: %w", c.File, err)
		}
		if err := s.write(plan); err != nil {
			return err
		}
		if plan.Refused > 0 {
			return errRefused
		}
		return nil
	})
}

// checkShards refuses a number of outbox shards that no daemon can have.
func checkShards(shards int) error {
	if shards < 1 || shards > 1024 {
		return console.Usage(fmt.Errorf("--outbox-shards %d: choose 1 to 1024", shards))
	}
	return nil
}

type templatesExport struct {
	Template []string `arg:"" optional:"" placeholder:"ID" help:"Templates to print; all if absent."`
}

func (templatesExport) Help() string {
	return `Prints what templates say as YAML that couponctl templates apply reads, their counters apart.

  couponctl templates export > campaigns.yaml
  couponctl templates export spring | sed 's/spring/summer/' | couponctl templates apply -`
}

func (c templatesExport) Run(s *session) error {
	if s.format == console.FormatJSON {
		return console.Usage(errOneFormat)
	}
	return s.withSchema(func(d *console.Database) error {
		return d.ExportTemplates(s.ctx, c.Template, s.stdout)
	})
}
