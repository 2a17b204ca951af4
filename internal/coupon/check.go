package coupon

import (
	"fmt"
	"slices"
)

// Violation is one broken invariant; Invariant is its number in the list that
// ARCHITECTURE.md gives.
type Violation struct {
	Invariant int    `json:"invariant"`
	Coupon    string `json:"coupon,omitempty"`
	Order     string `json:"order,omitempty"`
	Detail    string `json:"detail"`
}

// String gives one line for people.
func (v Violation) String() string {
	subject := "coupon " + v.Coupon
	if v.Coupon == "" {
		subject = "order " + v.Order
	}
	return fmt.Sprintf("invariant %d: %s: %s", v.Invariant, subject, v.Detail)
}

// Check proves the invariants of one coupon on its row and its evidence. Tests,
// the simulation, reconciliation and the gates all use this one function.
func Check(h History) []Violation {
	c := h.Coupon
	found := checker{coupon: c.ID}
	found.row(c)
	folded, err := Replay(h.Operations)
	if err != nil {
		found.add(4, "%v", err)
		return found.violations
	}
	found.replay(c, folded)
	found.leases(h)
	found.redemptions(h, folded)
	found.decisions(h)
	return found.violations
}

type checker struct {
	coupon     string
	violations []Violation
}

func (f *checker) add(invariant int, format string, args ...any) {
	f.violations = append(f.violations,
		Violation{Invariant: invariant, Coupon: f.coupon, Detail: fmt.Sprintf(format, args...)})
}

// row: LOCKED if and only if there is a lease, USED if and only if there is an
// active redemption, and nothing below zero.
func (f *checker) row(c *Coupon) {
	if !slices.Contains(States(), c.State) {
		f.add(4, "state %q does not exist", c.State)
	}
	if (c.State == Locked) != (c.Lease != nil) {
		f.add(1, "state %s with lease %t", c.State, c.Lease != nil)
	}
	if (c.State == Used) != (c.Redemption != nil) {
		f.add(2, "state %s with active redemption %t", c.State, c.Redemption != nil)
	}
	if c.Version < 1 || c.Leases < 0 || c.Cycle < 0 {
		f.add(9, "version %d, leases %d, redemptions %d", c.Version, c.Leases, c.Cycle)
	}
}

// replay: the ledger alone gives the row.
func (f *checker) replay(c *Coupon, folded Folded) {
	if folded.State != c.State || folded.Version != c.Version {
		f.add(7, "the ledger gives %s at version %d, the row says %s at version %d",
			folded.State, folded.Version, c.State, c.Version)
		return
	}
	if folded.Leases != c.Leases || folded.Redemptions != c.Cycle {
		f.add(7, "the ledger has %d leases and %d redemptions, the row %d and %d",
			folded.Leases, folded.Redemptions, c.Leases, c.Cycle)
	}
	if c.Lease != nil && (c.Lease.ID != folded.LeaseID || c.Lease.Order != folded.Order) {
		f.add(1, "the ledger leases it to order %q by %s, the row to order %q by %s",
			folded.Order, folded.LeaseID, c.Lease.Order, c.Lease.ID)
	}
	if c.Redemption != nil && (c.Redemption.ID != folded.RedemptionID || c.Redemption.Order != folded.Order) {
		f.add(2, "the ledger redeems it for order %q by %s, the row for order %q by %s",
			folded.Order, folded.RedemptionID, c.Redemption.Order, c.Redemption.ID)
	}
	if folded.Active > 1 {
		f.add(2, "%d active redemptions", folded.Active)
	}
}

// leases: every lock and renewal has its evidence, at its version, and tokens
// never come back.
func (f *checker) leases(h History) {
	evidence := map[int64]LeaseRow{}
	tokens := map[TokenHash]string{}
	for _, row := range h.Leases {
		if _, twice := evidence[row.Version]; twice {
			f.add(5, "two lease rows at version %d", row.Version)
		}
		evidence[row.Version] = row
		if other, known := tokens[row.TokenHash]; known && other != row.LeaseID {
			f.add(3, "leases %s and %s share a token", other, row.LeaseID)
		}
		tokens[row.TokenHash] = row.LeaseID
	}
	for i := range h.Operations {
		op := &h.Operations[i]
		if op.Operation != Lock && op.Operation != Renew {
			continue
		}
		row, known := evidence[op.To]
		if !known || row.LeaseID != op.LeaseID || row.Order != op.Order {
			f.add(5, "%s at version %d has no lease row of its own", op.Operation, op.To)
		}
		delete(evidence, op.To)
	}
	for version := range evidence {
		f.add(5, "a lease row at version %d has no ledger row", version)
	}
}

// redemptions: one evidence row per redemption, and at most one end for each.
func (f *checker) redemptions(h History, folded Folded) {
	known := map[string]RedemptionRow{}
	for _, row := range h.Redemptions {
		known[row.ID] = row
	}
	if int64(len(h.Redemptions)) != folded.Redemptions {
		f.add(5, "%d redemptions in the ledger, %d in evidence", folded.Redemptions, len(h.Redemptions))
	}
	ends := map[string]int{}
	for i := range h.Operations {
		op := &h.Operations[i]
		switch {
		case op.Operation == Redeem:
			if row, ok := known[op.RedemptionID]; !ok || row.Order != op.Order || row.OperationID != op.ID {
				f.add(5, "REDEEM at version %d has no redemption row of its own", op.To)
			}
		case op.FromState == Used:
			if ends[op.RedemptionID]++; ends[op.RedemptionID] > 1 {
				f.add(11, "redemption %s ended %d times", op.RedemptionID, ends[op.RedemptionID])
			}
			if row, ok := known[op.RedemptionID]; !ok || row.OperationID != op.Original {
				f.add(6, "%s at version %d does not name the redemption it ends", op.Operation, op.To)
			}
		}
	}
}

// decisions: a decision to return names its redemption and its policy, and is
// carried out by the operation that it names.
func (f *checker) decisions(h History) {
	operations := map[string]*OperationRow{}
	for i := range h.Operations {
		operations[h.Operations[i].ID] = &h.Operations[i]
	}
	decided := map[string]bool{}
	for _, d := range h.Decisions {
		if d.RedemptionID == "" || d.PolicyVersion == 0 {
			f.add(6, "decision %s on refund %s names no redemption or policy", d.Decision, d.Refund)
		}
		if d.OperationID == "" {
			continue
		}
		decided[d.OperationID] = true
		if op := operations[d.OperationID]; op == nil || op.RedemptionID != d.RedemptionID {
			f.add(6, "decision %s on refund %s was not carried out", d.Decision, d.Refund)
		}
	}
	for _, op := range operations {
		if (op.Operation == Return || op.Operation == Retire) && !decided[op.ID] {
			f.add(10, "%s at version %d has no refund decision", op.Operation, op.To)
		}
	}
}
