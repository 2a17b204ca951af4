package console

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"couponlease/internal/coupon"
	"couponlease/internal/reconcile"
)

// MaxFindingPage bounds how many findings one page has.
const MaxFindingPage = 1000

// FindingQuery selects findings; zero fields select everything.
type FindingQuery struct {
	Fault, Severity, Order, Coupon string
	// All lists findings that are gone as well.
	All bool
	// After is the Next of the page before.
	After string
	// Limit is 1 to MaxFindingPage.
	Limit int
}

// FindingPage is a page of findings, oldest first.
type FindingPage struct {
	Findings []FindingView `json:"findings"`
	// Next is where the next page begins; "" when there is none.
	Next string `json:"next,omitempty"`
}

// FindingView is one finding as it is kept.
type FindingView struct {
	ID       string          `json:"id"`
	Severity coupon.Severity `json:"severity"`
	coupon.Finding
	FirstSeen time.Time `json:"firstSeenAt"`
	LastSeen  time.Time `json:"lastSeenAt"`
	// ClosedAt is when it was gone; zero while it is open.
	ClosedAt time.Time `json:"closedAt,omitzero"`
	Seen     int64     `json:"seen"`
	// Repair is what the engine last answered about it.
	Repair string `json:"repair,omitempty"`
	// Next says what to do.
	Next string `json:"next"`
}

// Findings reads one page of findings.
func (d *Database) Findings(ctx context.Context, q FindingQuery) (FindingPage, error) {
	if q.Limit < 1 || q.Limit > MaxFindingPage {
		return FindingPage{}, Usage(fmt.Errorf("a page of %d findings: choose 1 to %d", q.Limit, MaxFindingPage))
	}
	if q.After != "" && uuid.Validate(q.After) != nil {
		return FindingPage{}, Usage(fmt.Errorf("%q is no finding: the page before says where the next begins", q.After))
	}
	records, err := d.store.Findings(ctx, reconcile.FindingFilter{
		Fault: coupon.Fault(q.Fault), Severity: coupon.Severity(q.Severity), Order: q.Order,
		Coupon: coupon.Fold(q.Coupon), OpenOnly: !q.All, After: q.After, Limit: q.Limit + 1,
	})
	if err != nil {
		return FindingPage{}, err
	}
	page := FindingPage{Findings: []FindingView{}}
	if len(records) > q.Limit {
		records = records[:q.Limit]
		page.Next = records[q.Limit-1].ID
	}
	for i := range records {
		page.Findings = append(page.Findings, findingView(&records[i]))
	}
	return page, nil
}

// Finding gives one finding, and whether there is one.
func (d *Database) Finding(ctx context.Context, id string) (view FindingView, found bool, err error) {
	if uuid.Validate(id) != nil {
		return view, false, Usage(fmt.Errorf("%q is no finding: `couponctl reconcile findings list` shows them", id))
	}
	records, err := d.store.Findings(ctx, reconcile.FindingFilter{ID: id, Limit: 1})
	if err != nil || len(records) == 0 {
		return view, false, err
	}
	return findingView(&records[0]), true, nil
}

func findingView(r *reconcile.Record) FindingView {
	return FindingView{
		ID: r.ID, Severity: r.Severity, Finding: r.Finding, FirstSeen: r.First, LastSeen: r.Last, ClosedAt: r.Closed,
		Seen: r.Seen, Repair: r.Repair, Next: remedy(&r.Finding),
	}
}

// remedy says what to do about a finding.
func remedy(f *coupon.Finding) string {
	switch f.Fault {
	case coupon.FaultPaidNotRedeemed, coupon.FaultClosedStillLocked, coupon.FaultGivenUpStillHeld,
		coupon.FaultReviewNotOpened, coupon.FaultOrphanLease, coupon.FaultOrphanPayment, coupon.FaultStaleFlow:
		return "`couponctl reconcile run --repair --reason TEXT` lets the engine settle it; `couponctl timeline` shows why"
	case coupon.FaultReturnNotDone:
		return "`couponctl return CODE --order ID --refund ID --reason TEXT`, or keep the coupon and tell the buyer"
	case coupon.FaultReturnNotPublished:
		return "see why the outbox is held up: /readyz of coupond, and the broker"
	case coupon.FaultLedgerGap:
		return "`couponctl replay verify CODE` says what is missing; a backup has it"
	case coupon.FaultDrift:
		return "`couponctl reconcile run --repair --reason TEXT` counts again; somebody wrote around the engine: find out who"
	case coupon.FaultQuotaDrift:
		return "`couponctl quota drift` says whether it still is; `couponctl quota rebuild TEMPLATE --reason TEXT` loads it anew"
	case coupon.FaultOldOpenLease:
		return "ask the buyer or the bank whether the money still comes; close the order if it does not"
	case coupon.FaultPaidUnknown, coupon.FaultRefundUnknown, coupon.FaultClosedUpstream:
		return "have the other system publish the message again, or `couponctl publish`; look into `couponctl dead list`"
	case coupon.FaultAmountDiffers, coupon.FaultNotUpstream:
		return "find out which system is wrong, with whoever owns the other one"
	default:
		return "`couponctl timeline` shows how it came about; OPERATIONS.md says what to do"
	}
}

// WriteText prints one finding a line.
func (p FindingPage) WriteText(w io.Writer) error {
	out := lines{w: w}
	rows := [][]string{{"FINDING", "SEVERITY", "FAULT", "SUBJECT", "SINCE", "SEEN", "STATE"}}
	for i := range p.Findings {
		f := &p.Findings[i]
		state := "open"
		if !f.ClosedAt.IsZero() {
			state = "gone"
		}
		rows = append(rows, []string{
			f.ID, string(f.Severity), string(f.Fault), f.Subject, clockTime(f.FirstSeen), thousands(f.Seen), state,
		})
	}
	out.table(rows)
	if p.Next != "" {
		out.addf("more: --after %s", p.Next)
	}
	return out.err
}

// WriteText prints one property a line.
func (f FindingView) WriteText(w io.Writer) error {
	out := lines{w: w}
	out.addf("finding   %s", f.ID)
	out.addf("fault     %s %s", f.Severity, f.Fault)
	out.addf("subject   %s", f.Subject)
	for _, part := range []struct{ name, text string }{{"order", f.Order}, {"coupon", f.Coupon}, {"template", f.Template}} {
		if part.text != "" {
			out.addf("%-8s  %s", part.name, part.text)
		}
	}
	out.addf("detail    %s", f.Detail)
	out.addf("seen      %s times, first %s, last %s", thousands(f.Seen), clockTime(f.FirstSeen), clockTime(f.LastSeen))
	if f.Repair != "" {
		out.addf("repair    the engine answered %s", f.Repair)
	}
	if !f.ClosedAt.IsZero() {
		out.addf("gone      %s", clockTime(f.ClosedAt))
		return out.err
	}
	out.addf("next      %s", f.Next)
	return out.err
}
