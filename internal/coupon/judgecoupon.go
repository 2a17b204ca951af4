package coupon

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"couponlease/internal/policy"
)

// Books is what is kept about one coupon and what others say about it.
type Books struct {
	// History has no Coupon when only evidence of it is left.
	History
	// Claims are the orders that named it.
	Claims []Claim
	// Armed says that there is a timer of the current lease.
	Armed bool
	// Open are the redemptions at tills that have begun and not ended.
	Open []FlowRow
}

// Claim is what an order says about a coupon.
type Claim struct {
	Order string
	// RedemptionID is the last redemption that the order had of it; "" for none.
	RedemptionID string
}

// JudgeCoupon gives what reconciliation finds about one coupon.
func JudgeCoupon(b Books, m Moment) []Finding {
	j := judge{books: b, moment: m}
	j.ledger()
	if b.Coupon == nil {
		return j.findings
	}
	j.used()
	j.usedTwice()
	j.returned()
	j.leased()
	j.flows()
	return j.findings
}

type judge struct {
	books    Books
	moment   Moment
	findings []Finding
}

func (j *judge) add(check Fault, order, format string, args ...any) {
	id := j.books.id()
	j.findings = append(j.findings,
		Finding{Fault: check, Subject: id, Coupon: id, Order: order, Detail: fmt.Sprintf(format, args...)})
}

func (b *Books) id() string {
	if b.Coupon == nil {
		return b.Operations[0].Coupon
	}
	return b.Coupon.ID
}

// ledger: its versions are one after the other and end where the row is.
func (j *judge) ledger() {
	b := &j.books
	folded, err := Replay(b.Operations)
	switch {
	case b.Coupon == nil:
		j.add(FaultLedgerGap, "", "the ledger has %d operations, and there is no such coupon", len(b.Operations))
	case err != nil:
		j.add(FaultLedgerGap, "", "%v", err)
	case folded.Version != b.Coupon.Version:
		j.add(FaultLedgerGap, "", "the ledger ends at version %d, the row is at %d", folded.Version, b.Coupon.Version)
	}
}

// used: a use has its evidence, and the order that has it knows.
func (j *judge) used() {
	c := j.books.Coupon
	switch active := c.Redemption; {
	case c.State != Used:
	case active == nil || active.Order == "":
		j.add(FaultUsedWithoutRedemption, "", "it is used by no order")
	case !slices.ContainsFunc(j.books.Redemptions, func(r RedemptionRow) bool { return r.ID == active.ID }):
		j.add(FaultUsedWithoutRedemption, active.Order, "redemption %s of order %s has no evidence", active.ID, active.Order)
	case j.forOrder(active) && !slices.ContainsFunc(j.books.Claims, func(claim Claim) bool { return claim.Order == active.Order }):
		j.add(FaultUsedWithoutRedemption, active.Order, "order %s has redeemed it, and never named it", active.Order)
	}
}

// forOrder says whether the redeemed lease was one of a placed order, which remembers
// what it named; those of quotes and tills need no order.
func (j *judge) forOrder(r *Redemption) bool {
	purpose := PurposeQuote
	for i := range j.books.Leases {
		if j.books.Leases[i].LeaseID == r.LeaseID {
			purpose = j.books.Leases[i].Purpose
		}
	}
	return purpose == PurposeOrder
}

// usedTwice: redemptions that nothing has ended belong to one order.
func (j *judge) usedTwice() {
	b := &j.books
	owners := map[string]bool{}
	claim := func(order, redemption string) {
		if order != "" && redemption != "" && !b.over(redemption) {
			owners[order] = true
		}
	}
	for i := range b.Redemptions {
		claim(b.Redemptions[i].Order, b.Redemptions[i].ID)
	}
	for _, c := range b.Claims {
		claim(c.Order, c.RedemptionID)
	}
	if active := b.Coupon.Redemption; active != nil {
		claim(active.Order, active.ID)
	}
	if len(owners) > 1 {
		names := make([]string, 0, len(owners))
		for order := range owners {
			names = append(names, order)
		}
		slices.Sort(names)
		j.add(FaultDoubleUse, names[0], "redeemed by the orders %s", strings.Join(names, ", "))
	}
}

// over says whether a redemption has ended and is not the active one again.
func (b *Books) over(redemption string) bool {
	if active := b.Coupon.Redemption; active != nil && active.ID == redemption {
		return false
	}
	return b.Ended(redemption)
}

// returned: the use that a decision ends is over. How it ended does not count: what was
// missed is put right by another operation than the one that was meant to.
func (j *judge) returned() {
	b := &j.books
	for i := range b.Decisions {
		d := &b.Decisions[i]
		name, _, _ := strings.Cut(d.Decision, ":")
		if !policy.Decision(name).Ends() {
			continue
		}
		at := slices.IndexFunc(b.Operations, func(op OperationRow) bool { return op.ID == d.OperationID })
		if !b.Ended(d.RedemptionID) && (at < 0 || !d.carriedOut(&b.Operations[at])) {
			j.add(FaultReturnNotDone, d.Order, "decision %s on refund %s of order %s was not carried out",
				d.Decision, d.Refund, d.Order)
		}
	}
}

// carriedOut says whether the operation, nil for none, did what was decided.
func (d *RefundDecision) carriedOut(op *OperationRow) bool {
	return op != nil && op.RedemptionID == d.RedemptionID && op.Refund == d.Refund
}

// leased: the current lease has its evidence, and something is going to end it.
func (j *judge) leased() {
	c, m := j.books.Coupon, j.moment
	if c.State != Locked || c.Lease == nil {
		return
	}
	lease := c.Lease
	var proof *LeaseRow
	granted := m.Now
	for i := range j.books.Leases {
		row := &j.books.Leases[i]
		if row.LeaseID != lease.ID {
			continue
		}
		if row.GrantedAtTime.Before(granted) {
			granted = row.GrantedAtTime
		}
		if row.Version == lease.Version {
			proof = row
		}
	}
	switch {
	case proof == nil:
		j.add(FaultOrphanLease, lease.Order, "lease %s of order %s has no evidence", lease.ID, lease.Order)
	case lease.Deadline.IsZero() && m.longer(granted, m.OpenLease):
		j.add(FaultOldOpenLease, lease.Order, "order %s has held it since %s, without a deadline",
			lease.Order, granted.UTC().Format(time.RFC3339))
	case lease.Deadline.IsZero():
	case m.longer(lease.Deadline, m.Lease):
		j.add(FaultOrphanLease, lease.Order, "lease %s of order %s should have ended at %s",
			lease.ID, lease.Order, lease.Deadline.UTC().Format(time.RFC3339))
	case !j.books.Armed:
		j.add(FaultOrphanLease, lease.Order, "lease %s of order %s has no timer", lease.ID, lease.Order)
	}
}

// flows: what a till has begun either has a lease or has ended.
func (j *judge) flows() {
	c := j.books.Coupon
	for i := range j.books.Open {
		flow := &j.books.Open[i]
		if c.State == Locked && c.Lease != nil && c.Lease.ID == flow.LeaseID {
			continue
		}
		j.findings = append(j.findings, Finding{
			Fault: FaultStaleFlow, Subject: flow.RedeemNo, Coupon: c.ID, Order: flow.RedeemNo,
			Detail: fmt.Sprintf("begun at %s, not ended, and its lease is gone", flow.At.UTC().Format(time.RFC3339)),
		})
	}
}

// JudgeTemplate gives what reconciliation finds about the counters of one template.
func JudgeTemplate(t *Template, uses []*Uses, claims []*Claims, truth Usage) []Finding {
	var details []string
	for _, violation := range CheckTemplate(t, uses, claims, truth) {
		details = append(details, violation.Detail)
	}
	if len(details) == 0 {
		return nil
	}
	return []Finding{{Fault: FaultDrift, Subject: t.ID, Template: t.ID, Detail: strings.Join(details, "; ")}}
}
