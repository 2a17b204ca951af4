package coupon

import "fmt"

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
	Active int
	// before is the state before VOID.
	before State
}

// Replay folds the ledger rows of one coupon, in version order. It stops with an
// error at the first row that no state machine could have written: a gap, a
// fork, an edge that is not in the table, or a row that does not start where
// the one before ended.
func Replay(rows []OperationRow) (Folded, error) {
	var f Folded
	for i := range rows {
		if err := f.step(&rows[i]); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (f *Folded) step(row *OperationRow) error {
	switch {
	case row.From != f.Version || row.To != row.From+1:
		return fmt.Errorf("version %d follows %d: the ledger has a gap or a fork", row.To, f.Version)
	case row.FromState != f.State:
		return fmt.Errorf("version %d starts at %q, but version %d ended at %q",
			row.To, row.FromState, f.Version, f.State)
	case !Allowed(row.Operation, row.FromState, row.ToState):
		return fmt.Errorf("version %d: %s from %q to %q is not in the table",
			row.To, row.Operation, row.FromState, row.ToState)
	}
	if err := f.ownership(row); err != nil {
		return fmt.Errorf("version %d: %w", row.To, err)
	}
	f.State, f.Version = row.ToState, row.To
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
			return fmt.Errorf("renews lease %s, but %s is current", row.LeaseID, f.LeaseID)
		}
		f.Order = row.Order
	case Redeem:
		if row.LeaseID != f.LeaseID || row.Order != f.Order {
			return fmt.Errorf("redeems lease %s of order %s, but lease %s of order %s is current",
				row.LeaseID, row.Order, f.LeaseID, f.Order)
		}
		f.Redemptions++
		f.Active++
		f.LeaseID, f.RedemptionID = "", row.RedemptionID
	case Release:
		if row.LeaseID != f.LeaseID {
			return fmt.Errorf("releases lease %s, but %s is current", row.LeaseID, f.LeaseID)
		}
		f.Order, f.LeaseID = "", ""
	case Return, Retire, Reverse, Withdraw:
		return f.end(row)
	}
	return nil
}

// end follows the operations that may end a redemption.
func (f *Folded) end(row *OperationRow) error {
	switch row.FromState {
	case Used:
		if row.RedemptionID != f.RedemptionID {
			return fmt.Errorf("ends redemption %s, but %s is active", row.RedemptionID, f.RedemptionID)
		}
		f.Active--
		f.Order, f.RedemptionID = "", ""
		if row.Operation == Withdraw {
			f.before = Used
		}
	case Locked:
		f.Order, f.LeaseID, f.before = "", "", Locked
	case Available:
		f.before = Available
	}
	return nil
}
