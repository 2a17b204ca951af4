package store

import (
	"encoding/binary"
	"fmt"
	"time"

	"couponlease/internal/coupon"
)

// rawRow reads the columns of a row straight from the wire, in order: a ledger has
// millions of them. A text is made anew only when it differs from that of the row
// before, and ids stay the 16 bytes that they are: they are compared, not shown.
type rawRow struct {
	values [][]byte
	column int
	// last has the texts of the row before, by column.
	last []string
	err  error
}

// begin turns to the next row.
func (r *rawRow) begin(values [][]byte) {
	r.values, r.column = values, 0
	if len(r.last) != len(values) {
		r.last = make([]string, len(values))
	}
}

func (r *rawRow) next() []byte {
	r.column++
	return r.values[r.column-1]
}

// text gives a text or an id; null is "".
func (r *rawRow) text() string {
	raw := r.next()
	last := &r.last[r.column-1]
	if string(raw) != *last {
		*last = string(raw)
	}
	return *last
}

func (r *rawRow) int() int64 {
	raw := r.next()
	if len(raw) != 8 {
		r.err = fmt.Errorf("column %d has %d bytes, not 8", r.column, len(raw))
		return 0
	}
	return int64(binary.BigEndian.Uint64(raw))
}

// time gives the zero time for null.
func (r *rawRow) time() time.Time {
	if r.values[r.column] == nil {
		r.column++
		return time.Time{}
	}
	return time.UnixMicro(epoch.UnixMicro() + r.int()).UTC()
}

// coupon reads the columns of verify_coupons.sql.
func (r *rawRow) coupon(values [][]byte) (c ledgerCoupon) {
	r.begin(values)
	c.id, c.state, c.version, c.validUntil = r.text(), coupon.State(r.text()), r.int(), r.time()
	c.leases, c.cycle = r.int(), r.int()
	c.lease, c.leaseOrder, c.redemption, c.redemptionOrder = r.text(), r.text(), r.text(), r.text()
	return c
}

// operation reads the columns of verify_ledger.sql.
func (r *rawRow) operation(values [][]byte, o *coupon.OperationRow) {
	r.begin(values)
	o.Coupon, o.From, o.To, o.Operation = r.text(), r.int(), r.int(), coupon.Operation(r.text())
	o.FromState, o.ToState, o.ValidUntil = coupon.State(r.text()), coupon.State(r.text()), r.time()
	o.Order, o.LeaseID, o.RedemptionID, o.ID, o.Original = r.text(), r.text(), r.text(), r.text(), r.text()
}

// ledgerCoupon is what the ledger has to give of a coupon.
type ledgerCoupon struct {
	id                string
	state             coupon.State
	version           int64
	validUntil        time.Time
	leases, cycle     int64
	lease, leaseOrder string
	redemption        string
	redemptionOrder   string
}

// comparable gives rows on which the core compares; they are used again and again.
type comparable struct {
	coupon     coupon.Coupon
	lease      coupon.Lease
	redemption coupon.Redemption
}

func (c *comparable) of(row *ledgerCoupon) *coupon.Coupon {
	c.lease = coupon.Lease{ID: row.lease, Order: row.leaseOrder}
	c.redemption = coupon.Redemption{ID: row.redemption, Order: row.redemptionOrder}
	c.coupon = coupon.Coupon{
		ID: row.id, State: row.state, Version: row.version, ValidUntil: row.validUntil, Leases: row.leases, Cycle: row.cycle,
	}
	if row.lease != "" {
		c.coupon.Lease = &c.lease
	}
	if row.redemption != "" {
		c.coupon.Redemption = &c.redemption
	}
	return &c.coupon
}
