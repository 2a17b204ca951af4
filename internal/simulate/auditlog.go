package simulate

import (
	"context"
	"slices"

	"couponlease/internal/coupon"
)

// keepAudits adds what people did by hand.
func (l *Ledger) keepAudits(rows []*coupon.AuditRow) {
	for _, row := range rows {
		kept := *row
		kept.ID = int64(len(l.audits) + 1)
		l.audits = append(l.audits, kept)
	}
}

// AuditLog lists what people did by hand, newest first.
func (l *Ledger) AuditLog(_ context.Context, filter coupon.AuditFilter) ([]coupon.AuditRow, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var rows []coupon.AuditRow
	for _, row := range slices.Backward(l.audits) {
		if filter.Limit > 0 && len(rows) == filter.Limit {
			break
		}
		if filter.Selects(&row) {
			rows = append(rows, row)
		}
	}
	return rows, nil
}
