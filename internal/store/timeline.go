package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/coupon"
)

// maxTimeline bounds each list of a timeline.
const maxTimeline = 10_000

// Timeline is everything that ever touched a coupon.
type Timeline struct {
	History coupon.History
	// Orders are those that named the coupon and all that are linked to them, by id.
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
	// Outbox is how many rows that wait to be published speak of the coupon.
	Outbox int64
	// Moments is all of the above in the order of time.
	Moments []Moment
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
)

var momentOrder = []MomentKind{
	MomentPlaced, MomentPayment, MomentClose, MomentRefund, MomentMessage, MomentCommand, MomentOperation, MomentLease,
	MomentRedemption, MomentDecision, MomentFlow, MomentReview, MomentResolution,
}

// Moment is one thing that happened. Facts of orders have the time at which they
// occurred, everything else the time at which it was decided.
type Moment struct {
	At   time.Time
	Kind MomentKind
	// Order is the order it was about, "" for none.
	Order string
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
}

// Timeline reads everything that touched a coupon, as of one moment, and whether there
// is such a coupon. Orders may have named a coupon that never existed.
func (s *Store) Timeline(ctx context.Context, couponID string) (line *Timeline, found bool, err error) {
	line = &Timeline{}
	err = s.inSnapshot(ctx, func(ctx context.Context, v *snapshot) error {
		if line.History, found, err = v.history(ctx, couponID); err != nil {
			return err
		}
		return v.around(ctx, couponID, line)
	})
	if err != nil {
		return nil, false, fmt.Errorf("read the timeline of coupon %s: %w", couponID, err)
	}
	line.Moments = line.moments()
	return line, found, nil
}

// around reads what is not kept with the coupon itself.
func (v *snapshot) around(ctx context.Context, couponID string, line *Timeline) error {
	var named, linked []string
	t := &trip{}
	t.query("read orders that named it", timelineOrdersSQL, list(&named, scanText), couponID, maxTimeline)
	t.query("search the outbox", timelineOutboxSQL, func(rows pgx.Rows) error { return rows.Scan(&line.Outbox) },
		couponID, maxTimeline)
	if err := v.send(ctx, t); err != nil {
		return err
	}
	t = &trip{}
	t.query("follow the links of orders", linkOrdersSQL, list(&linked, scanText), texts(named), maxTimeline)
	if err := v.send(ctx, t); err != nil {
		return err
	}
	orders, err := v.orders(ctx, linked)
	if err != nil {
		return err
	}
	line.Orders = orders
	t = &trip{}
	t.query("read reviews", timelineReviewsSQL, list(&line.Reviews, scanReviewRow), couponID, texts(linked), maxTimeline)
	t.query("read the inbox", timelineReceiptsSQL, list(&line.Receipts, scanReceiptRow), texts(linked),
		line.causes(), maxTimeline)
	t.query("read commands", timelineCommandsSQL, list(&line.Commands, scanAnswerRow), couponID, texts(linked),
		maxTimeline)
	t.query("read the steps of redemptions", timelineFlowsSQL, list(&line.Flows, scanFlowRow), couponID, maxTimeline)
	return v.send(ctx, t)
}

func scanText(row scanTarget) (s string, err error) {
	err = row.Scan(&s)
	return s, err
}

// causes lists the messages behind the operations.
func (line *Timeline) causes() texts {
	causes := texts{}
	for i := range line.History.Operations {
		if cause := line.History.Operations[i].Cause; cause != "" {
			causes = append(causes, cause)
		}
	}
	return causes
}

func (line *Timeline) moments() []Moment {
	all := slices.Concat(line.evidence(), line.facts(), line.commands(), line.cases())
	slices.SortStableFunc(all, func(a, b Moment) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Version, b.Version),
			cmp.Compare(slices.Index(momentOrder, a.Kind), slices.Index(momentOrder, b.Kind)))
	})
	return all
}

// versions gives the version that each operation produced.
func (line *Timeline) versions() map[string]int64 {
	versions := make(map[string]int64, len(line.History.Operations))
	for i := range line.History.Operations {
		versions[line.History.Operations[i].ID] = line.History.Operations[i].To
	}
	return versions
}

// evidence tells what happened to the coupon.
func (line *Timeline) evidence() (all []Moment) {
	h := &line.History
	versions := line.versions()
	for i := range h.Operations {
		o := &h.Operations[i]
		all = append(all, Moment{At: o.At, Kind: MomentOperation, Order: o.Order, Version: o.To, Operation: o})
	}
	for i := range h.Leases {
		l := &h.Leases[i]
		all = append(all, Moment{At: l.GrantedAtTime, Kind: MomentLease, Order: l.Order, Version: l.Version, Lease: l})
	}
	for i := range h.Redemptions {
		r := &h.Redemptions[i]
		all = append(all, Moment{
			At: r.At, Kind: MomentRedemption, Order: r.Order, Version: versions[r.OperationID], Redemption: r,
		})
	}
	for i := range h.Decisions {
		d := &h.Decisions[i]
		all = append(all, Moment{
			At: d.At, Kind: MomentDecision, Order: d.Order, Version: versions[d.OperationID], Decision: d,
		})
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
			At: a.Done, Kind: MomentCommand, Order: a.Order, Version: versions[a.Operation], Command: a,
		})
	}
	for i := range line.Flows {
		f := &line.Flows[i]
		all = append(all, Moment{
			At: f.At, Kind: MomentFlow, Order: f.RedeemNo, Version: versions[f.Operation], Flow: f,
		})
	}
	return all
}

// cases tells what people had to look at.
func (line *Timeline) cases() (all []Moment) {
	for i := range line.Reviews {
		r := &line.Reviews[i]
		all = append(all, Moment{At: r.At, Kind: MomentReview, Order: r.Order, Review: r})
		if !r.ResolvedAt.IsZero() {
			all = append(all, Moment{At: r.ResolvedAt, Kind: MomentResolution, Order: r.Order, Review: r})
		}
	}
	return all
}
