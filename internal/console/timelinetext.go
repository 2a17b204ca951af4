package console

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"couponlease/internal/coupon"
	"couponlease/internal/store"
)

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
	case store.MomentLetter, store.MomentLetterEnd:
		letterEntry(&e, m.Letter)
	case store.MomentAudit:
		auditEntry(&e, m.Audit)
	}
	return e
}

// letterEntry tells of a message that could not be applied, or of what became of it.
func letterEntry(e *Entry, l *store.LetterNote) {
	e.LetterID, e.MessageID = l.ID, l.MessageID
	if e.Kind == store.MomentLetterEnd {
		e.What = fmt.Sprintf("dead letter %s: %s", l.Kind, l.Status)
		e.Why = reasons("", l.Outcome, "", l.Note)
		return
	}
	e.What = fmt.Sprintf("dead letter %s: %s after %s", l.Kind, l.Reason, count(l.Attempts, "attempt"))
	if l.Failures > 1 {
		e.What += fmt.Sprintf(", failed %d times so", l.Failures)
	}
	e.Who, e.Why = l.Queue, reasons("", l.Error, "corrects ", l.Corrects)
}

func auditEntry(e *Entry, a *coupon.AuditRow) {
	e.What = fmt.Sprintf("by hand: %s answered %s", a.Action, a.Code)
	if a.First != "" {
		e.What += " of " + string(a.First)
	}
	e.Who, e.Why, e.MessageID = a.Actor, a.Reason, a.Cause
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
	ofOrder := t.Coupon.ID == ""
	if ofOrder {
		t.writeOrders(&out)
	} else if err := t.Coupon.WriteText(w); err != nil {
		return err
	}
	out.addf("")
	heading := []string{"TIME", "VERSION", "ORDER", "WHAT", "WHO", "WHY"}
	if ofOrder {
		heading = slices.Insert(heading, 1, "COUPON")
	}
	rows := [][]string{heading}
	for _, e := range t.Entries {
		version := ""
		if e.Version > 0 {
			version = fmt.Sprintf("v%d", e.Version)
		}
		row := []string{
			e.At.UTC().Format("2006-01-02 15:04:05.000"), version, orDash(e.Order), e.What, orDash(e.Who), e.why(),
		}
		if ofOrder {
			row = slices.Insert(row, 1, orDash(e.CouponID))
		}
		rows = append(rows, row)
	}
	out.table(rows)
	if t.Next > 0 {
		out.addf("there is more: --skip %d", t.Next)
	}
	if t.Cut {
		out.addf("more is known of it than is shown here")
	}
	if t.Waiting > 0 {
		out.addf("%s about it to be published", count(t.Waiting, "row"))
	}
	return out.err
}

// writeOrders prints one line an order and one a coupon.
func (t Timeline) writeOrders(out *lines) {
	for _, o := range t.Orders {
		text := fmt.Sprintf("paid %s of %s", thousands(o.Paid), amount(o.Payable, o.Currency))
		if !o.Placed {
			text = "never placed, paid " + thousands(o.Paid)
		}
		if o.Refunded > 0 {
			text += ", refunded " + thousands(o.Refunded)
		}
		if o.Closed {
			text += ", closed"
		}
		if o.Customer != "" {
			text += ", of " + o.Customer
		}
		if len(o.Links) > 0 {
			text += ", linked to " + strings.Join(o.Links, ", ")
		}
		out.addf("order       %s: %s", o.ID, text)
	}
	for _, c := range t.Coupons {
		text := fmt.Sprintf("%s, version %d", c.State, c.Version)
		switch {
		case c.Lease != nil:
			text += ", held by " + c.Lease.Order
		case c.Redemption != nil:
			text += ", used by " + c.Redemption.Order
		}
		out.addf("coupon      %s: %s", c.Code, text)
	}
}
