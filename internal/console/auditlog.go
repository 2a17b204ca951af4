package console

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"couponlease/internal/coupon"
)

// MaxAuditPage bounds how many rows of the audit log one page has.
const MaxAuditPage = 1000

// AuditQuery selects rows of the audit log; zero fields select everything.
type AuditQuery struct {
	Actor, Action string
	// Coupon is a code that the command named.
	Coupon string
	// Since is the first time and Until the first one no longer wanted.
	Since, Until time.Time
	// Before is the Next of the page before.
	Before int64
	// Limit is 1 to MaxAuditPage.
	Limit int
}

// AuditPage is a page of the audit log, newest first.
type AuditPage struct {
	Entries []AuditEntry `json:"entries"`
	// Next is where the next page begins; 0 when there is none.
	Next int64 `json:"next,omitempty"`
}

// AuditEntry is one thing that a person did by hand.
type AuditEntry struct {
	ID      int64       `json:"id"`
	At      time.Time   `json:"at"`
	Actor   string      `json:"actor"`
	Action  string      `json:"action"`
	Subject string      `json:"subject"`
	Coupons []string    `json:"coupons,omitempty"`
	Reason  string      `json:"reason,omitempty"`
	Outcome coupon.Code `json:"outcome"`
	// First is what a repeated command had been answered.
	First coupon.Code `json:"first,omitempty"`
	// Count is how many coupons were changed or made, dead letters changed, or copies
	// published.
	Count     int64             `json:"count"`
	Key       string            `json:"idempotencyKey,omitempty"`
	MessageID string            `json:"messageId,omitempty"`
	Arguments json.RawMessage   `json:"arguments,omitempty"`
	Before    []coupon.Standing `json:"before,omitempty"`
	After     []coupon.Standing `json:"after,omitempty"`
	// Corrections are counters of a template that were set to what they count.
	Corrections []coupon.Correction `json:"corrections,omitempty"`
	// Terms tell what a command changed in a template.
	Terms []TermChange `json:"terms,omitempty"`
}

// AuditLog reads one page of what people did by hand.
func (d *Database) AuditLog(ctx context.Context, q AuditQuery) (AuditPage, error) {
	if q.Limit < 1 || q.Limit > MaxAuditPage {
		return AuditPage{}, Usage(fmt.Errorf("a page of %d rows: choose 1 to %d", q.Limit, MaxAuditPage))
	}
	rows, err := d.store.AuditLog(ctx, coupon.AuditFilter{
		Actor: q.Actor, Action: q.Action, Coupon: coupon.Fold(q.Coupon), Since: q.Since, Until: q.Until,
		Before: q.Before, Limit: q.Limit + 1,
	})
	if err != nil {
		return AuditPage{}, err
	}
	page := AuditPage{Entries: []AuditEntry{}}
	if len(rows) > q.Limit {
		rows = rows[:q.Limit]
		page.Next = rows[q.Limit-1].ID
	}
	for i := range rows {
		r := &rows[i]
		page.Entries = append(page.Entries, AuditEntry{
			ID: r.ID, At: r.At, Actor: r.Actor, Action: r.Action, Subject: r.Subject, Coupons: r.Coupons, Reason: r.Reason,
			Outcome: r.Code, First: r.First, Count: r.Count, Key: r.Key, MessageID: r.Cause, Arguments: r.Arguments,
			Before: r.Before, After: r.After, Corrections: r.Corrections,
		})
	}
	return page, d.tellTerms(ctx, page.Entries)
}

// tellTerms adds what commands changed in templates, which the versions of those tell.
func (d *Database) tellTerms(ctx context.Context, entries []AuditEntry) error {
	about := func(e *AuditEntry) bool {
		return (e.Action == "CreateTemplate" || e.Action == "EditTemplate") && e.Outcome == coupon.OK
	}
	var ids, causes []string
	for i := range entries {
		if about(&entries[i]) {
			ids, causes = append(ids, entries[i].Subject), append(causes, entries[i].MessageID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	edits, err := d.templateEdits(ctx, ids, causes)
	if err != nil {
		return err
	}
	for i := range entries {
		if e := &entries[i]; about(e) {
			e.Terms = edits[editKey{e.Subject, e.MessageID}]
		}
	}
	return nil
}

// change tells in short what became of the coupons, or of the template.
func (e AuditEntry) change() string {
	before := map[string]coupon.Standing{}
	for _, s := range e.Before {
		before[s.Coupon] = s
	}
	var parts []string
	for _, after := range e.After {
		if was := before[after.Coupon]; was != after {
			parts = append(parts, fmt.Sprintf("%s v%d %s -> v%d %s", after.Coupon, was.Version, was.State,
				after.Version, after.State))
		}
	}
	for _, c := range e.Corrections {
		parts = append(parts, fmt.Sprintf("%s %d -> %d", c.Counter, c.Before, c.After))
	}
	for _, change := range e.Terms {
		parts = append(parts, change.String())
	}
	if len(parts) == 0 && e.Count > 0 {
		return count(e.Count, "coupon")
	}
	return orDash(strings.Join(parts, "; "))
}

// WriteText prints one row a line.
func (p AuditPage) WriteText(w io.Writer) error {
	out := lines{w: w}
	rows := [][]string{{"ID", "TIME", "ACTOR", "ACTION", "SUBJECT", "OUTCOME", "CHANGE", "REASON"}}
	for _, e := range p.Entries {
		outcome := string(e.Outcome)
		if e.First != "" {
			outcome += " of " + string(e.First)
		}
		rows = append(rows, []string{
			fmt.Sprint(e.ID), clockTime(e.At), e.Actor, e.Action, orDash(e.Subject), outcome, e.change(), e.Reason,
		})
	}
	out.table(rows)
	if p.Next > 0 {
		out.addf("there is more: --before %d", p.Next)
	}
	return out.err
}
