package coupon

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"couponlease/internal/policy"
)

// Violation is one broken invariant; Invariant is its number in the list that
// ARCHITECTURE.md gives.
type Violation struct {
	Invariant int    `json:"invariant"`
	Coupon    string `json:"coupon,omitempty"`
	Order     string `json:"order,omitempty"`
	Template  string `json:"template,omitempty"`
	Detail    string `json:"detail"`
}

// String gives one line for people.
func (v Violation) String() string {
	subject := "coupon " + v.Coupon
	switch {
	case v.Template != "":
		subject = "template " + v.Template
	case v.Order != "":
		subject = "order " + v.Order
	}
	if v.Order != "" && v.Coupon != "" {
		subject += ", coupon " + v.Coupon
	}
	return fmt.Sprintf("invariant %d: %s: %s", v.Invariant, subject, v.Detail)
}

// Check proves the invariants of one coupon on its row and its evidence. Tests,
// the simulation, reconciliation and the gates all use this one function.
func Check(h History) []Violation {
	f := checker{coupon: h.Coupon.ID}
	f.row(h.Coupon)
	f.keys(h)
	folded, err := Replay(h.Operations)
	if err != nil {
		f.ledger(err)
		return f.violations
	}
	f.replay(h.Coupon, folded)
	f.leases(h)
	f.redemptions(h)
	f.decisions(h)
	return f.violations
}

// CheckReplay proves on a coupon's row that it is what its ledger folds to, and what a
// row can be; err is what folding said. It is the part of Check that needs no evidence
// but the ledger. c is only read.
func CheckReplay(c *Coupon, folded Folded, err error) []Violation {
	f := checker{coupon: c.ID}
	f.row(c)
	if err != nil {
		f.ledger(err)
	} else {
		f.replay(c, folded)
	}
	return f.violations
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
// active redemption.
func (f *checker) row(c *Coupon) {
	if !slices.Contains(States(), c.State) {
		f.add(7, "state %q does not exist", c.State)
	}
	if (c.State == Locked) != (c.Lease != nil) {
		f.add(1, "state %s with lease %t", c.State, c.Lease != nil)
	}
	if (c.State == Used) != (c.Redemption != nil) {
		f.add(2, "state %s with active redemption %t", c.State, c.Redemption != nil)
	}
}

// keys: what is told twice had its effect once.
func (f *checker) keys(h History) {
	effects := map[string]bool{}
	for i := range h.Operations {
		key := h.Operations[i].BusinessKey
		if key != "" && effects[key] {
			f.add(8, "two operations under the key %s", key)
		}
		effects[key] = true
	}
	type refund struct{ order, id string }
	decided := map[refund]bool{}
	for i := range h.Decisions {
		d := &h.Decisions[i]
		if decided[refund{d.Order, d.Refund}] {
			f.add(8, "two decisions on refund %s of order %s", d.Refund, d.Order)
		}
		decided[refund{d.Order, d.Refund}] = true
	}
}

// ledger: no state machine could have written it.
func (f *checker) ledger(err error) {
	invariant := 7
	if broken := (*LedgerError)(nil); errors.As(err, &broken) {
		invariant = broken.Invariant
	}
	f.add(invariant, "%v", err)
}

// replay: the ledger alone gives the row.
func (f *checker) replay(c *Coupon, folded Folded) {
	if folded.State != c.State || folded.Version != c.Version || !folded.ValidUntil.Equal(c.ValidUntil) {
		f.add(7, "the ledger gives %s until %s at version %d, the row says %s until %s at version %d",
			folded.State, folded.ValidUntil, folded.Version, c.State, c.ValidUntil, c.Version)
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
}

// leases: every lock and renewal has its evidence, at its version; a lease keeps
// its token, and no other lease has it.
func (f *checker) leases(h History) {
	evidence := map[int64]*LeaseRow{}
	tokens, owners := map[string]TokenHash{}, map[TokenHash]string{}
	for i := range h.Leases {
		row := &h.Leases[i]
		if evidence[row.Version] != nil {
			f.add(5, "two lease rows at version %d", row.Version)
		}
		evidence[row.Version] = row
		if other, known := owners[row.TokenHash]; known && other != row.LeaseID {
			f.add(3, "leases %s and %s share a token", other, row.LeaseID)
		}
		if token, known := tokens[row.LeaseID]; known && token != row.TokenHash {
			f.add(3, "lease %s changed its token", row.LeaseID)
		}
		tokens[row.LeaseID], owners[row.TokenHash] = row.TokenHash, row.LeaseID
	}
	if lease := h.Coupon.Lease; lease != nil {
		f.lease(lease, evidence[lease.Version])
	}
	for i := range h.Operations {
		op := &h.Operations[i]
		if op.Operation != Lock && op.Operation != Renew {
			continue
		}
		row := evidence[op.To]
		if row == nil || row.LeaseID != op.LeaseID || row.Order != op.Order || row.OperationID != op.ID {
			f.add(5, "%s at version %d has no lease row of its own", op.Operation, op.To)
		}
		delete(evidence, op.To)
	}
	for version := range evidence {
		f.add(5, "a lease row at version %d has no ledger row", version)
	}
}

// lease: the current lease is the one last granted or renewed.
func (f *checker) lease(l *Lease, row *LeaseRow) {
	switch {
	case row != nil && row.LeaseID != l.ID: // it is not the lease of the ledger either
	case row == nil || row.Generation != l.Generation ||
		row.Purpose != l.Purpose || row.AcquiredAt != l.AcquiredVersion || !row.Deadline.Equal(l.Deadline):
		f.add(7, "the lease of version %d is not what was granted then", l.Version)
	case row.TokenHash != l.TokenHash:
		f.add(3, "lease %s does not have the token it was granted with", l.ID)
	}
}

// redemptions: one evidence row per redemption, named by what ends it.
func (f *checker) redemptions(h History) {
	evidence := map[string]*RedemptionRow{}
	cycles := map[int64]bool{}
	for i := range h.Redemptions {
		row := &h.Redemptions[i]
		if evidence[row.ID] != nil || cycles[row.Cycle] {
			f.add(2, "redemption %s of use cycle %d is there twice", row.ID, row.Cycle)
		}
		evidence[row.ID], cycles[row.Cycle] = row, true
	}
	if active := h.Coupon.Redemption; active != nil && evidence[active.ID] != nil {
		redeemed := evidence[active.ID].Redemption
		redeemed.Order = active.Order // the ledger knows whose it is
		if redeemed != *active {
			f.add(7, "redemption %s is not what was redeemed", active.ID)
		}
	}
	for i := range h.Operations {
		op := &h.Operations[i]
		row := evidence[op.RedemptionID]
		switch {
		case op.Operation == Redeem:
			if row == nil || row.Order != op.Order || row.OperationID != op.ID {
				f.add(5, "REDEEM at version %d has no redemption row of its own", op.To)
			}
		case op.FromState == Used:
			if row == nil || row.OperationID != op.Original {
				f.add(6, "%s at version %d does not name the redemption it ends", op.Operation, op.To)
			}
		}
	}
	if spare := int64(len(cycles)) - h.Coupon.Cycle; spare > 0 {
		f.add(5, "%d redemption rows have no ledger row", spare)
	}
}

// decisions: a decision names its redemption and its policy, follows from its
// figures, and is carried out exactly if it ends the use.
func (f *checker) decisions(h History) {
	operations := map[string]*OperationRow{}
	for i := range h.Operations {
		operations[h.Operations[i].ID] = &h.Operations[i]
	}
	policies := map[string]int64{}
	for i := range h.Redemptions {
		policies[h.Redemptions[i].ID] = h.Redemptions[i].PolicyVersion
	}
	decided := map[string]bool{}
	for i := range h.Decisions {
		d := &h.Decisions[i]
		if version, known := policies[d.RedemptionID]; !known || version != d.PolicyVersion {
			f.add(6, "decision %s on refund %s does not name the redemption and its policy", d.Decision, d.Refund)
		}
		f.decision(d, operations[d.OperationID])
		decided[d.OperationID] = true
	}
	for i := range h.Operations {
		op := &h.Operations[i]
		if op.FromState == Used && op.Operation != Reverse && !decided[op.ID] {
			f.add(10, "%s at version %d has no refund decision", op.Operation, op.To)
		}
	}
}

func (f *checker) decision(d *RefundDecision, op *OperationRow) {
	name, ground, _ := strings.Cut(d.Decision, ":")
	ends := policy.Decision(name).Ends()
	switch {
	case ends && !d.carriedOut(op):
		f.add(6, "decision %s on refund %s was not carried out", d.Decision, d.Refund)
	case !ends && d.OperationID != "":
		f.add(10, "decision %s on refund %s ended the use", d.Decision, d.Refund)
	case ends && policy.Ground(ground) == policy.GroundFull && d.Refunded < d.Paid:
		f.add(10, "decision %s on refund %s, but only %d of %d went back", d.Decision, d.Refund, d.Refunded, d.Paid)
	case ends && policy.Ground(ground) == policy.GroundOverpayment:
		f.add(10, "decision %s on refund %s, which only took a surplus back", d.Decision, d.Refund)
	}
}
