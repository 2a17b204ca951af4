package console

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/store"
)

// MaxParallel bounds with how many connections a verification reads at once.
const MaxParallel = 8

// VerifyOptions shape a verification of the ledger.
type VerifyOptions struct {
	// Code restricts it to one coupon; "" is all.
	Code string
	// Parallel is 1 to MaxParallel.
	Parallel int
	// Limit bounds how many findings the report lists; all are counted.
	Limit int
	// Progress is told how many coupons of about total are done; nil tells nobody.
	Progress func(done, total int64)
}

// LedgerReport is what the ledger says about the rows, as of one moment.
type LedgerReport struct {
	Coupons    int64 `json:"coupons"`
	Operations int64 `json:"operations"`
	// Found counts the coupons whose ledger and row disagree, of which Findings lists
	// the first.
	Found    int64                      `json:"found"`
	ByKind   map[store.LedgerKind]int64 `json:"byKind"`
	Findings []LedgerFinding            `json:"findings"`
	Seconds  float64                    `json:"seconds"`
}

// LedgerFinding is one coupon whose ledger and row disagree.
type LedgerFinding struct {
	Kind   store.LedgerKind `json:"kind"`
	Coupon string           `json:"coupon"`
	// Violations say which invariants that breaks, and how.
	Violations []coupon.Violation `json:"violations"`
}

// VerifyLedger folds the ledger of every coupon and compares it with the row. It reads
// both as of one moment and changes nothing. found is false when the one coupon that
// was asked for has neither.
func (d *Database) VerifyLedger(ctx context.Context, o VerifyOptions) (report LedgerReport, found bool, err error) {
	if o.Parallel < 1 || o.Parallel > MaxParallel {
		return report, false, Usage(fmt.Errorf("%d connections: choose 1 to %d", o.Parallel, MaxParallel))
	}
	start := time.Now()
	verdict, err := d.store.VerifyLedger(ctx, store.VerifyOptions{
		Coupon: coupon.Fold(o.Code), Parallel: o.Parallel, Limit: o.Limit, Progress: o.Progress,
	})
	if err != nil {
		return report, false, err
	}
	report = LedgerReport{
		Coupons: verdict.Coupons, Operations: verdict.Operations, Found: verdict.Found, ByKind: verdict.ByKind,
		Findings: make([]LedgerFinding, len(verdict.Findings)), Seconds: time.Since(start).Seconds(),
	}
	for i, f := range verdict.Findings {
		report.Findings[i] = LedgerFinding(f)
	}
	return report, o.Code == "" || report.Coupons+report.Operations > 0, nil
}

// WriteText prints a finding a line, and what was looked at.
func (r LedgerReport) WriteText(w io.Writer) error {
	out := lines{w: w}
	for _, f := range r.Findings {
		details := make([]string, len(f.Violations))
		for i, violation := range f.Violations {
			details[i] = fmt.Sprintf("invariant %d: %s", violation.Invariant, violation.Detail)
		}
		out.addf("%s coupon %s: %s", f.Kind, f.Coupon, strings.Join(details, "; "))
	}
	if more := r.Found - int64(len(r.Findings)); more > 0 {
		out.addf("... and %s more", thousands(more))
	}
	out.addf("%s folded and compared with %s in %.1f s", count(r.Operations, "operation"), count(r.Coupons, "row"),
		r.Seconds)
	if r.Found == 0 {
		out.addf("the ledger gives every row")
		return out.err
	}
	out.addf("%s: `couponctl timeline CODE` shows how it came about, and a backup what it was", count(r.Found, "coupon"))
	return out.err
}
