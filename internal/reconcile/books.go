package reconcile

import (
	"context"
	"time"

	"couponlease/internal/coupon"
)

// Books is what a run reads, and where it writes down what it finds.
type Books interface {
	Orders
	// Now is the database's time.
	Now(ctx context.Context) (time.Time, error)
	// Suspects shows everything that may have a fault.
	Suspects(ctx context.Context, options SuspectOptions, visitor Visitor) (Looked, error)
	// StartRun notes that a run begins, KeepFindings what it finds, and EndRun that it is
	// over: open findings of faults of our own books that it has looked for and not found
	// are closed, besides the run.Closed that were before.
	StartRun(ctx context.Context, run Run) error
	KeepFindings(ctx context.Context, run string, findings []coupon.Finding) (opened int64, err error)
	EndRun(ctx context.Context, run Run) (closed int64, err error)
	// CloseFindings closes those of the findings that are open and that the run has not
	// found.
	CloseFindings(ctx context.Context, run Run, ids []string) (closed int64, err error)
	// Findings lists findings in the order of their ids.
	Findings(ctx context.Context, filter FindingFilter) ([]Record, error)
	// NoteRepair keeps what the engine answered about a finding.
	NoteRepair(ctx context.Context, finding string, answer string) error
}

// Orders gives what is known of orders, for the comparison with other systems.
type Orders interface {
	// Orders gives those of the orders of which something is known.
	Orders(ctx context.Context, ids []string) (map[string]*coupon.Order, error)
	// EachOrder visits all orders as of one moment; an error of visit ends it.
	EachOrder(ctx context.Context, visit func(*coupon.Order) error) error
}

// Visitor is shown what may have a fault, as of one moment. An error of any function
// ends the walk.
type Visitor struct {
	Coupon func(coupon.Books) error
	Order  func(coupon.OrderBooks) error
	// Template is shown every template with its counters and what they should say; of
	// persons only those whose counter is wrong.
	Template func(t coupon.Template, uses []*coupon.Uses, claims []*coupon.Claims, truth coupon.Usage) error
	// Waiting is shown rows of the outbox that have waited for long.
	Waiting func(payload []byte, since time.Time) error
}

// SuspectOptions shape a walk.
type SuspectOptions struct {
	Moment coupon.Moment
	// Range is about how many coupons or orders one statement looks at; 0 is 50,000.
	Range int
	// AtLeisure makes the walk rest as long as it works.
	AtLeisure bool
	// Progress is told how many coupons and orders of about total have been looked at;
	// nil tells nobody.
	Progress func(done, total int64)
}

// Looked is how much a walk has looked at, and how much of it was read whole.
type Looked struct {
	Coupons, Orders               int64
	SuspectCoupons, SuspectOrders int64
	Templates, Waiting            int64
}

// Run is one run of reconciliation.
type Run struct {
	ID, Actor string
	// Faults are those that it looks for.
	Faults            []coupon.Fault
	Started, Finished time.Time
	Coupons, Orders   int64
	Found, Opened     int64
	Closed, Repaired  int64
}

// Record is a finding as it is kept.
type Record struct {
	ID string
	coupon.Finding
	Severity coupon.Severity
	// First is when it was seen first since it was last gone, Last when it was seen
	// last, Closed when it was gone; zero while it is open.
	First, Last, Closed time.Time
	// Seen counts the runs that found it.
	Seen int64
	// Repair is what the engine last answered about it; "" when it was not asked.
	Repair string
}

// FindingFilter selects findings; zero fields select everything.
type FindingFilter struct {
	ID       string
	Fault    coupon.Fault
	Severity coupon.Severity
	// Run selects what this run has found.
	Run           string
	Order, Coupon string
	OpenOnly      bool
	// After is the id of the last finding of the page before.
	After string
	// Limit bounds the answer; zero is one page.
	Limit int
}
