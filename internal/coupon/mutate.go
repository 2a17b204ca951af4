package coupon

import (
	"fmt"
	"time"
)

// apply is the only place where a coupon changes: one edge of the table, one
// version, one ledger row, one event. An edge that is not in the table is a
// mistake of the core, never of the input, and stops the request loudly.
func (w *World) apply(c *Coupon, to State, row OperationRow) *OperationRow {
	if !Allowed(row.Operation, c.State, to) {
		panic(fmt.Sprintf("coupon %s: %s from %q to %q is not in the table", c.ID, row.Operation, c.State, to))
	}
	row.ID = w.Source.ID()
	row.Coupon, row.From, row.To = c.ID, c.Version, c.Version+1
	row.FromState, row.ToState = c.State, to
	row.Cause, row.Actor, row.RequestHash = w.request.ID, w.request.Actor, w.request.Hash[:]
	row.PolicyVersion, row.ValidUntil, row.At = c.PolicyVersion, c.ValidUntil, w.Now
	c.Version, c.State = row.To, to
	w.dirtyCoupons[c.ID] = true
	w.changes.Operations = append(w.changes.Operations, &row)
	return &row
}

// announce adds the event of an operation.
func (w *World) announce(kind EventKind, c *Coupon, op *OperationRow) *Event {
	event := w.event(kind, c, op.Order)
	event.Operation, event.LeaseID = op, op.LeaseID
	return event
}

func (w *World) event(kind EventKind, c *Coupon, order string) *Event {
	event := &Event{
		ID: w.Source.ID(), Kind: kind, Order: order,
		Cause: w.request.ID, Trace: w.request.Trace, At: w.Now,
	}
	if c != nil {
		event.Coupon, event.State, event.Version = c.ID, c.State, c.Version
		event.Template, event.Batch = c.Template, c.Batch
		event.ValidFrom, event.ValidUntil = c.ValidFrom, c.ValidUntil
	}
	w.changes.Events = append(w.changes.Events, event)
	return event
}

// grant is what a lock or a renewal asks for.
type grant struct {
	order, reason string
	purpose       Purpose
	// deadline is zero for an open-ended lease.
	deadline time.Time
}

// lock leases a free coupon.
func (w *World) lock(c *Coupon, g grant) *OperationRow {
	id := w.Source.ID()
	c.Leases++
	c.Lease = &Lease{
		ID: id, Generation: c.Leases, Order: g.order, TokenHash: w.Source.Token(id, g.order, c.ID, c.Leases),
		Purpose: g.purpose, Deadline: g.deadline, AcquiredVersion: c.Version + 1, Version: c.Version + 1,
	}
	op := w.apply(c, Locked, OperationRow{
		Operation: Lock, Order: g.order, Reason: g.reason, LeaseID: c.Lease.ID,
	})
	w.hold(c, +1, +1)
	w.leased(c, op, EventLocked, false)
	return op
}

// renew gives the current lease a later deadline, and with it a new version.
func (w *World) renew(c *Coupon, g grant) *OperationRow {
	c.Lease.Order, c.Lease.Purpose = g.order, g.purpose
	c.Lease.Deadline, c.Lease.Version = g.deadline, c.Version+1
	op := w.apply(c, Locked, OperationRow{
		Operation: Renew, Order: g.order, Reason: g.reason, LeaseID: c.Lease.ID,
	})
	w.leased(c, op, EventLeaseRenewed, true)
	return op
}

// leased writes the evidence of a lease, arms its timer and announces it.
func (w *World) leased(c *Coupon, op *OperationRow, kind EventKind, renewal bool) {
	row := &LeaseRow{
		LeaseID: c.Lease.ID, Coupon: c.ID, Version: c.Version, Generation: c.Lease.Generation,
		Order: c.Lease.Order, TokenHash: c.Lease.TokenHash, Purpose: c.Lease.Purpose,
		Deadline: c.Lease.Deadline, AcquiredAt: c.Lease.AcquiredVersion, Renewal: renewal,
		OperationID: op.ID, GrantedAtTime: w.Now,
	}
	w.changes.Leases = append(w.changes.Leases, row)
	w.arm(c, false)
	w.announce(kind, c, op).Lease = row
}

// arm asks for a timer at the deadline of the current lease.
func (w *World) arm(c *Coupon, again bool) {
	if c.Lease.Deadline.IsZero() {
		return
	}
	w.changes.Timers = append(w.changes.Timers, Timer{
		Coupon: c.ID, Order: c.Lease.Order, LeaseID: c.Lease.ID, TokenHash: c.Lease.TokenHash,
		Version: c.Lease.Version, Due: c.Lease.Deadline, Rearmed: again,
	})
}

// redeem turns the current lease into the active redemption. A lease whose
// deadline has passed still redeems while nobody has released it; the ledger
// says so.
func (w *World) redeem(c *Coupon, payment, reason string) *OperationRow {
	lease := c.Lease
	if reason == "" && !lease.Deadline.IsZero() && w.Now.After(lease.Deadline) {
		reason = ReasonAfterLeaseDeadline
	}
	c.Cycle++
	redemption := &Redemption{
		ID: w.Source.ID(), Cycle: c.Cycle, Order: lease.Order, Payment: payment,
		LeaseID: lease.ID, PolicyVersion: c.PolicyVersion,
	}
	c.Lease = nil
	op := w.apply(c, Used, OperationRow{
		Operation: Redeem, Order: lease.Order, Reason: reason, LeaseID: lease.ID,
		RedemptionID: redemption.ID, Payment: payment,
		BusinessKey: fmt.Sprintf("redeem:%s:%d", lease.Order, redemption.Cycle),
	})
	redemption.OperationID = op.ID
	c.Redemption = redemption
	w.changes.Redemptions = append(w.changes.Redemptions,
		RedemptionRow{Redemption: *redemption, Coupon: c.ID, At: w.Now})
	w.endFlow(c, lease, FlowSuccess, op)
	w.announce(EventRedeemed, c, op).Redemption = redemption
	return op
}

// release ends the current lease.
func (w *World) release(c *Coupon, reason string) *OperationRow {
	lease := c.Lease
	c.Lease = nil
	op := w.apply(c, w.freeState(c), OperationRow{
		Operation: Release, Order: lease.Order, Reason: reason, LeaseID: lease.ID,
	})
	w.hold(c, -1, -1)
	w.endFlow(c, lease, FlowReleased, op)
	w.announce(EventReleased, c, op)
	return op
}

// undo ends the active redemption. budget says whether the template's budget
// gets the use back; the person's slot always follows the state.
func (w *World) undo(c *Coupon, to State, row OperationRow, budget bool) *OperationRow {
	redemption := c.Redemption
	c.Redemption = nil
	row.Order, row.LeaseID, row.RedemptionID = redemption.Order, redemption.LeaseID, redemption.ID
	row.Payment, row.Original = redemption.Payment, redemption.OperationID
	// A withdrawal that is taken back revives the redemption, which may end again.
	row.BusinessKey = fmt.Sprintf("undo:%s:%d", redemption.ID, c.Version)
	op := w.apply(c, to, row)
	var back int64
	if budget {
		back = -1
	}
	w.hold(c, back, -1)
	return op
}

// reverse takes a redemption back as a mistake: the use never happened.
func (w *World) reverse(c *Coupon, reason string) *OperationRow {
	redemption := c.Redemption
	op := w.undo(c, w.freeState(c), OperationRow{Operation: Reverse, Reason: reason}, true)
	w.announce(EventReversed, c, op).Redemption = redemption
	return op
}

// freeState is where a coupon goes when nobody holds it any more.
func (w *World) freeState(c *Coupon) State {
	if c.Over(w.Now) {
		return Expired
	}
	return Available
}

// hold counts a use on the template's budget and on the person's slots.
func (w *World) hold(c *Coupon, budget, person int64) {
	t := w.templates[c.Template]
	if t == nil {
		return
	}
	if t.Budget != NoLimit && budget != 0 {
		t.Held += budget
		w.dirtyTemplates[t.ID] = true
	}
	if t.UsesPerPerson != NoLimit && person != 0 && c.Owner != "" {
		uses := w.usesOf(t.ID, c.Owner)
		uses.Held += person
		w.dirtyUses[usesKey{t.ID, c.Owner}] = true
	}
}
