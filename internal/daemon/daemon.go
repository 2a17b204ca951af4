// Package daemon is coupond: it joins the parts of the product, starts them in
// order, tells how they are, and stops them in order.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/google/uuid"

	"couponlease/internal/config"
	"couponlease/internal/leasetoken"
	"couponlease/internal/telemetry"
)

// Daemon is one coupond.
type Daemon struct {
	cfg     config.Daemon
	version string
	// keys make lease tokens; keysAreOwn says that nobody else has them.
	keys       leasetoken.Keys
	keysAreOwn bool
	// host names the machine, owner this start of this replica.
	host, owner string
	log         *slog.Logger
	metrics     *telemetry.Registry
	health      *health
	listener    net.Listener
}

// New checks the configuration, a mistake in which is a *config.Error, and takes
// the HTTP address. Run has to be called to give it back.
func New(cfg config.Daemon, version string, logger *slog.Logger) (*Daemon, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	keys, configured, err := cfg.LeaseKeys()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", cfg.HTTPAddr)
	if err != nil {
		return nil, fmt.Errorf("take the HTTP address: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &Daemon{
		cfg: cfg, keys: keys, keysAreOwn: !configured, version: version, host: host, owner: host + "/" + uuid.NewString(),
		log: logger, metrics: telemetry.New(), health: newHealth(), listener: listener,
	}, nil
}

// Address is where HTTP is served.
func (d *Daemon) Address() string { return d.listener.Addr().String() }

// Run works until ctx ends and returns when everything is finished and closed: nil
// after a clean stop, else what went wrong.
func (d *Daemon) Run(ctx context.Context) error {
	d.log.Info("coupond starts", "version", d.version, "http", d.Address())
	if d.keysAreOwn {
		d.log.Warn("no token keys are set, so this process has drawn one for itself: "+
			"an answer that another replica or a later process gives lacks its lease token; "+
			"give all replicas the same key", "make one with", "openssl rand -base64 32", "set", "COUPONLEASE_TOKEN_KEYS")
	}
	d.watchProcess()
	server := d.serve()
	err := d.work(ctx, server.failed)
	err = errors.Join(err, server.close())
	if err == nil {
		d.log.Info("coupond has stopped")
	}
	return err
}

// Run is New and Run in one.
func Run(ctx context.Context, cfg config.Daemon, version string, logger *slog.Logger) error {
	d, err := New(cfg, version, logger)
	if err != nil {
		return err
	}
	return d.Run(ctx)
}

// work starts the parts, waits for the end, and stops them.
func (d *Daemon) work(ctx context.Context, failed <-chan error) error {
	p, err := d.start(ctx)
	if p != nil {
		defer p.disconnect()
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // told to stop before anything had begun
	case err != nil:
		return err
	}
	if err := p.build(); err != nil {
		return err
	}
	p.launch()
	d.health.set(phaseRunning)
	d.log.Info("coupond is at work", "queues", p.queues, "transport", d.cfg.Transport, "relay", d.cfg.Relay)

	var cause error
	select {
	case <-ctx.Done():
		d.log.Info("coupond stops", "drain", d.cfg.DrainTimeout)
	case err := <-failed:
		cause = fmt.Errorf("serve HTTP: %w", err)
	case err := <-p.routerDone:
		cause = errors.Join(errors.New("the router ended by itself"), err)
	}
	d.health.set(phaseDraining)
	return errors.Join(cause, p.stop())
}
