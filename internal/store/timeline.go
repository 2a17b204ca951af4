package store

import (
	"cmp"
	"slices"
	"time"

	"couponlease/internal/coupon"
)

// Limits of a timeline: of each list, and of the coupons of an order.
const (
	maxTimeline        = 10_000
	maxTimelineCoupons = 1000
)

// Timeline is everything that ever touched a coupon, or an order.
type Timeline struct {
	// Histories are those of the coupon, or of all coupons that the order had to do with.
	Histories []coupon.History
	// Orders are those that named the coupon, or the order, and all that are linked to
	// them, by id.
	Orders []*coupon.Order
	// Reviews are those of the coupon and those of its orders as a whole.
	Reviews []Review
	// Receipts are the messages about these orders and those that caused an operation,
	// as long as the inbox remembers them.
	Receipts []*coupon.Receipt
	// Commands are those about the coupon and those about several coupons of these
	// orders, with their answers; Flows the steps of its redemptions at tills.
	Commands []*coupon.Answer
	Flows    []coupon.FlowRow
	// Letters are the messages about them that could not be applied.
	Letters []LetterNote
	// Audits are what people did about them by hand.
	Audits []coupon.AuditRow
	// Outbox is how many rows that wait to be published speak of the coupon, or the
	// order.
	Outbox int64
	// Cut says that a list had more rows than a timeline holds.
	Cut bool
	// Moments is all of the above in the order of time. That of an order has of its
	// coupons what the order had to do with.
	Moments []Moment

	// about are the orders whose timeline it is, nil for that of a coupon.
	about map[string]bool
}

// LetterNote is a dead letter as a timeline tells it.
type LetterNote struct {
	ID, MessageID, Queue, Kind string
	Status, Outcome            string
	Reason, Error              string
	// Attempts are those before the last failure, Failures counts the failures.
	Attempts, Failures    int64
	First, Last           time.Time
	Filed, Changed        time.Time
	Order, Note, Corrects string
}

// MomentKind says which field of a moment is set, beside Order.
type MomentKind string

// The kinds, in the order in which moments of the same time are told.
const (
	MomentPlaced     MomentKind = "PLACED"
	MomentPayment    MomentKind = "PAYMENT"
	MomentClose      MomentKind = "CLOSE"
	MomentRefund     MomentKind = "REFUND"
	MomentMessage    MomentKind = "MESSAGE"
	MomentCommand    MomentKind = "COMMAND"
	MomentOperation  MomentKind = "OPERATION"
	MomentLease      MomentKind = "LEASE"
	MomentRedemption MomentKind = "REDEMPTION"
	MomentDecision   MomentKind = "DECISION"
	MomentFlow       MomentKind = "FLOW"
	MomentReview     MomentKind = "REVIEW"
	MomentResolution MomentKind = "RESOLUTION"
	// MomentLetter is when a dead letter was filed, MomentLetterEnd when it got the status
	// that it has.
	MomentLetter    MomentKind = "DEAD_LETTER"
	MomentLetterEnd MomentKind = "DEAD_LETTER_STATUS"
	MomentAudit     MomentKind = "AUDIT"
)

var momentOrder = []MomentKind{
	MomentPlaced, MomentPayment, MomentClose, MomentRefund, MomentMessage, MomentCommand, MomentOperation, MomentLease,
	MomentRedemption, MomentDecision, MomentFlow, MomentReview, MomentResolution, MomentLetter,
	MomentLetterEnd, MomentAudit,
}

// Moment is one thing that happened. Facts of orders have the time at which they
// occurred, everything else the time at which it was decided.
type Moment struct {
	At   time.Time
	Kind MomentKind
	// Order is the order it was about, Coupon the coupon; "" for none, or for several.
	Order, Coupon string
	// Version is the version of the coupon that an operation or a lease produced.
	Version int64

	Placed     *coupon.Order
	Payment    *coupon.Payment
	Close      *coupon.Close
	Refund     *coupon.Refund
	Receipt    *coupon.Receipt
	Command    *coupon.Answer
	Flow       *coupon.FlowRow
	Operation  *coupon.OperationRow
	Lease      *coupon.LeaseRow
	Redemption *coupon.RedemptionRow
	Decision   *coupon.RefundDecision
	Review     *Review
	Letter     *LetterNote
	Audit      *coupon.AuditRow
}

func (line *Timeline) moments() []Moment {
	all := slices.Concat(line.evidence(), line.facts(), line.commands(), line.cases(), line.handwork())
	slices.SortStableFunc(all, func(a, b Moment) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Version, b.Version),
			cmp.Compare(slices.Index(momentOrder, a.Kind), slices.Index(momentOrder, b.Kind)),
			cmp.Compare(a.Coupon, b.Coupon))
	})
	return all
}

// versions gives the version that each operation produced.
func (line *Timeline) versions() map[string]int64 {
	versions := map[string]int64{}
	for _, h := range line.Histories {
		for i := range h.Operations {
			versions[h.Operations[i].ID] = h.Operations[i].To
		}
	}
	return versions
}

// evidence tells what happened to the coupons.
func (line *Timeline) evidence() (all []Moment) {
	versions := line.versions()
	for i := range line.Histories {
		all = append(all, evidenceOf(&line.Histories[i], versions, line.about)...)
	}
	return all
}

// evidenceOf tells what happened to one coupon, or if orders are given what of it they
// had to do with: their leases and redemptions, from beginning to end.
func evidenceOf(h *coupon.History, versions map[string]int64, about map[string]bool) (all []Moment) {
	theirs := map[string]bool{}
	for i := range h.Operations {
		if o := &h.Operations[i]; about[o.Order] {
			theirs[o.LeaseID], theirs[o.RedemptionID] = true, true
		}
	}
	delete(theirs, "")
	told := func(order, lease, redemption string) bool {
		return about == nil || about[order] || theirs[lease] || theirs[redemption]
	}
	add := func(m Moment) {
		m.Coupon = h.Coupon.ID
		all = append(all, m)
	}
	for i := range h.Operations {
		if o := &h.Operations[i]; told(o.Order, o.LeaseID, o.RedemptionID) {
			add(Moment{At: o.At, Kind: MomentOperation, Order: o.Order, Version: o.To, Operation: o})
		}
	}
	for i := range h.Leases {
		if l := &h.Leases[i]; told(l.Order, l.LeaseID, "") {
			add(Moment{At: l.GrantedAtTime, Kind: MomentLease, Order: l.Order, Version: l.Version, Lease: l})
		}
	}
	for i := range h.Redemptions {
		if r := &h.Redemptions[i]; told(r.Order, "", r.ID) {
			add(Moment{At: r.At, Kind: MomentRedemption, Order: r.Order, Version: versions[r.OperationID], Redemption: r})
		}
	}
	for i := range h.Decisions {
		if d := &h.Decisions[i]; told(d.Order, "", "") {
			add(Moment{At: d.At, Kind: MomentDecision, Order: d.Order, Version: versions[d.OperationID], Decision: d})
		}
	}
	return all
}

// facts tells what upstream said about the orders, and when it was heard.
func (line *Timeline) facts() (all []Moment) {
	for _, o := range line.Orders {
		if o.Placed {
			all = append(all, Moment{At: o.PlacedAt, Kind: MomentPlaced, Order: o.ID, Placed: o})
		}
		for i := range o.Payments {
			p := &o.Payments[i]
			all = append(all, Moment{At: p.At, Kind: MomentPayment, Order: o.ID, Payment: p})
		}
		for i := range o.Closes {
			c := &o.Closes[i]
			all = append(all, Moment{At: c.At, Kind: MomentClose, Order: o.ID, Close: c})
		}
		for i := range o.Refunds {
			r := &o.Refunds[i]
			all = append(all, Moment{At: r.At, Kind: MomentRefund, Order: o.ID, Refund: r})
		}
	}
	for _, r := range line.Receipts {
		all = append(all, Moment{At: r.Done, Kind: MomentMessage, Order: r.Order, Receipt: r})
	}
	return all
}

// commands tells what was asked for and answered. An answer comes right before the
// change that it tells of, and the step of a flow right behind it.
func (line *Timeline) commands() (all []Moment) {
	versions := line.versions()
	for _, a := range line.Commands {
		all = append(all, Moment{
			At: a.Done, Kind: MomentCommand, Order: a.Order, Coupon: a.Coupon, Version: versions[a.Operation], Command: a,
		})
	}
	for i := range line.Flows {
		f := &line.Flows[i]
		all = append(all, Moment{
			At: f.At, Kind: MomentFlow, Order: f.RedeemNo, Coupon: f.Coupon, Version: versions[f.Operation], Flow: f,
		})
	}
	return all
}

// cases tells what people had to look at.
func (line *Timeline) cases() (all []Moment) {
	for i := range line.Reviews {
		r := &line.Reviews[i]
		all = append(all, Moment{At: r.At, Kind: MomentReview, Order: r.Order, Coupon: r.Coupon, Review: r})
		if !r.ResolvedAt.IsZero() {
			all = append(all, Moment{At: r.ResolvedAt, Kind: MomentResolution, Order: r.Order, Coupon: r.Coupon, Review: r})
		}
	}
	return all
}

// handwork tells of messages that people had to look at, and of what people did.
func (line *Timeline) handwork() (all []Moment) {
	for i := range line.Letters {
		l := &line.Letters[i]
		all = append(all, Moment{At: l.Filed, Kind: MomentLetter, Order: l.Order, Letter: l})
		if l.Status != letterNew {
			all = append(all, Moment{At: l.Changed, Kind: MomentLetterEnd, Order: l.Order, Letter: l})
		}
	}
	for i := range line.Audits {
		a := &line.Audits[i]
		m := Moment{At: a.At, Kind: MomentAudit, Audit: a}
		if len(a.Coupons) == 1 {
			m.Coupon = a.Coupons[0]
		}
		if len(a.After) == 1 && !slices.Equal(a.Before, a.After) {
			m.Version = a.After[0].Version
		}
		all = append(all, m)
	}
	return all
}

// letterNew is the status of a dead letter about which nothing was done yet.
const letterNew = "NEW"
