package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"couponlease/internal/config"
	"couponlease/internal/console"
	"couponlease/internal/coupon"
)

const (
	// daemons is how many replicas share the work.
	daemons = 2
	// cleanTimeout bounds how long clearing away may take.
	cleanTimeout = time.Minute
	// template is the template of all coupons.
	template = "spring"
)

// Options shape a demo.
type Options struct {
	// Orders is how many orders the shop has that day, 100 to 20,000.
	Orders int
	// Coupond is the program of the daemon; "" builds or finds it.
	Coupond string
	// Keep leaves schema and virtual host behind, to look at them.
	Keep bool
	// Out is told the story as it goes.
	Out    io.Writer
	Logger *slog.Logger
}

// demo is one run.
type demo struct {
	options  Options
	began    time.Time
	place    *place
	scratch  string
	database *console.Database
	broker   *console.Broker
	listener *listener
	traffic  *traffic
	running  []*daemon
	report   Report
	telling  sync.Mutex
}

// Run plays the demo and clears everything away that it made. The error says that
// it could not be played; what was played and came out wrong is in the report.
func Run(ctx context.Context, services config.Services, options Options) (Report, error) {
	d := &demo{options: options, began: time.Now()}
	err := d.play(ctx, services)
	return d.report, errors.Join(err, d.clear(ctx))
}

// say tells the audience one thing; incident and traffic do so at the same time.
func (d *demo) say(format string, args ...any) {
	d.telling.Lock()
	defer d.telling.Unlock()
	// The audience may have left; the demo goes on.
	_, _ = fmt.Fprintf(d.options.Out, "%5.1fs  "+format+"\n",
		append([]any{time.Since(d.began).Seconds()}, args...)...)
}

func (d *demo) title(text string) { _, _ = fmt.Fprintf(d.options.Out, "\n%s\n\n", text) }

func (d *demo) play(ctx context.Context, services config.Services) (err error) {
	if d.scratch, err = os.MkdirTemp("", "couponlease-demo-"); err != nil {
		return err
	}
	d.title("Couponlease leases every coupon to one order at a time. This is it at work: real PostgreSQL, real RabbitMQ,\n" +
		"two real daemons. Nothing is simulated, and nothing is left behind.")
	if d.place, err = newPlace(ctx, services); err != nil {
		return err
	}
	d.say("a schema and a virtual host of its own: %s", d.place.name)
	var program string
	both, preparing := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		if program, d.report.Daemon, err = findDaemon(preparing, d.options.Coupond, d.scratch); err == nil {
			d.say("the daemon, %s", d.report.Daemon)
		}
		return err
	})
	both.Go(func() error { return d.prepare(preparing) })
	if err := both.Wait(); err != nil {
		return err
	}
	return d.perform(ctx, program)
}

// prepare makes everything but the daemons ready.
func (d *demo) prepare(ctx context.Context) (err error) {
	if d.database, err = console.OpenDatabase(ctx, d.place.own, coupon.DefaultRules(), d.options.Logger); err != nil {
		return err
	}
	schema, err := d.database.MigrateUp(ctx)
	if err != nil {
		return err
	}
	if d.broker, err = console.OpenBroker(ctx, d.place.own, d.options.Logger); err != nil {
		return err
	}
	layout, err := d.broker.ApplyTopology(ctx)
	if err != nil {
		return err
	}
	d.say("%d migrations applied; %d exchanges, %d queues and %d bindings declared", len(schema.Migrations),
		layout.Exchanges, layout.Queues, layout.Bindings)
	if d.listener, err = listen(ctx, d.place.own, d.options.Logger); err != nil {
		return err
	}
	return d.importCoupons(ctx)
}

// importCoupons issues the coupons of the day from a file that it writes.
func (d *demo) importCoupons(ctx context.Context) (err error) {
	expiring := max(5, d.options.Orders/50)
	if d.traffic, err = newTraffic(d.options.Orders, expiring, time.Now().Add(-time.Hour)); err != nil {
		return err
	}
	d.traffic.add(incidentCoupon, coupon.Used)
	var file bytes.Buffer
	if err := d.traffic.writeCSV(&file); err != nil {
		return err
	}
	name := filepath.Join(d.scratch, "coupons.csv")
	if err := os.WriteFile(name, file.Bytes(), 0o600); err != nil {
		return err
	}
	imported, err := d.database.ImportCoupons(ctx, &file, 1, console.ImportOptions{
		Template: template, Actor: "demo", KeepBad: 1,
		Define: &coupon.Template{Terms: coupon.Unlimited()},
	})
	if err != nil {
		return err
	}
	if imported.Created != len(d.traffic.ends) {
		return fmt.Errorf("%d coupons imported instead of %d", imported.Created, len(d.traffic.ends))
	}
	d.say("%d coupons imported from a CSV file", imported.Created)
	return nil
}

// clear takes everything away, whatever has happened.
func (d *demo) clear(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
	defer cancel()
	errs := []error{d.stopDaemons()}
	if d.listener != nil {
		errs = append(errs, d.listener.close())
	}
	if d.broker != nil {
		errs = append(errs, d.broker.Close())
	}
	if d.database != nil {
		d.database.Close()
	}
	if d.place != nil && !d.options.Keep {
		errs = append(errs, d.place.remove(ctx))
	}
	if d.scratch != "" {
		errs = append(errs, os.RemoveAll(d.scratch))
	}
	return errors.Join(errs...)
}

func (d *demo) stopDaemons() error {
	var stopping errgroup.Group
	for _, running := range d.running {
		stopping.Go(running.stop)
	}
	d.running = nil
	return stopping.Wait()
}

// Remove deletes the schema and the virtual host that an earlier demo kept.
func Remove(ctx context.Context, services config.Services, name string) error {
	p := &place{name: name, services: services}
	if !p.valid() {
		return console.Usage(fmt.Errorf("%q is not the name of a demo's place", name))
	}
	return p.remove(ctx)
}
