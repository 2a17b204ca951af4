package console

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"
	"time"

	"couponlease/handlers"
	"couponlease/internal/claims"
	"couponlease/internal/coupon"
	"couponlease/internal/deadletter"
	"couponlease/internal/engine"
	"couponlease/internal/reconcile"
)

// ReconcileOptions shape a run of reconciliation.
type ReconcileOptions struct {
	// Actor runs it; Reason is why things are repaired, for the audit log.
	Actor, Reason string
	// Repair asks the engine for what can be repaired, at most Rate requests a second,
	// whose events go to the outbox Shards of the daemons.
	Repair       bool
	Rate, Shards int
	Patience     coupon.Patience
	// Exports are those of other systems; none compares with none. Grace is how long a
	// fact may be on its way, Since and Until bound what they cover.
	Exports      []reconcile.Export
	Grace        time.Duration
	Since, Until time.Time
	// Limit bounds how many findings the report lists; all are counted and kept.
	Limit int
	// Progress is told how many coupons and orders of about total are done; nil tells
	// nobody.
	Progress func(done, total int64)
}

// ReconcileReport is what a run has found and done.
type ReconcileReport struct {
	RunID   string    `json:"runId"`
	Started time.Time `json:"startedAt"`
	Seconds float64   `json:"seconds"`
	Coupons int64     `json:"coupons"`
	Orders  int64     `json:"orders"`
	// Compared is what the exports held; nil without exports.
	Compared *reconcile.Compared `json:"compared,omitempty"`
	// Found counts the findings, of which Findings lists the worst; New are those that no
	// run had found before, Gone those that this one did not find again.
	Found    int64                  `json:"found"`
	New      int64                  `json:"new"`
	Gone     int64                  `json:"gone"`
	ByFault  map[coupon.Fault]int64 `json:"byFault"`
	Findings []FindingLine          `json:"findings"`
	// Unchecked are faults that were not looked for, and why.
	Unchecked map[coupon.Fault]string `json:"unchecked,omitempty"`
	// Repaired counts what the engine has changed, Repairs its answers.
	Repaired int64            `json:"repaired"`
	Repairs  map[string]int64 `json:"repairs,omitempty"`
}

// FindingLine is a finding in a report.
type FindingLine struct {
	Severity coupon.Severity `json:"severity"`
	coupon.Finding
}

// Reconcile judges all books, and repairs through the engine if it is asked to.
func (d *Database) Reconcile(ctx context.Context, o ReconcileOptions) (ReconcileReport, error) {
	if err := checkWords(o.Actor, o.Reason); err != nil {
		return ReconcileReport{}, err
	}
	report := ReconcileReport{Findings: []FindingLine{}}
	worst := map[coupon.Severity][]FindingLine{} // of each as many as might be listed
	options := reconcile.RunOptions{
		Actor: o.Actor, Patience: o.Patience, Progress: o.Progress,
		Found: func(f coupon.Finding) {
			if severity := f.Fault.Severity(); len(worst[severity]) < o.Limit {
				worst[severity] = append(worst[severity], FindingLine{severity, f})
			}
		},
	}
	if len(o.Exports) > 0 {
		options.Upstream = &reconcile.Upstream{
			Exports: o.Exports, Orders: d.store, Grace: o.Grace, Since: o.Since, Until: o.Until,
		}
	}
	run := func() error {
		summary, err := reconcile.Reconcile(ctx, d.store, options)
		report.add(summary, options.Upstream != nil)
		for _, severity := range slices.Sorted(maps.Keys(worst)) {
			report.Findings = append(report.Findings, worst[severity]...)
		}
		report.Findings = report.Findings[:min(len(report.Findings), o.Limit)]
		return err
	}
	repairing := run
	if o.Repair {
		repairing = func() error {
			return d.withEngine(encoding(o.Shards), func(e *engine.Engine) error {
				options.Repair = &reconcile.Repair{Engine: e, Reason: o.Reason, Rate: o.Rate, Patience: o.Patience.Payment}
				return run()
			})
		}
	}
	if d.services.RedisURL == "" {
		err := repairing()
		return report, err
	}
	err := d.withStocks(func(s stocks) error {
		options.Stocks = auditedStocks{
			claims.NewInspection(s.pool, d.store, s.desk), d, s, deadletter.Decision{Actor: o.Actor, Reason: o.Reason},
		}
		return repairing()
	})
	return report, err
}

// encoding writes events for as many shards of the outbox as the daemons serve.
func encoding(shards int) engine.Encode {
	return func(changes *coupon.Changes) ([]coupon.OutboxRow, error) { return handlers.Outbox(changes, shards) }
}

func (r *ReconcileReport) add(s reconcile.Summary, compared bool) {
	r.RunID, r.Started, r.Seconds = s.ID, s.Started, s.Finished.Sub(s.Started).Seconds()
	r.Coupons, r.Orders = s.Coupons, s.Orders
	r.Found, r.New, r.Gone, r.ByFault = s.Found, s.Opened, s.Closed, s.ByFault
	r.Repaired, r.Repairs, r.Unchecked = s.Repaired, s.Repairs, s.Unchecked
	if compared {
		r.Compared = &s.Compared
	}
}

// WriteText prints what can be sent to whoever has to know.
func (r ReconcileReport) WriteText(w io.Writer) error {
	out := lines{w: w}
	out.addf("reconciliation of %s: %s and %s looked at in %.1f s", clockTime(r.Started), count(r.Coupons, "coupon"),
		count(r.Orders, "order"), r.Seconds)
	if c := r.Compared; c != nil {
		out.addf("compared with %s, %s and %s of other systems", count(c.Orders, "order"), count(c.Payments, "payment"),
			count(c.Refunds, "refund"))
	}
	for _, fault := range slices.Sorted(maps.Keys(r.Unchecked)) {
		out.addf("%s was not looked for: %s", fault, r.Unchecked[fault])
	}
	if r.Found == 0 {
		out.addf("nothing is wrong; %s gone", count(r.Gone, "finding"))
		return out.err
	}
	rows := [][]string{{"SEVERITY", "FAULT", "FINDINGS"}}
	faults := slices.Collect(maps.Keys(r.ByFault))
	slices.SortFunc(faults, bySeverity)
	for _, fault := range faults {
		rows = append(rows, []string{string(fault.Severity()), string(fault), thousands(r.ByFault[fault])})
	}
	out.table(rows)
	for _, f := range r.Findings {
		out.addf("%s", f.String())
	}
	if more := r.Found - int64(len(r.Findings)); more > 0 {
		out.addf("... and %s more: `couponctl reconcile findings list`", thousands(more))
	}
	out.addf("%s: %s new, %s gone since", count(r.Found, "finding"), thousands(r.New), thousands(r.Gone))
	if len(r.Repairs) > 0 {
		out.addf("%s changed by repairs; run again to see what is left", count(r.Repaired, "finding"))
	}
	return out.err
}

func bySeverity(a, b coupon.Fault) int {
	return cmp.Or(cmp.Compare(a.Severity(), b.Severity()), cmp.Compare(a, b))
}
