package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"couponlease/internal/amqp"
	"couponlease/internal/engine"
	"couponlease/internal/store"
)

// Waits between attempts to reach a service at start, and how long one attempt
// may take.
const (
	attemptFirst   = 200 * time.Millisecond
	attemptMost    = 5 * time.Second
	attemptTimeout = 5 * time.Second
	// setupTimeout bounds what is asked of a service that is there.
	setupTimeout = time.Minute
)

// workerConns is how many database connections relay, sweeper and maintenance
// share, next to the one or two for each shard of the outbox.
const workerConns = 4

// start connects to the services, in whatever order they come up, and sees to it
// that they are in shape. The parts it returns have to be disconnected, also when
// there is an error.
func (d *Daemon) start(ctx context.Context) (*parts, error) {
	p := &parts{Daemon: d}
	if err := p.open(ctx); err != nil {
		return p, err
	}
	err := d.await(ctx, "PostgreSQL", isRefused, func(ctx context.Context) error {
		_, err := p.workers.Ping(ctx)
		return err
	})
	if err != nil {
		return p, err
	}
	if err := p.checkSchema(ctx); err != nil {
		return p, err
	}
	for _, conn := range []*amqp.Conn{p.consume, p.publish} {
		if conn == nil {
			continue
		}
		err := d.await(ctx, "RabbitMQ", amqp.IsRefused, func(ctx context.Context) error {
			if err := conn.Ready(ctx); err != nil {
				return cmp.Or(conn.State().LastError, err)
			}
			return nil
		})
		if err != nil {
			return p, err
		}
	}
	return p, p.prepare(ctx)
}

// open prepares connections, which are then made in the background or when used.
func (p *parts) open(ctx context.Context) (err error) {
	options := store.Options{
		Rules:            p.cfg.ForCoupons(),
		Source:           engine.NewSource(p.keys),
		StatementTimeout: p.cfg.StatementTimeout,
		InboxRetention:   p.cfg.InboxRetentionDays,
		ApplicationName:  "coupond writer",
		MaxConns:         p.cfg.Writers + 1,
	}
	if p.writers, err = store.Open(ctx, p.cfg.Postgres(), options); err != nil {
		return err
	}
	options.ApplicationName, options.MaxConns = "coupond worker", workerConns+2*min(p.cfg.OutboxShards, 16)
	if p.workers, err = store.Open(ctx, p.cfg.Postgres(), options); err != nil {
		return err
	}
	if err = p.openTraces(ctx); err != nil {
		return err
	}
	if p.brokerTLS, err = p.cfg.BrokerTLS(); err != nil {
		return err
	}
	connect := func(role string) (*amqp.Conn, error) {
		conn, err := amqp.Connect(amqp.ConnConfig{
			URL: p.cfg.AMQPURL, TLS: p.brokerTLS, Name: "coupond " + role + " " + p.host, Logger: p.log,
		})
		if err != nil {
			return nil, fmt.Errorf("prepare broker connection: %w", err)
		}
		return conn, nil
	}
	if p.publish, err = connect("publish"); err != nil {
		return err
	}
	if p.isWindowed() {
		p.consume, err = connect("consume")
	}
	return err
}

// checkSchema refuses to work on a schema that is older than the program.
func (p *parts) checkSchema(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	states, err := p.workers.MigrationStatus(ctx)
	if err != nil {
		return fmt.Errorf("check the database schema: %w", err)
	}
	var missing []string
	for _, state := range states {
		if !state.Applied {
			missing = append(missing, state.Name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the database schema is not migrated (missing: %s): run couponctl migrate up",
			strings.Join(missing, ", "))
	}
	return nil
}

// prepare brings broker and database into the shape that work needs.
func (p *parts) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	var management *amqp.Management
	if p.cfg.AMQPManagementURL != "" {
		var err error
		if management, err = amqp.NewManagement(p.cfg.AMQPManagementURL, p.cfg.VHost(), p.brokerTLS); err != nil {
			return fmt.Errorf("prepare the broker's management API: %w", err)
		}
	}
	layout := amqp.DefaultLayout(amqp.Options{})
	if err := amqp.Ensure(ctx, p.publish, layout, amqp.Mode(p.cfg.Topology), management); err != nil {
		return fmt.Errorf("bring the broker into shape (--topology=%s): %w", p.cfg.Topology, err)
	}
	return p.workers.EnsurePartitions(ctx)
}

// await tries until a service is there. A service that is there and refuses us
// will not change its mind, so that ends the wait with an error.
func (d *Daemon) await(
	ctx context.Context, service string, refuses func(error) bool, try func(context.Context) error,
) error {
	began := time.Now()
	for wait := attemptFirst; ; wait = min(2*wait, attemptMost) {
		err := attempt(ctx, try)
		switch {
		case err == nil:
			d.log.Info(service+" is there", "after", time.Since(began).Round(time.Millisecond))
			d.health.await("")
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("wait for %s: %w", service, ctx.Err())
		case isUntrusted(err):
			return fmt.Errorf("%s is there, but not by a TLS connection to trust; check its URL and the files: %w", service, err)
		case refuses(err):
			return fmt.Errorf("%s refuses the connection; check its URL, user and password: %w", service, err)
		}
		d.log.Warn("waiting for "+service, "error", err, "next attempt in", wait)
		d.health.await(service + ": " + err.Error())
		pause(ctx, wait)
	}
}

func attempt(ctx context.Context, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	return try(ctx)
}

// isRefused says that the database was there and did not let us in: wrong user or
// password (class 28), or no such database (3D).
func isRefused(err error) bool {
	var answer interface{ SQLState() string }
	return errors.As(err, &answer) &&
		(strings.HasPrefix(answer.SQLState(), "28") || strings.HasPrefix(answer.SQLState(), "3D"))
}

// pause waits, but not beyond the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
