package console

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/store"
)

// Timeline is everything that ever touched a coupon, in order.
type Timeline struct {
	Coupon CouponView `json:"coupon"`
	// Waiting is how many outbox rows that speak of the coupon await publication.
	Waiting int64   `json:"outboxRowsWaiting"`
	Entries []Entry `json:"entries"`
	// Reviews are the cases that people had or have to look at.
	Reviews []ReviewView `json:"reviews"`
}

// ReviewView is one case for a person.
type ReviewView struct {
	ID         string              `json:"id"`
	Order      string              `json:"order"`
	Reason     coupon.ReviewReason `json:"reason"`
	Suggestion string              `json:"suggestion,omitempty"`
	OpenedAt   time.Time           `json:"openedAt"`
	// ResolvedAt is zero while the case is open.
	ResolvedAt time.Time `json:"resolvedAt,omitzero"`
	Resolution string    `json:"resolution,omitempty"`
}

// Entry is one thing that happened.
type Entry struct {
	// At is when: facts of orders have the time at which they occurred, everything
	// else the time at which it was decided.
	At   time.Time        `json:"at"`
	Kind store.MomentKind `json:"kind"`
	// Version is the coupon's version afterwards, 0 for what did not change it.
	Version int64 `json:"version,omitempty"`
	// What happened, to or by Order, sent by Who, and Why.
	What  string `json:"what"`
	Order string `json:"order,omitempty"`
	Who   string `json:"who,omitempty"`
	Why   string `json:"why,omitempty"`
	// Lease is the lease that an operation granted or renewed, OperationID the
	// operation, RedemptionID the redemption that it began or ended.
	Lease        *LeaseView `json:"lease,omitempty"`
	OperationID  string     `json:"operationId,omitempty"`
	RedemptionID string     `json:"redemptionId,omitempty"`
	// MessageID is the message that led to it.
	MessageID string `json:"messageId,omitempty"`
}

// Reviewed says whether a person was asked to look at an order for a reason.
func (t Timeline) Reviewed(order string, reason coupon.ReviewReason) bool {
	return slices.ContainsFunc(t.Reviews, func(r ReviewView) bool { return r.Order == order && r.Reason == reason })
}

// Timeline reads everything that touched the coupon with the given code. found is
// false when neither a coupon nor an order that named it is known.
func (d *Database) Timeline(ctx context.Context, code string) (line Timeline, found bool, err error) {
	read, known, err := d.store.Timeline(ctx, coupon.Fold(code))
	if err != nil || !known && len(read.Moments) == 0 {
		return Timeline{}, false, err
	}
	line = Timeline{Waiting: read.Outbox, Entries: []Entry{}, Reviews: []ReviewView{}}
	line.Coupon.ID = coupon.Fold(code)
	if known {
		line.Coupon = viewOf(read.History.Coupon)
	}
	for _, r := range read.Reviews {
		line.Reviews = append(line.Reviews,
			ReviewView{r.ID, r.Order, r.Reason, r.Suggestion, r.At, r.ResolvedAt, r.Resolution})
	}
	leases := map[int64]*coupon.LeaseRow{}
	for i := range read.History.Leases {
		leases[read.History.Leases[i].Version] = &read.History.Leases[i]
	}
	for i := range read.Moments {
		m := &read.Moments[i]
		if m.Kind == store.MomentLease || m.Kind == store.MomentRedemption {
			continue // told with the operation that made it
		}
		e := entryOf(m)
		if l := leases[m.Version]; l != nil && m.Kind == store.MomentOperation {
			e.Lease = &LeaseView{l.LeaseID, l.Order, l.Purpose, l.Deadline, l.Version}
			e.What += leaseText(l)
		}
		line.Entries = append(line.Entries, e)
	}
	return line, true, nil
}

// why gives the reason and the message behind an entry.
func (e Entry) why() string {
	if e.MessageID == "" {
		return e.Why
	}
	return strings.TrimPrefix(e.Why+", message "+e.MessageID, ", ")
}

// entryOf tells one moment in words.
func entryOf(m *store.Moment) Entry {
	e := Entry{At: m.At, Kind: m.Kind, Version: m.Version, Order: m.Order}
	switch m.Kind {
	case store.MomentPlaced:
		e.What = fmt.Sprintf("order placed by %s, to pay %s", m.Placed.Customer,
			amount(m.Placed.Payable, m.Placed.Currency))
		e.Who = "upstream"
	case store.MomentPayment:
		e.What, e.Who = fmt.Sprintf("payment %s of %s", m.Payment.ID, amount(m.Payment.Amount, "")), "upstream"
	case store.MomentClose:
		e.What, e.Who, e.Why = "order closed", "upstream", m.Close.Reason
	case store.MomentRefund:
		e.What = fmt.Sprintf("refund %s of %s", m.Refund.ID, amount(m.Refund.Amount, ""))
		e.Who, e.Why = "upstream", m.Refund.Reason
	case store.MomentMessage:
		e.What = fmt.Sprintf("message %s answered %s", m.Receipt.Kind, m.Receipt.Code)
		e.MessageID = m.Receipt.ID
	case store.MomentCommand:
		e.What, e.Who = fmt.Sprintf("command %s answered %s", m.Command.Kind, m.Command.Code), m.Command.Actor
		e.MessageID = m.Command.Cause
	case store.MomentFlow:
		e.What = fmt.Sprintf("till's request %s: %s", m.Flow.Request, m.Flow.Step)
		e.Why = reasons("", string(m.Flow.Code), "", m.Flow.Reason, "payment ", m.Flow.Payment)
	case store.MomentOperation:
		operationEntry(&e, m.Operation)
	case store.MomentDecision:
		e.What = fmt.Sprintf("refund %s decided %s", m.Decision.Refund, m.Decision.Decision)
		e.Why = fmt.Sprintf("policy %d: paid %d, refunded %d", m.Decision.PolicyVersion, m.Decision.Paid,
			m.Decision.Refunded)
	case store.MomentReview:
		e.What = "review opened: " + string(m.Review.Reason)
		if m.Review.Suggestion != "" {
			e.What += ", suggested " + m.Review.Suggestion
		}
		e.MessageID = m.Review.Cause
	case store.MomentResolution:
		e.What, e.Who, e.Why = "review resolved: "+m.Review.Resolution, m.Review.ResolvedBy, m.Review.Note
	}
	return e
}

// amount shows money as it is kept: in minor units, of which a currency may have
// any number.
func amount(minor int64, currency string) string {
	return strings.TrimRight(thousands(minor)+" minor units "+currency, " ")
}

func operationEntry(e *Entry, op *coupon.OperationRow) {
	from := string(op.FromState)
	if op.FromState == coupon.None {
		from = "-"
	}
	e.What = fmt.Sprintf("%s %s -> %s", op.Operation, from, op.ToState)
	e.Who, e.RedemptionID, e.MessageID = op.Actor, op.RedemptionID, op.Cause
	e.OperationID, e.Why = op.ID, reasons("", op.Reason, "payment ", op.Payment, "refund ", op.Refund)
}

// reasons joins pairs of a name and a value, without those that have no value.
func reasons(pairs ...string) string {
	var parts []string
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			parts = append(parts, pair[0]+pair[1])
		}
	}
	return strings.Join(parts, ", ")
}

func leaseText(l *coupon.LeaseRow) string {
	if l.Deadline.IsZero() {
		return " without end"
	}
	return " until " + l.Deadline.UTC().Format("15:04:05")
}

// WriteText prints one line an entry: time, version, what, who and why.
func (t Timeline) WriteText(w io.Writer) error {
	out := lines{w: w}
	if err := t.Coupon.WriteText(w); err != nil {
		return err
	}
	out.addf("")
	rows := [][]string{{"TIME", "VERSION", "ORDER", "WHAT", "WHO", "WHY"}}
	for _, e := range t.Entries {
		version := ""
		if e.Version > 0 {
			version = fmt.Sprintf("v%d", e.Version)
		}
		rows = append(rows, []string{
			e.At.UTC().Format("2006-01-02 15:04:05.000"), version, orDash(e.Order), e.What, orDash(e.Who), e.why(),
		})
	}
	out.table(rows)
	if t.Waiting > 0 {
		out.addf("%s about it to be published", count(t.Waiting, "row"))
	}
	return out.err
}
