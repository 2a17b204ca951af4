package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"couponlease/internal/coupon"
)

// What an export may be about.
const (
	ExportOrders   = "orders"
	ExportPayments = "payments"
	ExportRefunds  = "refunds"
)

// Exported is one row of an export of another system.
type Exported struct {
	// Order is the order's id, ID that of the payment or refund.
	Order, ID string
	// Amount is in minor units; HasAmount says whether the export has one.
	Amount    int64
	HasAmount bool
	// Closed says that the order is over without money.
	Closed bool
	// At is when it happened; zero when the export does not say.
	At time.Time
}

// Export gives the rows of one export, one after the other, until there are none.
type Export struct {
	// Kind is orders, payments or refunds.
	Kind string
	Next func() (row Exported, ok bool, err error)
}

// Upstream are exports of other systems to compare our books with.
type Upstream struct {
	Exports []Export
	Orders  Orders
	// Grace is how long a fact may be on its way to us, or to them.
	Grace time.Duration
	// Since and Until bound what the exports cover: what we know of that time and they do
	// not is a finding. Zero is the earliest and the latest time in the exports.
	Since, Until time.Time
}

// Compared is what exports held.
type Compared struct{ Orders, Payments, Refunds int64 }

// compareChunk is how many rows are compared at once.
const compareChunk = 1000

// maxExported bounds how many rows one export may have: of each, eight bytes are kept.
const maxExported = 50_000_000

// faults are those that the exports can show.
func (u *Upstream) faults() []coupon.Fault {
	faults := []coupon.Fault{coupon.FaultAmountDiffers, coupon.FaultNotUpstream}
	for _, e := range u.Exports {
		switch e.Kind {
		case ExportOrders:
			faults = append(faults, coupon.FaultClosedUpstream)
		case ExportPayments:
			faults = append(faults, coupon.FaultPaidUnknown)
		case ExportRefunds:
			faults = append(faults, coupon.FaultRefundUnknown)
		}
	}
	return faults
}

// comparison is one comparison with all exports.
type comparison struct {
	*Upstream
	moment       coupon.Moment
	found        func(coupon.Finding) error
	since, until time.Time
	compared     Compared
	// seen are marks of what each export names, with flags, sorted once it is read.
	seen map[string][]uint64
}

// comparing begins a comparison.
func (u *Upstream) comparing(moment coupon.Moment, found func(coupon.Finding) error) *comparison {
	return &comparison{Upstream: u, moment: moment, found: found, seen: map[string][]uint64{}}
}

// compare reads all exports and finds what differs.
func (c *comparison) compare(ctx context.Context) error {
	for _, e := range c.Exports {
		if err := c.read(ctx, e); err != nil {
			return fmt.Errorf("compare with the export of %s: %w", e.Kind, err)
		}
		slices.Sort(c.seen[e.Kind])
	}
	return c.missing(ctx)
}

// read compares one export with our books, a chunk at a time.
func (c *comparison) read(ctx context.Context, e Export) error {
	c.seen[e.Kind] = []uint64{}
	chunk := make([]Exported, 0, compareChunk)
	for more := true; more; {
		row, ok, err := e.Next()
		if err != nil {
			return err
		}
		if more = ok; ok {
			chunk = append(chunk, row)
			if len(c.seen[e.Kind])+len(chunk) > maxExported {
				return fmt.Errorf("more than %d rows: export a shorter time", maxExported)
			}
			c.cover(row.At)
		}
		if len(chunk) == compareChunk || !more && len(chunk) > 0 {
			if err := c.chunk(ctx, e.Kind, chunk); err != nil {
				return err
			}
			chunk = chunk[:0]
		}
	}
	return nil
}

// mark stands for a name in as few bytes as are needed to tell millions apart, with room
// for what is remembered besides.
func mark(order, id string) uint64 {
	sum := sha256.Sum256([]byte(order + "\x00" + id))
	return binary.BigEndian.Uint64(sum[:]) &^ flags
}

func (c *comparison) cover(at time.Time) {
	if at.IsZero() {
		return
	}
	if c.since.IsZero() || at.Before(c.since) {
		c.since = at
	}
	if at.After(c.until) {
		c.until = at
	}
}

func (c *comparison) chunk(ctx context.Context, kind string, rows []Exported) error {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].Order
	}
	orders, err := c.Orders.Orders(ctx, ids)
	if err != nil {
		return err
	}
	for i := range rows {
		order := orders[rows[i].Order]
		if order == nil {
			order = &coupon.Order{ID: rows[i].Order}
		}
		c.count(kind)
		c.seen[kind] = append(c.seen[kind], c.marked(kind, &rows[i], order))
		if f := c.row(kind, &rows[i], order); f != nil {
			if err := c.found(*f); err != nil {
				return err
			}
		}
	}
	return nil
}

// marked is the mark of a row with its flags.
func (c *comparison) marked(kind string, row *Exported, o *coupon.Order) uint64 {
	id := row.ID
	if kind == ExportOrders {
		id = "" // an order has no other name
	}
	m := mark(row.Order, id)
	if ours, known := amountOf(kind, row, o); known && row.HasAmount && ours == row.Amount {
		m |= agreed
	}
	if kind == ExportOrders && !row.Closed {
		m |= open
	}
	return m
}

func (c *comparison) count(kind string) {
	switch kind {
	case ExportOrders:
		c.compared.Orders++
	case ExportPayments:
		c.compared.Payments++
	default:
		c.compared.Refunds++
	}
}

// row judges one row of an export against what we know of its order.
func (c *comparison) row(kind string, row *Exported, o *coupon.Order) *coupon.Finding {
	f := &coupon.Finding{Subject: row.Order, Order: row.Order}
	if kind != ExportOrders {
		f.Subject += "/" + row.ID
	}
	young := !row.At.IsZero() && c.moment.Now.Sub(row.At) <= c.Grace
	switch ours, known := amountOf(kind, row, o); {
	case !known && (young || kind == ExportOrders && !row.Closed):
		return nil // it is on its way, or it named no coupon and nobody told us
	case kind == ExportOrders && row.Closed:
		if young || over(o) || !o.Known() {
			return nil
		}
		f.Fault, f.Detail = coupon.FaultClosedUpstream, "closed there, open here"
	case !known && kind == ExportPayments:
		f.Fault, f.Detail = coupon.FaultPaidUnknown, fmt.Sprintf("payment %s of %d is unknown here", row.ID, row.Amount)
	case !known:
		f.Fault, f.Detail = coupon.FaultRefundUnknown, fmt.Sprintf("refund %s of %d is unknown here", row.ID, row.Amount)
	case row.HasAmount && ours != row.Amount:
		f.Fault = coupon.FaultAmountDiffers
		f.Detail = fmt.Sprintf("%s: %d there, %d here", kind, row.Amount, ours)
	default:
		return nil
	}
	return f
}

// amountOf gives what we know of the same thing.
func amountOf(kind string, row *Exported, o *coupon.Order) (amount int64, known bool) {
	switch kind {
	case ExportOrders:
		return o.Payable, o.Placed
	case ExportPayments:
		for i := range o.Payments {
			if o.Payments[i].ID == row.ID {
				return o.Payments[i].Amount, true
			}
		}
	case ExportRefunds:
		for i := range o.Refunds {
			if o.Refunds[i].ID == row.ID {
				return o.Refunds[i].Amount, true
			}
		}
	}
	return 0, false
}

// missing finds what we know, of the time that the exports cover, and they do not.
func (c *comparison) missing(ctx context.Context) error {
	since, until := c.since, c.until
	if !c.Since.IsZero() {
		since = c.Since
	}
	if !c.Until.IsZero() {
		until = c.Until
	}
	covered := func(at time.Time) bool {
		return (since.IsZero() || !at.Before(since)) && (until.IsZero() || !at.After(until)) &&
			c.moment.Now.Sub(at) > c.Grace
	}
	lacks := func(kind, order, id string, at time.Time) error {
		if _, there := c.seen[kind]; !there || !covered(at) {
			return nil
		}
		if _, known := c.lookup(kind, order, id); known {
			return nil
		}
		return c.found(coupon.Finding{
			Fault: coupon.FaultNotUpstream, Subject: kind + "/" + order + "/" + id, Order: order,
			Detail: fmt.Sprintf("known here since %s, and not in the export of %s", at.UTC().Format(time.RFC3339), kind),
		})
	}
	return c.Orders.EachOrder(ctx, func(o *coupon.Order) error {
		if o.Placed {
			if err := lacks(ExportOrders, o.ID, "", o.PlacedAt); err != nil {
				return err
			}
		}
		for i := range o.Payments {
			if err := lacks(ExportPayments, o.ID, o.Payments[i].ID, o.Payments[i].At); err != nil {
				return err
			}
		}
		for i := range o.Refunds {
			if err := lacks(ExportRefunds, o.ID, o.Refunds[i].ID, o.Refunds[i].At); err != nil {
				return err
			}
		}
		return nil
	})
}
