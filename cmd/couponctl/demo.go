package main

import (
	"fmt"
	"io"

	"couponlease/internal/console"
	"couponlease/internal/console/demo"
)

type demoCommand struct {
	Orders  int    `default:"1000" help:"How many orders the shop has that day."`
	Coupond string `placeholder:"PROGRAM" help:"The daemon's program; built from source if absent, or the one beside couponctl."`
	Keep    bool   `help:"Leave schema and virtual host behind, to look at them."`
	Remove  string `placeholder:"NAME" help:"Play nothing; remove what an earlier demo has kept."`
}

func (demoCommand) Help() string {
	return `Two daemons on a schema and a virtual host of their own, a day of traffic through the broker (repeats,
messages out of order, refunds, leases that run out), and the incident: order A's payment is late, A is closed,
B takes the coupon. Then a timeline, the counts, and the invariants over the whole database. Needs PostgreSQL,
RabbitMQ and its management API; everything it makes is gone afterwards. Exit code 2 when anything is off.

  make demo
  couponctl demo --orders 10000 --output json`
}

func (c demoCommand) Run(s *session) error {
	const least, most = 100, 20_000
	if c.Remove != "" {
		return demo.Remove(s.ctx, s.services, c.Remove)
	}
	if c.Orders < least || c.Orders > most {
		return console.Usage(fmt.Errorf("--orders %d: choose %d to %d", c.Orders, least, most))
	}
	out := s.stdout
	if s.format == console.FormatJSON {
		out = io.Discard
	}
	report, err := demo.Run(s.ctx, s.services, demo.Options{
		Orders: c.Orders, Coupond: c.Coupond, Keep: c.Keep, Out: out, Logger: s.logger(),
	})
	if err != nil {
		return err
	}
	if err := s.write(report); err != nil {
		return err
	}
	if report.Err() != nil {
		return errFindings
	}
	return nil
}
