package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"couponlease/internal/config"
	"couponlease/internal/console"
	"couponlease/internal/coupon"
	"couponlease/internal/reconcile"
)

type reconcileCommand struct {
	Run      reconcileRun      `cmd:"" help:"Compare orders, payments, refunds and coupons, and tell what is wrong."`
	Findings reconcileFindings `cmd:"" help:"Look at what has been found."`
}

type reconcileRun struct {
	Orders   string            `placeholder:"FILE" help:"Export of the orders of another system, CSV or JSON lines; - for standard input."`
	Payments string            `placeholder:"FILE" help:"Export of the payments of another system."`
	Refunds  string            `placeholder:"FILE" help:"Export of the refunds of another system."`
	Map      map[string]string `placeholder:"COLUMN=NAME" mapsep:"," help:"Names of columns in the exports, such as orderId=order_no."`
	Since    time.Time         `placeholder:"TIME" help:"What we know from this time on has to be in the exports; their earliest time if absent."`
	Until    time.Time         `placeholder:"TIME" help:"Up to when; their latest time if absent."`
	Grace    time.Duration     `default:"15m" help:"How long a fact may be on its way from one system to the other."`

	Repair       bool   `help:"Ask the engine to repair what can be; needs --reason."`
	Reason       string `placeholder:"TEXT" help:"Why, for the audit log."`
	Actor        string `placeholder:"WHO" help:"Who runs it; user@host if absent."`
	Rate         int    `default:"200" help:"Most repairs a second."`
	OutboxShards int    `default:"1" env:"COUPONLEASE_OUTBOX_SHARDS" help:"Outbox shards, as the daemons have it."`

	Limit       int           `default:"20" help:"How many findings are listed; all are counted and kept."`
	PaymentWait time.Duration `default:"1h" help:"How long a payment may wait for its order."`
	LeaseWait   time.Duration `default:"10m" help:"How long after its deadline a lease may still be there."`
	PublishWait time.Duration `default:"15m" help:"How long an event may wait to be published."`
	OpenWait    time.Duration `default:"720h" help:"How long a lease without a deadline may last."`

	config.Rules `embed:""`
}

func (reconcileRun) Help() string {
	return `Looks at all books as of one moment, writes down what it finds, and closes findings that are gone. Changes no coupon
unless --repair is given: then each finding that the engine can settle becomes a request to it, with a row in the audit
log. Exit code 2 when something is found. OPERATIONS.md lists the faults and what to do about each. With a Redis the stocks of
campaigns in it are compared, too, for which the run waits 5 seconds if one is lower than the database.

Exports have the columns orderId, paymentId or refundId, amount (minor units), status (of orders: CLOSED, CANCELLED,
EXPIRED or VOIDED is over without money) and at (RFC 3339); others are skipped, and all but the ids may be missing.

  couponctl reconcile run
  couponctl reconcile run --repair --reason "ticket 4711"
  couponctl reconcile run --payments psp.csv --map paymentId=psp_reference,orderId=order_no
  couponctl reconcile run --output json | jq .byFault`
}

func (c reconcileRun) Run(s *session) error {
	const most = 100_000
	switch {
	case c.Limit < 0 || c.Limit > most:
		return console.Usage(fmt.Errorf("--limit %d: choose 0 to %d", c.Limit, most))
	case c.Rate < 1 || c.Rate > most:
		return console.Usage(fmt.Errorf("--rate %d: choose 1 to %d", c.Rate, most))
	case c.OutboxShards < 1 || c.OutboxShards > 1024:
		return console.Usage(fmt.Errorf("--outbox-shards %d: choose 1 to 1024", c.OutboxShards))
	case c.Repair:
		if err := (why{Reason: c.Reason}).mustSay(); err != nil {
			return err
		}
	}
	if err := c.CheckRules(); err != nil {
		return console.Usage(err)
	}
	exports, closing, err := c.exports(s)
	defer closing()
	if err != nil {
		return err
	}
	s.rules = c.ForCoupons()
	return s.withSchema(func(d *console.Database) error {
		show, end := s.progress("reconciled")
		report, err := d.Reconcile(s.ctx, console.ReconcileOptions{
			Actor: given{Actor: c.Actor}.who(), Reason: c.Reason, Repair: c.Repair, Rate: c.Rate, Shards: c.OutboxShards,
			Patience: coupon.Patience{
				Payment: c.PaymentWait, Lease: c.LeaseWait, Publish: c.PublishWait, OpenLease: c.OpenWait,
			},
			Exports: exports, Grace: c.Grace, Since: c.Since, Until: c.Until, Limit: c.Limit, Progress: show,
		})
		end()
		if err != nil {
			return err
		}
		if err := s.write(report); err != nil {
			return err
		}
		if report.Found > 0 {
			return errFindings
		}
		return nil
	})
}

// exports opens the exports that are named; closing closes them.
func (c reconcileRun) exports(s *session) (exports []reconcile.Export, closing func(), err error) {
	var files []io.Closer
	closing = func() {
		for _, file := range files {
			_ = file.Close() // it was only read
		}
	}
	for _, one := range []struct{ kind, name string }{
		{reconcile.ExportOrders, c.Orders}, {reconcile.ExportPayments, c.Payments}, {reconcile.ExportRefunds, c.Refunds},
	} {
		if one.name == "" {
			continue
		}
		file, err := s.open(one.name)
		if err != nil {
			return nil, closing, console.Usage(err)
		}
		files = append(files, file)
		export, err := console.ReadExport(one.kind, file, c.Map)
		if err != nil {
			return nil, closing, err
		}
		exports = append(exports, export)
	}
	if len(exports) == 0 && len(c.Map) > 0 {
		return nil, closing, console.Usage(errors.New("--map: there is no export to read"))
	}
	return exports, closing, nil
}

type reconcileFindings struct {
	List findingsList `cmd:"" help:"List findings, oldest first."`
	Show findingsShow `cmd:"" help:"Print one finding, and what to do about it."`
}

type findingsList struct {
	Fault    string `placeholder:"FAULT" help:"Only this fault, such as DOUBLE_USE."`
	Severity string `placeholder:"P0" help:"Only this severity."`
	Order    string `placeholder:"ID" help:"Only findings about this order."`
	Coupon   string `placeholder:"CODE" help:"Only findings about this coupon."`
	All      bool   `help:"Findings that are gone as well."`
	After    string `placeholder:"FINDING" help:"The page behind this finding, as the page before says."`
	Limit    int    `default:"50" help:"Findings of a page."`
}

func (findingsList) Help() string {
	return `Exit code 0 whether or not there are findings.

  couponctl reconcile findings list --severity P0
  couponctl reconcile findings list --coupon SPRING-1 --all`
}

func (c findingsList) Run(s *session) error {
	return s.withSchema(func(d *console.Database) error {
		page, err := d.Findings(s.ctx, console.FindingQuery(c))
		if err != nil {
			return err
		}
		return s.write(page)
	})
}

type findingsShow struct {
	Finding string `arg:"" placeholder:"FINDING" help:"Id of the finding."`
}

func (c findingsShow) Run(s *session) error {
	return s.withSchema(func(d *console.Database) error {
		finding, found, err := d.Finding(s.ctx, c.Finding)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("there is no finding %s: `couponctl reconcile findings list` shows them", c.Finding)
		}
		return s.write(finding)
	})
}
