package store

import (
	"github.com/jackc/pgx/v5"

	"couponlease/internal/coupon"
)

// merge goes through the rows and the ledger of one range of coupons side by side; both
// come in the order of ids. Memory holds the rows of the range, of the ledger one row.
type merge struct {
	found func(LedgerKind, string)

	raw  rawRow
	rows []ledgerCoupon
	next int // the first of rows that was not compared yet

	operation  coupon.OperationRow
	id         string // whose ledger is being folded, "" before the first
	folded     coupon.Folded
	kind       LedgerKind // what is wrong with that ledger, "" if nothing is
	err        error
	comparable comparable
	operations int64
}

// row takes a row of user_coupon.
func (m *merge) row(rows pgx.Rows) error {
	m.rows = append(m.rows, m.raw.coupon(rows.RawValues()))
	return m.raw.err
}

// ledger takes a row of the ledger.
func (m *merge) ledger(rows pgx.Rows) error {
	o := &m.operation
	m.raw.operation(rows.RawValues(), o)
	if m.raw.err != nil {
		return m.raw.err
	}
	if o.Coupon != m.id {
		m.close()
		m.id, m.folded, m.kind, m.err = o.Coupon, coupon.Folded{}, "", nil
	}
	m.operations++
	if m.err != nil {
		return nil // what follows a broken row says nothing
	}
	if m.err = m.folded.Add(o); m.err != nil {
		m.kind = kindOf(m.folded.Version, o)
	}
	return nil
}

// kindOf says how a row does not follow from those before, which end at a version.
func kindOf(version int64, o *coupon.OperationRow) LedgerKind {
	switch {
	case o.From > version:
		return LedgerGap
	case o.To <= version:
		return LedgerFork
	default:
		return LedgerImpossible
	}
}

// close compares the ledger that has been folded with its row.
func (m *merge) close() {
	if m.id == "" {
		return
	}
	for m.next < len(m.rows) && m.rows[m.next].id < m.id {
		m.found(LedgerNone, m.rows[m.next].id)
		m.next++
	}
	if m.next == len(m.rows) || m.rows[m.next].id != m.id {
		m.found(LedgerNoRow, m.id)
		return
	}
	if violations := coupon.CheckReplay(m.comparable.of(&m.rows[m.next]), m.folded, m.err); len(violations) > 0 {
		if m.kind == "" {
			m.kind = LedgerDiffers
		}
		m.found(m.kind, m.id)
	}
	m.next++
}

// end closes the range and makes ready for the next one.
func (m *merge) end() (coupons, operations int64) {
	m.close()
	for ; m.next < len(m.rows); m.next++ {
		m.found(LedgerNone, m.rows[m.next].id)
	}
	coupons, operations = int64(len(m.rows)), m.operations
	m.rows, m.next, m.id, m.operations = m.rows[:0], 0, "", 0
	return coupons, operations
}
