package coupon

import "time"

// QuoteLock leases a free coupon to an order-to-be, as a quote does.
func QuoteLock(w *World, id, order string, deadline time.Time) {
	w.request = &Request{ID: "quote"}
	w.lock(w.coupons[id], grant{order: order, purpose: PurposeQuote, deadline: deadline})
}

// WithdrawFree makes a coupon VOID, as an operator with force does.
func WithdrawFree(w *World, id string) {
	w.request = &Request{ID: "void"}
	c := w.coupons[id]
	c.VoidedFrom = c.State
	row := OperationRow{Operation: Withdraw}
	if c.Lease != nil {
		row.Order, row.LeaseID = c.Lease.Order, c.Lease.ID
		c.Lease = nil
		w.hold(c, -1, -1)
	}
	w.announce(EventVoided, c, w.apply(c, Void, row))
}

// SetStatus gives a template another status, as an operator does.
func SetStatus(w *World, id string, status TemplateStatus) {
	w.templates[id].Status = status
	w.dirtyTemplates[id] = true
}
