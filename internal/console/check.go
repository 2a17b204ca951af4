package console

import (
	"context"
	"fmt"
	"io"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
	"couponlease/internal/store"
)

// CheckOptions say how much is told.
type CheckOptions struct {
	// Limit bounds how many violations the report lists; all are counted.
	Limit int
	// Overdue is how long after its deadline a lease counts as overdue.
	Overdue time.Duration
	// Progress is told how many coupons and orders of total have been checked; nil
	// tells nobody.
	Progress func(done, total int64)
}

// CheckReport is what the invariants say about the whole database, as of one
// moment.
type CheckReport struct {
	Coupons    int64 `json:"coupons"`
	Operations int64 `json:"operations"`
	Orders     int64 `json:"orders"`
	Templates  int64 `json:"templates"`
	// Found counts the violations, of which Violations lists the first.
	Found      int                `json:"found"`
	Violations []coupon.Violation `json:"violations"`
	// ByInvariant counts the violations by their number.
	ByInvariant map[int]int `json:"byInvariant"`
	States      Counted     `json:"states"`
	// The rest is no fault by itself, but worth knowing.
	OutboxRows     int64   `json:"outboxRows"`
	OutboxMessages int64   `json:"outboxMessages"`
	OutboxParked   int64   `json:"outboxParked"`
	TimersOverdue  int64   `json:"timersOverdue"`
	OpenReviews    int64   `json:"openReviews"`
	Seconds        float64 `json:"seconds"`
}

// Counted is a number of coupons in each state.
type Counted map[coupon.State]int64

// WriteText prints the violations, if any, and what was looked at.
func (r CheckReport) WriteText(w io.Writer) error {
	out := lines{w: w}
	for _, violation := range r.Violations {
		out.addf("%s", violation)
	}
	if more := r.Found - len(r.Violations); more > 0 {
		out.addf("... and %s more", thousands(int64(more)))
	}
	out.addf("%s, %s, %s, %s checked in %.1f s", count(r.Coupons, "coupon"), count(r.Operations, "operation"),
		count(r.Orders, "order"), count(r.Templates, "template"), r.Seconds)
	out.addf("to publish: %s in %s, %d parked; leases overdue: %d; open reviews: %d",
		count(r.OutboxMessages, "message"), count(r.OutboxRows, "row"), r.OutboxParked, r.TimersOverdue, r.OpenReviews)
	if r.Found == 0 {
		out.addf("every invariant holds")
	} else {
		out.addf("%s", count(r.Found, "violation"))
	}
	return out.err
}

// Check proves the invariants on every coupon, order and template. It reads the
// whole database as of one moment, a page at a time, and changes nothing.
func (d *Database) Check(ctx context.Context, options CheckOptions) (CheckReport, error) {
	start := time.Now()
	counts, err := d.store.Counts(ctx, options.Overdue)
	if err != nil {
		return CheckReport{}, err
	}
	backlog, err := d.store.Backlog(ctx)
	if err != nil {
		return CheckReport{}, err
	}
	a := &audit{options: options, usage: map[string]*coupon.Usage{}, total: counts.Orders}
	for _, n := range counts.Coupons {
		a.total += n
	}
	a.report = CheckReport{
		Violations: []coupon.Violation{}, ByInvariant: map[int]int{}, States: Counted{},
		OutboxRows: backlog.OutboxRows, OutboxMessages: backlog.OutboxMessages, OutboxParked: backlog.ParkedRows,
		TimersOverdue: counts.TimersOverdue, OpenReviews: backlog.OpenReviews,
	}
	err = d.store.Audit(ctx, func(policies map[int64]policy.Policy) store.Auditor {
		a.policies = policies
		return store.Auditor{Coupon: a.coupon, Order: a.order, Template: a.template}
	})
	a.report.Seconds = time.Since(start).Seconds()
	return a.report, err
}

// audit collects what the invariants say.
type audit struct {
	options  CheckOptions
	policies map[int64]policy.Policy
	usage    map[string]*coupon.Usage
	report   CheckReport
	total    int64
}

func (a *audit) found(violations []coupon.Violation) {
	for _, violation := range violations {
		a.report.Found++
		a.report.ByInvariant[violation.Invariant]++
		if len(a.report.Violations) < a.options.Limit {
			a.report.Violations = append(a.report.Violations, violation)
		}
	}
}

// progressStep is how many rows pass between two words about progress.
const progressStep = 1000

func (a *audit) progress() {
	done := a.report.Coupons + a.report.Orders
	if a.options.Progress != nil && done%progressStep == 0 {
		a.options.Progress(done, a.total)
	}
}

func (a *audit) coupon(h coupon.History) error {
	a.report.Coupons++
	a.report.Operations += int64(len(h.Operations))
	a.report.States[h.Coupon.State]++
	a.found(coupon.Check(h))
	usage := a.usage[h.Coupon.Template]
	if usage == nil {
		usage = &coupon.Usage{}
		a.usage[h.Coupon.Template] = usage
	}
	usage.Add(h, func(version int64) policy.Policy { return a.policies[version] })
	// Persons are too many to count here; the database compares them.
	usage.Persons, usage.Claimed = nil, nil
	a.progress()
	return nil
}

func (a *audit) order(s store.Settlement) error {
	a.report.Orders++
	a.found(coupon.CheckOrder(s.Order,
		func(id string) *coupon.Coupon { return s.Coupons[id] },
		func(id string) *coupon.Order { return s.Related[id] }))
	a.progress()
	return nil
}

func (a *audit) template(t coupon.Template, wrong []store.PersonUse) error {
	a.report.Templates++
	truth := coupon.Usage{}
	if usage := a.usage[t.ID]; usage != nil {
		truth = *usage
	}
	t.UsesPerPerson = coupon.NoLimit
	a.found(coupon.CheckTemplate(&t, nil, nil, truth))
	for _, use := range wrong {
		text := "a person holds %d uses by the counter, %d by the coupons"
		if use.Counter == store.CounterClaims {
			text = "a person has claimed %d by the counter, %d by the coupons"
		}
		a.found([]coupon.Violation{{Invariant: 9, Template: t.ID, Detail: fmt.Sprintf(text, use.Held, use.Actual)}})
	}
	return nil
}
