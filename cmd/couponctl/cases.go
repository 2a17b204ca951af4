package main

import (
	"time"

	"couponlease/internal/console"
	"couponlease/internal/coupon"
	"couponlease/internal/simulate"
)

type casesCommand struct {
	Run casesRun `cmd:"" help:"Run every case of a file and print one line for each."`
}

type casesRun struct {
	File    string   `arg:"" placeholder:"FILE.jsonl" help:"One case a line; - is standard input."`
	On      string   `enum:"memory,postgres" default:"memory" help:"Which ledger is asked: ${enum}. postgres takes a schema of its own and drops it at the end."`
	Only    []string `placeholder:"ID" help:"Run only this case; repeat or separate by commas for more."`
	Verbose bool     `help:"Print the steps and answers of each case as well."`
}

func (casesRun) Help() string {
	return `Time is virtual on both ledgers. Each case is run in every order that its parallel steps allow.
Exit code 2 when a case failed; a case whose operations do not exist yet is no failure.

  couponctl cases run domain.jsonl
  couponctl cases run domain.jsonl --on postgres --only DC-017 --verbose`
}

func (c casesRun) Run(s *session) error {
	source, err := s.open(c.File)
	if err != nil {
		return console.Usage(err)
	}
	defer source.Close()
	options := console.CasesOptions{Only: c.Only}
	if s.format == console.FormatText {
		options.Report = func(r simulate.Report) error { return console.WriteCase(s.stdout, r, c.Verbose) }
	}
	run := func(open simulate.Open) error {
		summary, err := console.RunCases(s.ctx, source, open, options)
		if err != nil {
			return err
		}
		if err := s.write(summary); err != nil {
			return err
		}
		if summary.Failed > 0 {
			return errFindings
		}
		return nil
	}
	if c.On == "memory" {
		return run(inMemory)
	}
	return console.WithVirtualLedger(s.ctx, s.services, run)
}

func inMemory(now func() time.Time, rules coupon.Rules, source coupon.Source) simulate.Backend {
	return simulate.NewLedger(now, rules, source)
}
