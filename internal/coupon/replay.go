package coupon

import (
	"fmt"
	"slices"
	"time"
)

// Folded is what the ledger alone says about a coupon.
type Folded struct {
	State        State
	Version      int64
	Order        string
	LeaseID      string
	RedemptionID string
	Leases       int64
	Redemptions  int64
	// Active is the number of redemptions that nothing has ended.
	Active     int
	ValidUntil time.Time

	// ended lists the redemptions that are over.
	ended []string
	// void is how the coupon became VOID, if it is.
	void voided
}

// voided is what a withdrawal took, in case it is taken back.
type voided struct {
	operation, order, redemption string
	from                         State
}

// LedgerError says which row of a ledger no state machine could have written,
// and which invariant that breaks.
type LedgerError struct {
	Version   int64
	Invariant int
	Detail    string
}

func (e *LedgerError) Error() string { return fmt.Sprintf("version %d: %s", e.Version, e.Detail) }

func (r *OperationRow) breaks(invariant int, format string, args ...any) error {
	return &LedgerError{Version: r.To, Invariant: invariant, Detail: fmt.Sprintf(format, args...)}
}

// Replay folds the ledger rows of one coupon, in version order. It stops with a
// *LedgerError at the first row that does not follow from those before: a gap, a
// fork, an edge that is not in the table, or a change by somebody who did not
// hold the coupon.
func Replay(rows []OperationRow) (Folded, error) {
	var f Folded
	for i := range rows {
		if err := f.Add(&rows[i]); err != nil {
			return f, err
		}
	}
	return f, nil
}

// Add folds the next row; the zero Folded is that of no rows. It keeps none of the
// row but its texts. After an error, which is a *LedgerError, f is of no use.
func (f *Folded) Add(row *OperationRow) error {
	switch {
	case row.From != f.Version || row.To != row.From+1:
		return row.breaks(4, "it follows version %d: the ledger has a gap or a fork", f.Version)
	case row.FromState != f.State:
		return row.breaks(7, "it starts at %q, but version %d ended at %q", row.FromState, f.Version, f.State)
	case !Allowed(row.Operation, row.FromState, row.ToState):
		invariant := 7
		if row.FromState == Used {
			invariant = 10
		}
		return row.breaks(invariant, "%s from %q to %q is not in the table",
			row.Operation, row.FromState, row.ToState)
	}
	if err := f.ownership(row); err != nil {
		return err
	}
	f.State, f.Version, f.ValidUntil = row.ToState, row.To, row.ValidUntil
	return nil
}

// ownership follows who holds the coupon.
func (f *Folded) ownership(row *OperationRow) error {
	switch row.Operation {
	case Lock:
		f.Leases++
		f.Order, f.LeaseID = row.Order, row.LeaseID
	case Renew:
		if row.LeaseID != f.LeaseID {
			return row.breaks(3, "renews lease %s, but %s is current", row.LeaseID, f.LeaseID)
		}
		f.Order = row.Order
	case Redeem:
		if row.LeaseID != f.LeaseID || row.Order != f.Order {
			return row.breaks(3, "redeems lease %s of order %s, but lease %s of order %s is current",
				row.LeaseID, row.Order, f.LeaseID, f.Order)
		}
		f.Redemptions++
		f.Active++
		f.LeaseID, f.RedemptionID = "", row.RedemptionID
	case Release:
		if row.LeaseID != f.LeaseID {
			return row.breaks(3, "releases lease %s, but %s is current", row.LeaseID, f.LeaseID)
		}
		f.Order, f.LeaseID = "", ""
	case Return, Retire, Reverse, Withdraw:
		return f.end(row)
	}
	return nil
}

// end follows the operations that end a use, a lease, or a withdrawal.
func (f *Folded) end(row *OperationRow) error {
	if row.Operation == Withdraw {
		f.void = voided{row.ID, f.Order, row.RedemptionID, row.FromState}
	}
	switch row.FromState {
	case Used:
		switch {
		case slices.Contains(f.ended, row.RedemptionID):
			return row.breaks(11, "%s ends redemption %s a second time", row.Operation, row.RedemptionID)
		case row.RedemptionID != f.RedemptionID:
			return row.breaks(2, "%s ends redemption %s, but %s is active",
				row.Operation, row.RedemptionID, f.RedemptionID)
		}
		f.Active--
		f.ended = append(f.ended, row.RedemptionID)
		f.Order, f.RedemptionID = "", ""
	case Void:
		return f.revive(row)
	default:
		f.Order, f.LeaseID = "", ""
	}
	return nil
}

// revive follows the reversal of a withdrawal: the coupon is again what it was,
// but for a lease.
func (f *Folded) revive(row *OperationRow) error {
	void := f.void
	f.void = voided{}
	switch {
	case row.Original != void.operation:
		return row.breaks(6, "takes back operation %s, but %s made the coupon VOID", row.Original, void.operation)
	case (void.from == Used) != (row.ToState == Used):
		return row.breaks(7, "revives as %s what was %s", row.ToState, void.from)
	case row.ToState == Used:
		f.Order, f.RedemptionID = void.order, void.redemption
		f.Active++
		f.ended = slices.DeleteFunc(f.ended, func(id string) bool { return id == void.redemption })
	}
	return nil
}
