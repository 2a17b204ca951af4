package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/user"

	"couponlease/internal/config"
	"couponlease/internal/console"
	"couponlease/internal/coupon"
)

// session is one run of the program.
type session struct {
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer
	format         console.Format
	services       config.Services
	// rules are those of the daemons, for commands that are decided by them.
	rules coupon.Rules
}

// write prints a result in the format asked for.
func (s *session) write(result console.Result) error {
	return console.Write(s.stdout, s.format, result)
}

// logger tells warnings of the layers below on standard error.
func (s *session) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(s.stderr, &slog.HandlerOptions{Level: slog.LevelError}))
}

// withBroker connects to the broker for the time of do.
func (s *session) withBroker(do func(*console.Broker) error) (err error) {
	broker, err := console.OpenBroker(s.ctx, s.services, s.logger())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, broker.Close()) }()
	return do(broker)
}

// open gives a file to read; "-" is standard input.
func (s *session) open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(s.stdin), nil
	}
	return os.Open(name)
}

// actor is who gives commands unless they say otherwise: the user of the machine.
func actor() string {
	name := ""
	if current, err := user.Current(); err == nil {
		name = current.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return cmp.Or(name, "unknown") + "@" + cmp.Or(host, "unknown")
}

// withDatabase connects to the database for the time of do.
func (s *session) withDatabase(do func(*console.Database) error) error {
	database, err := console.OpenDatabase(s.ctx, s.services, s.rules, s.logger())
	if err != nil {
		return err
	}
	defer database.Close()
	return do(database)
}

// withSchema is withDatabase for commands that need the schema to be in place.
func (s *session) withSchema(do func(*console.Database) error) error {
	return s.withDatabase(func(d *console.Database) error {
		if err := d.NeedSchema(s.ctx); err != nil {
			return err
		}
		return do(d)
	})
}
