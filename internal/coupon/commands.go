package coupon

import (
	"cmp"
	"strings"
	"time"
)

// command answers a command, and notes what a person gave by hand.
func (w *World) command(r *Request, f Command) Outcome {
	w.request = r
	if r.Audit != nil {
		return w.audited(r, f)
	}
	return w.answer(r, f)
}

// answer answers a command, once for its key.
func (w *World) answer(r *Request, f Command) Outcome {
	a := &Answer{
		Key: r.Key, Hash: r.Hash, Kind: f.kind(), Cause: r.ID, Actor: r.Actor,
		At: r.At.UTC().Truncate(time.Microsecond), Done: w.Now,
	}
	if coupons := f.Coupons(); len(coupons) == 1 && !several(f) {
		a.Coupon = coupons[0]
	}
	if orders := f.Orders(); len(orders) > 0 {
		a.Order = orders[0]
	}
	if known := w.answers[r.Key]; known != nil {
		if known.Hash != r.Hash {
			a.refuse(IdempotencyMismatch)
			if a.Coupon != "" && w.coupons[a.Coupon] == nil {
				a.refuse(UnknownCoupon)
			}
			w.reply(r, a)
			return a.outcome()
		}
		w.reply(r, known)
		return Outcome{Status: Repeated, Code: Duplicate, First: known.Code, Answer: known}
	}
	if w.tooEarly(r) != nil {
		a.refuse(TimeOutOfRange)
		if till, ok := f.(RedeemRequested); ok {
			w.beginFlow(till, a)
		}
	} else {
		w.resolve(f).(Command).carryOut(w, a, Fields{At: a.At})
	}
	if r.Key != "" {
		w.answers[r.Key] = a
		w.changes.Answers = append(w.changes.Answers, a)
	}
	w.reply(r, a)
	return a.outcome()
}

func (a *Answer) outcome() Outcome { return Outcome{Status: a.Status, Code: a.Code, Answer: a} }

// reply sends an answer to whoever asked for one.
func (w *World) reply(r *Request, a *Answer) {
	if r.Reply == nil {
		return
	}
	w.changes.Replies = append(w.changes.Replies, &Reply{
		ID: w.Source.ID(), To: *r.Reply, Answer: a, Trace: r.Trace, At: w.Now,
	})
}

func (f LockCoupon) carryOut(w *World, a *Answer, _ Fields) {
	a.Order = f.Order
	c := w.coupons[f.Coupon]
	if c != nil && c.LeasedTo(f.Order) {
		a.same(Duplicate, c) // whose key had the token
		return
	}
	w.obtainFor(c, a, claim{order: f.Order, customer: f.Customer}, grant{
		order: f.Order, purpose: PurposeQuote, deadline: w.Now.Add(cmp.Or(f.Lease, w.Rules.QuoteLease)),
	})
}

// obtainFor leases a coupon to an asker, who gets the token.
func (w *World) obtainFor(c *Coupon, a *Answer, wish claim, g grant) {
	if code := w.refuse(c, wish, newTally()); code != "" {
		a.refuse(code)
		return
	}
	if g.deadline.After(w.Now.Add(w.Rules.LongestLease)) {
		a.refuse(RenewCap)
		return
	}
	a.done(c, w.lock(c, g))
	a.give(c)
}

func (f RedeemRequested) carryOut(w *World, a *Answer, _ Fields) {
	a.Order = RedeemNumber(f.Request)
	c := w.coupons[f.Coupon]
	w.obtainFor(c, a, claim{order: a.Order, customer: f.Customer}, grant{
		order: a.Order, purpose: PurposeTill, deadline: w.Now.Add(cmp.Or(f.Lease, w.Rules.TillLease)),
	})
	w.beginFlow(f, a)
}

// beginFlow notes that a till asked, and if it got nothing, that this is the end.
func (w *World) beginFlow(f RedeemRequested, a *Answer) {
	a.Order = RedeemNumber(f.Request)
	step := FlowRow{
		RedeemNo: a.Order, Request: f.Request, Step: FlowProcessing, Coupon: f.Coupon,
		LeaseID: a.LeaseID, Operation: a.Operation, Cause: a.Cause, At: w.Now,
	}
	w.changes.Flows = append(w.changes.Flows, step)
	if a.Status == Refused {
		step.Step, step.Code = FlowRejected, a.Code
		w.changes.Flows = append(w.changes.Flows, step)
	}
}

// endFlow notes how a till's flow ended, if the lease was one's.
func (w *World) endFlow(c *Coupon, lease *Lease, step FlowStep, op *OperationRow) {
	if lease.Purpose != PurposeTill {
		return
	}
	w.changes.Flows = append(w.changes.Flows, FlowRow{
		RedeemNo: lease.Order, Request: strings.TrimPrefix(lease.Order, redeemPrefix), Step: step,
		Coupon: c.ID, LeaseID: lease.ID, Operation: op.ID, Reason: op.Reason, Payment: op.Payment,
		Cause: op.Cause, At: w.Now,
	})
}

// refuseLease gives the reason why somebody who shows a token may not do anything
// with the lease of a coupon; "" when they may.
func refuseLease(c *Coupon, token TokenHash, version int64) Code {
	switch {
	case c == nil:
		return UnknownCoupon
	case c.State != Locked:
		return LeaseGone
	case !c.Lease.TokenHash.equal(token):
		return TokenMismatch
	case version != 0 && version != c.Lease.Version:
		return VersionConflict
	default:
		return ""
	}
}

func (f RenewLease) carryOut(w *World, a *Answer, _ Fields) {
	c := w.coupons[f.Coupon]
	if code := refuseLease(c, f.Token, f.Version); code != "" {
		a.refuse(code)
		return
	}
	a.Order = c.Lease.Order
	g := grant{order: c.Lease.Order, purpose: c.Lease.Purpose}
	if !f.OpenEnded {
		g.deadline = w.Now.Add(cmp.Or(f.Lease, w.Rules.term(c.Lease.Purpose)))
	}
	if w.tooLong(c, g.deadline) {
		a.refuse(RenewCap)
		return
	}
	// A renewal never shortens: whoever counts on the deadline told before may.
	if c.Lease.Deadline.IsZero() || !g.deadline.IsZero() && g.deadline.Before(c.Lease.Deadline) {
		g.deadline = c.Lease.Deadline
	}
	a.done(c, w.renew(c, g))
}

// tooLong says whether a renewed lease would last too long: beyond the validity and its
// grace, or, for a quote or a till, which never stay open-ended, beyond what they may
// ask for.
func (w *World) tooLong(c *Coupon, deadline time.Time) bool {
	if !c.ValidUntil.IsZero() && (deadline.IsZero() || deadline.After(c.ValidUntil.Add(w.Rules.RenewGrace))) {
		return true
	}
	return c.Lease.Purpose != PurposeOrder &&
		(deadline.IsZero() || deadline.After(w.Now.Add(w.Rules.LongestLease)))
}

func (f ReleaseLease) carryOut(w *World, a *Answer, _ Fields) {
	c := w.coupons[f.Coupon]
	if code := refuseLease(c, f.Token, f.Version); code != "" {
		a.refuse(code)
		return
	}
	a.Order = c.Lease.Order
	a.done(c, w.release(c, cmp.Or(f.Reason, ReasonGivenBack)))
}

func (f RedeemCoupon) carryOut(w *World, a *Answer, _ Fields) {
	c, order := w.coupons[f.Coupon], f.Order
	if row := w.orders[order]; row != nil {
		order = row.Head()
	}
	if c != nil && c.UsedBy(order) {
		a.same(ExistingRedemption, c)
		return
	}
	if code := refuseLease(c, f.Token, f.Version); code != "" {
		a.refuse(code)
		return
	}
	if order != c.Lease.Order {
		a.refuse(AlreadyLocked) // and its order's row is the one that was read
		return
	}
	a.Order = c.Lease.Order
	a.LeaseID = c.Lease.ID
	holder := w.orders[c.Lease.Order]
	if holder == nil {
		a.done(c, w.redeem(c, f.Payment, ""))
		return
	}
	g := w.groupOf(holder)
	_, payment, paid := g.paid()
	if g.superseded() || g.closed(false) != nil {
		a.refuse(OrderAlreadyClosed) // what was paid in time is told by its fact, and recovers the coupon
		return
	}
	if g.placed() && !paid && f.Payment == "" {
		a.refuse(IllegalState(c.State)) // an order with something to pay is redeemed by money
		return
	}
	op := w.redeemHeld(g, c, cmp.Or(f.Payment, payment))
	w.settleOrder(holder)
	a.done(c, op)
}

// redeemHeld redeems a lease of an order that is known, which remembers it if it
// named the coupon.
func (w *World) redeemHeld(g group, c *Coupon, payment string) *OperationRow {
	if named := g.head.named(c.ID); named != nil {
		return w.redeemFor(g, named, c, payment, "")
	}
	return w.redeem(c, payment, "")
}
