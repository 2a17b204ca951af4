package coupon

import (
	"slices"
	"time"
)

// Audit asks for a row of the audit log, because a person gave the command by hand.
type Audit struct {
	// Reason is why, in the person's words; "" where nothing was asked.
	Reason string
	// Arguments is the command as it was given, a JSON object without secrets.
	Arguments []byte
}

// AuditRow is the evidence of what a person did by hand, and of what came of it. It is
// written in the transaction of the change, so that neither is there without the other;
// a refused or repeated command has one as well.
type AuditRow struct {
	// ID counts the rows; the database gives it.
	ID int64
	At time.Time
	// Actor gave the command that Action names.
	Actor, Action string
	// Subject is the coupon, the order of a swap, the template that a command is about, or
	// the file of an import; Coupons are all that the command named, sorted.
	Subject string
	Coupons []string
	Reason  string
	// Code is the answer; First the one that a repeated command had got before.
	Code, First Code
	// Count is how many coupons were changed or made.
	Count int64
	// Key is the idempotency key, Cause the id of the message.
	Key, Cause string
	Arguments  []byte
	// Before and After tell how the coupons stood that exist.
	Before, After []Standing
	// Corrections are counters of a template that were set right.
	Corrections []Correction
}

// AuditFilter selects rows of the audit log; zero fields select everything.
type AuditFilter struct {
	Actor, Action string
	// Coupon is the id of a coupon that the command named.
	Coupon string
	// Since is the first time and Until the first one no longer wanted.
	Since, Until time.Time
	// Before is the id of the last row of the page before.
	Before int64
	// Limit bounds the answer; zero is what one answer may hold.
	Limit int
}

// Selects says whether the filter lets a row through, its limit apart.
func (f AuditFilter) Selects(row *AuditRow) bool {
	return (f.Actor == "" || row.Actor == f.Actor) && (f.Action == "" || row.Action == f.Action) &&
		(f.Coupon == "" || slices.Contains(row.Coupons, f.Coupon)) && (f.Before == 0 || row.ID < f.Before) &&
		(f.Since.IsZero() || !row.At.Before(f.Since)) && (f.Until.IsZero() || row.At.Before(f.Until))
}

// Standing is how a coupon stood at a moment.
type Standing struct {
	Coupon  string `json:"coupon"`
	State   State  `json:"state"`
	Version int64  `json:"version"`
}

// standing notes how coupons stand now.
func (w *World) standing(ids []string) []Standing {
	now := make([]Standing, 0, len(ids))
	for _, id := range ids {
		if c := w.coupons[id]; c != nil {
			now = append(now, Standing{c.ID, c.State, c.Version})
		}
	}
	return now
}

// audited has a command answered and notes who gave it by hand.
func (w *World) audited(r *Request, f Command) Outcome {
	coupons := f.Coupons()
	slices.Sort(coupons)
	coupons = slices.Compact(coupons)
	before, sofar := w.standing(coupons), len(w.changes.Operations)
	w.corrections = nil
	outcome := w.answer(r, f)
	row := &AuditRow{
		At: w.Now, Actor: r.Actor, Action: f.kind(), Coupons: coupons, Reason: r.Audit.Reason,
		Code: outcome.Code, First: outcome.First, Key: r.Key, Cause: r.ID, Arguments: r.Audit.Arguments,
		Before: before, After: w.standing(coupons), Corrections: w.corrections,
	}
	if orders := f.Orders(); len(orders) > 0 {
		row.Subject = orders[0]
	}
	if len(coupons) == 1 {
		row.Subject = coupons[0]
	}
	if template := templateOf(f); template != "" {
		row.Subject = template
	}
	changed := map[string]bool{}
	for _, op := range w.changes.Operations[sofar:] {
		changed[op.Coupon] = true
	}
	row.Count = int64(len(changed))
	w.changes.Audits = append(w.changes.Audits, row)
	return outcome
}

// templateOf gives the template that a command is about, rather than about a coupon.
func templateOf(f Command) string {
	switch f := f.(type) {
	case ClaimCoupon:
		return f.Template
	case IssueCoupons:
		return f.Template
	case CreateTemplate:
		return f.Template
	case EditTemplate:
		return f.Template
	case RecountTemplate:
		return f.Template
	default:
		return ""
	}
}
