package main

import (
	"context"
	"errors"

	"couponlease/internal/console"
)

type migrateCommand struct {
	Up     migrateUp     `cmd:"" help:"Bring the schema to the newest version."`
	Down   migrateDown   `cmd:"" help:"Take the whole schema back, and with it all data."`
	Status migrateStatus `cmd:"" help:"List the migrations and whether the database has them."`
}

type migrateUp struct{}

func (migrateUp) Help() string {
	return `Safe to repeat, and with several replicas at once: one migrates while the others wait.`
}

func (migrateUp) Run(s *session) error { return s.migrate((*console.Database).MigrateUp) }

type migrateDown struct {
	Yes bool `help:"Yes, delete all data."`
}

func (c migrateDown) Run(s *session) error {
	if !c.Yes {
		return console.Usage(errors.New("this deletes every coupon, order and message: say --yes if that is meant"))
	}
	return s.migrate((*console.Database).MigrateDown)
}

type migrateStatus struct{}

func (migrateStatus) Run(s *session) error { return s.migrate((*console.Database).MigrationStatus) }

func (s *session) migrate(
	do func(*console.Database, context.Context) (console.MigrationStatus, error),
) error {
	return s.withDatabase(func(d *console.Database) error {
		status, err := do(d, s.ctx)
		if err != nil {
			return err
		}
		return s.write(status)
	})
}
