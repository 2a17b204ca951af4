package deadletter

import "time"

// Filter selects letters; zero fields select everything. Its JSON form is what the
// database matches and what jobs and the audit log keep.
type Filter struct {
	Type   string `json:"type,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Group is a fingerprint.
	Group string `json:"group,omitempty"`
	// Coupon is a folded code.
	Coupon string `json:"coupon,omitempty"`
	Order  string `json:"order,omitempty"`
	// Since is the first time of the last failure, Until the first one no longer wanted.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// Text is a message id, part of an error in any letter case, or part of a body.
	Text string `json:"text,omitempty"`
	// Attempts is the least number of them.
	Attempts int64    `json:"attempts,omitempty"`
	States   []Status `json:"states,omitempty"`
	// IDs are all letters that are meant, when there are any.
	IDs []string `json:"ids,omitempty"`
}

// Bulk says that the filter names no letters one by one.
func (f *Filter) Bulk() bool { return len(f.IDs) == 0 }

// Decision is who changes letters or jobs by hand, and why.
type Decision struct {
	Actor, Reason string
}
