package console

import (
	"context"
	"fmt"
	"slices"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/store"
)

// Timeline is everything that ever touched a coupon, or an order, in order.
type Timeline struct {
	// Coupon is the coupon whose timeline it is; zero in that of an order.
	Coupon CouponView `json:"coupon,omitzero"`
	// Orders are the orders whose timeline it is, with those that are linked to them, and
	// Coupons those that they had to do with; none in that of a coupon.
	Orders  []OrderView  `json:"orders,omitempty"`
	Coupons []CouponView `json:"coupons,omitempty"`
	// Waiting is how many outbox rows that speak of the coupon await publication.
	Waiting int64   `json:"outboxRowsWaiting"`
	Entries []Entry `json:"entries"`
	// Next is how many entries to skip for those that follow; 0 when there are none.
	Next int `json:"next,omitempty"`
	// Cut says that more is known than a timeline holds.
	Cut bool `json:"cut,omitempty"`
	// Reviews are the cases that people had or have to look at.
	Reviews []ReviewView `json:"reviews"`
}

// OrderView is one order as far as upstream has told of it.
type OrderView struct {
	ID string `json:"id"`
	// Placed is false for an order that others only spoke of, a quote, or a redemption at
	// a till.
	Placed   bool   `json:"placed"`
	Customer string `json:"customer,omitempty"`
	Currency string `json:"currency,omitempty"`
	// Amounts are in minor units; Paid and Refunded are the sums so far.
	Payable  int64 `json:"payable"`
	Paid     int64 `json:"paid"`
	Refunded int64 `json:"refunded"`
	Closed   bool  `json:"closed,omitempty"`
	// Links are its parent, its parts and its successors.
	Links []string `json:"links,omitempty"`
}

// ReviewView is one case for a person.
type ReviewView struct {
	ID         string              `json:"id"`
	Order      string              `json:"order"`
	Reason     coupon.ReviewReason `json:"reason"`
	Suggestion string              `json:"suggestion,omitempty"`
	OpenedAt   time.Time           `json:"openedAt"`
	// ResolvedAt is zero while the case is open.
	ResolvedAt time.Time `json:"resolvedAt,omitzero"`
	Resolution string    `json:"resolution,omitempty"`
}

// Entry is one thing that happened.
type Entry struct {
	// At is when: facts of orders have the time at which they occurred, everything
	// else the time at which it was decided.
	At   time.Time        `json:"at"`
	Kind store.MomentKind `json:"kind"`
	// Version is the coupon's version afterwards, 0 for what did not change it.
	Version int64 `json:"version,omitempty"`
	// What happened, to or by Order, sent by Who, and Why.
	What  string `json:"what"`
	Order string `json:"order,omitempty"`
	// CouponID is told in the timeline of an order.
	CouponID string `json:"couponId,omitempty"`
	Who      string `json:"who,omitempty"`
	Why      string `json:"why,omitempty"`
	// Lease is the lease that an operation granted or renewed, OperationID the
	// operation, RedemptionID the redemption that it began or ended.
	Lease        *LeaseView `json:"lease,omitempty"`
	OperationID  string     `json:"operationId,omitempty"`
	RedemptionID string     `json:"redemptionId,omitempty"`
	// MessageID is the message that led to it.
	MessageID string `json:"messageId,omitempty"`
	// LetterID is the dead letter that an entry tells of.
	LetterID string `json:"deadLetterId,omitempty"`
}

// Reviewed says whether a person was asked to look at an order for a reason.
func (t Timeline) Reviewed(order string, reason coupon.ReviewReason) bool {
	return slices.ContainsFunc(t.Reviews, func(r ReviewView) bool { return r.Order == order && r.Reason == reason })
}

// MaxTimeline bounds the entries of one page of a timeline.
const MaxTimeline = 10_000

// TimelineQuery says whose timeline is read; exactly one of the first three is set.
type TimelineQuery struct {
	// Code is that of a coupon, Order an order, a quote or a redeem number, and Payment a
	// payment, of which all orders that it paid are told.
	Code, Order, Payment string
	// Skip leaves out entries of pages before; Limit bounds the entries, 1 to MaxTimeline.
	Skip, Limit int
}

// Timeline reads everything that touched the coupon with the given code. found is
// false when neither a coupon nor an order that named it is known.
func (d *Database) Timeline(ctx context.Context, code string) (line Timeline, found bool, err error) {
	return d.TimelineOf(ctx, TimelineQuery{Code: code, Limit: MaxTimeline})
}

// TimelineOf reads one page of what touched a coupon, an order or a payment; found is
// false when nothing is known of it.
func (d *Database) TimelineOf(ctx context.Context, q TimelineQuery) (line Timeline, found bool, err error) {
	if q.Skip < 0 || q.Limit < 1 || q.Limit > MaxTimeline {
		return line, false, Usage(fmt.Errorf("%d entries after %d: choose 1 to %d, and skip none or more",
			q.Limit, q.Skip, MaxTimeline))
	}
	var read *store.Timeline
	line = Timeline{Entries: []Entry{}, Reviews: []ReviewView{}}
	switch {
	case q.Order != "":
		read, err = d.store.OrderTimeline(ctx, q.Order)
	case q.Payment != "":
		read, err = d.store.PaymentTimeline(ctx, q.Payment)
	default:
		id := coupon.Fold(q.Code)
		read, found, err = d.store.Timeline(ctx, id)
		line.Coupon.ID = id
	}
	if err != nil || !found && len(read.Moments) == 0 {
		return Timeline{}, false, err
	}
	line.tell(read, q)
	return line, true, nil
}

// tell puts into words what was read.
func (t *Timeline) tell(read *store.Timeline, q TimelineQuery) {
	isCoupon := t.Coupon.ID != ""
	t.Waiting, t.Cut = read.Outbox, read.Cut
	for i := range read.Histories {
		view := viewOf(read.Histories[i].Coupon)
		if isCoupon {
			t.Coupon = view
		} else {
			t.Coupons = append(t.Coupons, view)
		}
	}
	if !isCoupon {
		for _, o := range read.Orders {
			t.Orders = append(t.Orders, orderView(o))
		}
		if len(t.Orders) == 0 && q.Order != "" {
			t.Orders = []OrderView{{ID: q.Order}} // a quote, or a redemption at a till
		}
	}
	for _, r := range read.Reviews {
		t.Reviews = append(t.Reviews,
			ReviewView{r.ID, r.Order, r.Reason, r.Suggestion, r.At, r.ResolvedAt, r.Resolution})
	}
	leases := leasesByVersion(read.Histories)
	for i := range read.Moments {
		m := &read.Moments[i]
		if m.Kind == store.MomentLease || m.Kind == store.MomentRedemption {
			continue // told with the operation that made it
		}
		e := entryOf(m)
		if l := leases[couponVersion{m.Coupon, m.Version}]; l != nil && m.Kind == store.MomentOperation {
			e.Lease = &LeaseView{l.LeaseID, l.Order, l.Purpose, l.Deadline, l.Version}
			e.What += leaseText(l)
		}
		if !isCoupon {
			e.CouponID = m.Coupon
		}
		t.Entries = append(t.Entries, e)
	}
	t.Entries = t.Entries[min(q.Skip, len(t.Entries)):]
	if len(t.Entries) > q.Limit {
		t.Entries, t.Next = t.Entries[:q.Limit], q.Skip+q.Limit
	}
}

// couponVersion is one change of one coupon.
type couponVersion struct {
	coupon  string
	version int64
}

func leasesByVersion(histories []coupon.History) map[couponVersion]*coupon.LeaseRow {
	leases := map[couponVersion]*coupon.LeaseRow{}
	for _, h := range histories {
		for i := range h.Leases {
			leases[couponVersion{h.Coupon.ID, h.Leases[i].Version}] = &h.Leases[i]
		}
	}
	return leases
}

func orderView(o *coupon.Order) OrderView {
	view := OrderView{
		ID: o.ID, Placed: o.Placed, Customer: o.Customer, Currency: o.Currency, Payable: o.Payable, Links: o.Links(),
	}
	for _, p := range o.Payments {
		view.Paid += p.Amount
	}
	for _, r := range o.Refunds {
		view.Refunded += r.Amount
	}
	view.Closed = slices.ContainsFunc(o.Closes, func(c coupon.Close) bool { return !c.Attempt() })
	return view
}
