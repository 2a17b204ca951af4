package main

import (
	"fmt"
	"time"

	"couponlease/internal/console"
)

type doctorCommand struct {
	Timeout        time.Duration `default:"10s" help:"How long each check may take, 100ms to 5m."`
	InboxRetention int           `name:"inbox-retention-days" env:"COUPONLEASE_INBOX_RETENTION_DAYS" default:"14" help:"Days for which the inbox remembers messages, as coupond is told."`
}

func (doctorCommand) Help() string {
	return `Looks at every service and changes nothing: reach and versions, clocks, unsafe settings, pending migrations,
partitions of today and tomorrow, the broker's layout, what policies make of it, alarms, feature flags, queues without
consumers, token keys, and what Redis keeps. Each finding comes with its remedy. A service that does not answer holds up
nothing but its own checks. Exit code 2 when somebody has to do something.

  couponctl doctor
  couponctl doctor --output json | jq '.diagnoses[] | select(.severity == "error")'`
}

func (c doctorCommand) Run(s *session) error {
	if c.Timeout < 100*time.Millisecond || c.Timeout > 5*time.Minute {
		return console.Usage(fmt.Errorf("--timeout %v: choose 100ms to 5m", c.Timeout))
	}
	if c.InboxRetention < 1 {
		return console.Usage(fmt.Errorf("--inbox-retention-days %d: choose 1 or more", c.InboxRetention))
	}
	report := console.Doctor(s.ctx, s.services, console.DoctorOptions{
		Timeout: c.Timeout, InboxRetention: c.InboxRetention,
	})
	if err := s.write(report); err != nil {
		return err
	}
	if report.Bad() {
		return errFindings
	}
	return nil
}
