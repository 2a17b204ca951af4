package simulate

import (
	"fmt"
	"strings"

	"couponlease/internal/coupon"
)

// allowed says whether a step had the right to what it changed, by how the coupons
// stood before.
func (j *judge) allowed(r *coupon.Request, outcome *coupon.Outcome, changes *coupon.Changes) error {
	if outcome.Status == coupon.Repeated && len(changes.Answers)+len(changes.Receipts)+len(changes.Flows) > 0 {
		return fmt.Errorf("what is repeated was noted again: %+v", changes)
	}
	if campaign, err := j.campaign(r, outcome, changes); campaign || err != nil {
		return err
	}
	_, command := r.Fact.(coupon.Command)
	if outcome.Status != coupon.Applied && (command || outcome.Status != coupon.Refused) {
		if err := nothing(changes); err != nil {
			return err
		}
	}
	if err := j.quotes(r, changes); err != nil {
		return err
	}
	done := len(changes.Operations) > 0
	switch f := r.Fact.(type) {
	case coupon.LockCoupon:
		return only(changes, coupon.Lock, f.Coupon)
	case coupon.RedeemRequested:
		return only(changes, coupon.Lock, f.Coupon)
	case coupon.RenewLease:
		return j.shows(r, outcome, f.Token, f.Version, only(changes, coupon.Renew, f.Coupon))
	case coupon.ReleaseLease:
		return j.shows(r, outcome, f.Token, f.Version, only(changes, coupon.Release, f.Coupon))
	case coupon.RedeemCoupon:
		var err error
		if done && (changes.Operations[0].Operation != coupon.Redeem || changes.Operations[0].Coupon != f.Coupon) {
			err = fmt.Errorf("the command did %+v", changes.Operations[0])
		}
		return j.shows(r, outcome, f.Token, f.Version, err)
	case coupon.VoidCoupon:
		if done && !f.Force && j.standing(f.Coupon).lease != nil {
			return fmt.Errorf("a leased coupon was withdrawn without force")
		}
		return only(changes, coupon.Withdraw, f.Coupon)
	case coupon.ReverseChange:
		if done && (f.Operation != "" && f.Operation != changes.Operations[0].Original ||
			f.ExpectedVersion != 0 && f.ExpectedVersion != j.standing(f.Coupon).version) {
			return fmt.Errorf("took back what it did not name: %+v", changes.Operations[0])
		}
		return only(changes, coupon.Reverse, f.Coupon)
	case coupon.LeaseDue:
		if done && !j.standing(f.Coupon).due(f, j.ledger.Now()) {
			return fmt.Errorf("a timer that is stale, or early, changed %+v", changes.Operations[0])
		}
	case coupon.SettleLease:
		if done && !j.standing(f.Coupon).late(j.ledger.Now()) {
			return fmt.Errorf("a lease that is not due was settled: %+v", changes.Operations[0])
		}
	case coupon.ReportOrphan, coupon.EndFlow, coupon.ReportFault:
		if done {
			return fmt.Errorf("a report changed %+v", changes.Operations[0])
		}
	case coupon.ImportCoupon:
		return only(changes, coupon.Issue, coupon.Fold(f.Code))
	case coupon.ValidityOver:
		return only(changes, coupon.Expire, f.Coupon)
	}
	return nil
}

// standing gives how a coupon stood, which may not exist.
func (j *judge) standing(id string) *standing {
	if s := j.coupons[id]; s != nil {
		return s
	}
	return &standing{}
}

// nothing: there is an answer and nothing else.
func nothing(c *coupon.Changes) error {
	for _, timer := range c.Timers {
		if !timer.Rearmed {
			return fmt.Errorf("it armed timer %+v", timer)
		}
	}
	if n := len(c.Coupons) + len(c.Orders) + len(c.Templates) + len(c.Uses) + len(c.Operations) + len(c.Leases) +
		len(c.Redemptions) + len(c.Refunds) + len(c.Decisions) + len(c.Reviews) + len(c.Events); n > 0 {
		return fmt.Errorf("it was not applied, and changed %+v", c)
	}
	return nil
}

// only: one operation on one coupon, or none.
func only(changes *coupon.Changes, operation coupon.Operation, id string) error {
	for i, row := range changes.Operations {
		if i > 0 || row.Operation != operation || row.Coupon != id {
			return fmt.Errorf("it did %+v", row)
		}
	}
	return nil
}

// shows judges a command that shows a lease: only that of the current lease, at its
// version, does anything, and each other one is told why not.
func (j *judge) shows(r *coupon.Request, outcome *coupon.Outcome, token coupon.TokenHash, version int64, did error) error {
	if did != nil {
		return did
	}
	s := j.standing(r.Fact.Coupons()[0])
	var want coupon.Code
	switch {
	case s.version == 0:
		want = coupon.UnknownCoupon
	case s.lease == nil:
		want = coupon.LeaseGone
	case s.lease.TokenHash != token:
		want = coupon.TokenMismatch
	case version != 0 && version != s.version:
		want = coupon.VersionConflict
	}
	if want != "" && outcome.Status == coupon.Applied {
		return fmt.Errorf("%s, but it was applied to %+v", want, s)
	}
	_, known := j.answers[r.Key]
	switch {
	case known, outcome.Code == coupon.TimeOutOfRange, outcome.Code == coupon.ExistingRedemption:
		return nil
	case want != "" && outcome.Code != want, want == "" && lostRight(outcome.Code):
		return fmt.Errorf("answered %s, want %q: %+v", outcome.Code, want, s)
	}
	return nil
}

// lostRight: the answers to a token that is not right.
func lostRight(code coupon.Code) bool {
	switch code {
	case coupon.UnknownCoupon, coupon.LeaseGone, coupon.TokenMismatch, coupon.VersionConflict:
		return true
	}
	return false
}

// quotes: what a buyer or a till leased, whose order was never told, is ended by who
// shows its token, by force, or by its deadline, and by nothing else.
func (j *judge) quotes(r *coupon.Request, changes *coupon.Changes) error {
	for _, row := range changes.Operations {
		s := j.standing(row.Coupon)
		if s.lease == nil || !strings.HasPrefix(s.lease.Order, "Q") && !strings.HasPrefix(s.lease.Order, "RD") {
			continue
		}
		right := false
		switch f := r.Fact.(type) {
		case coupon.RenewLease, coupon.ReleaseLease, coupon.RedeemCoupon, coupon.VoidCoupon:
			right = r.Fact.Coupons()[0] == row.Coupon
		case coupon.LeaseDue:
			right = f.Coupon == row.Coupon
		case coupon.SettleLease:
			right = f.Coupon == row.Coupon && s.late(j.ledger.Now())
		case coupon.OrderPlaced:
			for _, wanted := range f.Wanted {
				right = right || wanted.Coupon == row.Coupon && wanted.Token != nil && *wanted.Token == s.lease.TokenHash &&
					s.lease.Purpose == coupon.PurposeQuote
			}
		}
		if !right {
			return fmt.Errorf("lease %+v met %+v", s.lease, row)
		}
	}
	return nil
}
