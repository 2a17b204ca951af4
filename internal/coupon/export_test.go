package coupon

// LockUnasked leases a coupon without asking whether it is free.
func LockUnasked(w *World, id string) {
	w.request = &Request{ID: "unasked"}
	w.lock(w.coupons[id], grant{order: "A", purpose: PurposeOrder})
}

// SetStatus gives a template another status, as an operator does.
func SetStatus(w *World, id string, status TemplateStatus) {
	w.templates[id].Status = status
	w.dirtyTemplates[id] = true
}
