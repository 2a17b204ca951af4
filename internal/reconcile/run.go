package reconcile

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"couponlease/internal/coupon"
	"couponlease/internal/outbox"
)

// RunOptions shape a run.
type RunOptions struct {
	// Actor is who runs it.
	Actor    string
	Patience coupon.Patience
	// Range, AtLeisure and Progress are those of SuspectOptions.
	Range     int
	AtLeisure bool
	Progress  func(done, total int64)
	// Upstream are exports of other systems to compare with; nil compares with none.
	Upstream *Upstream
	// Stocks are compared with the books; nil compares none.
	Stocks Stocks
	// Found is told every finding; nil tells nobody.
	Found func(coupon.Finding)
	// Repair asks for what findings can be repaired by; nil repairs nothing.
	Repair *Repair
}

// Summary is what a run has done.
type Summary struct {
	Run
	Looked Looked
	// ByFault counts the findings.
	ByFault map[coupon.Fault]int64
	// Repairs counts what the engine answered to repairs.
	Repairs map[string]int64
	// Compared is what the exports held.
	Compared Compared
	// Unchecked are faults of our own that were not looked for, and why.
	Unchecked map[coupon.Fault]string
}

// keepChunk is how many findings are written down at once.
const keepChunk = 500

// Reconcile judges the books, writes down what it finds, closes what is gone, and repairs
// what can be.
func Reconcile(ctx context.Context, books Books, o RunOptions) (Summary, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Summary{}, fmt.Errorf("draw the id of a run: %w", err)
	}
	drifts, why := o.stocked(ctx) // which takes its time
	now, err := books.Now(ctx)
	if err != nil {
		return Summary{}, err
	}
	r := &running{books: books, options: o, summary: Summary{
		Run:     Run{ID: id.String(), Actor: o.Actor, Faults: coupon.OwnFaults(), Started: now},
		ByFault: map[coupon.Fault]int64{}, Repairs: map[string]int64{}, Unchecked: map[coupon.Fault]string{},
	}}
	if why != "" {
		r.summary.Unchecked[coupon.FaultQuotaDrift] = why
		r.summary.Faults = slices.DeleteFunc(r.summary.Faults, func(f coupon.Fault) bool { return f == coupon.FaultQuotaDrift })
	}
	if o.Upstream != nil {
		r.summary.Faults = append(r.summary.Faults, o.Upstream.faults()...)
	}
	if err := books.StartRun(ctx, r.summary.Run); err != nil {
		return r.summary, err
	}
	for _, drift := range drifts {
		if err := r.add(ctx, drift); err != nil {
			return r.summary, err
		}
	}
	err = r.run(ctx, coupon.Moment{Now: now, Patience: o.Patience})
	return r.summary, err
}

type running struct {
	books   Books
	options RunOptions
	summary Summary
	found   []coupon.Finding
}

func (r *running) run(ctx context.Context, moment coupon.Moment) error {
	looked, err := r.books.Suspects(ctx, SuspectOptions{
		Moment: moment, Range: r.options.Range, AtLeisure: r.options.AtLeisure, Progress: r.options.Progress,
	}, r.visitor(ctx, moment))
	if err != nil {
		return err
	}
	s := &r.summary
	s.Looked, s.Coupons, s.Orders = looked, looked.Coupons, looked.Orders
	if err := r.compare(ctx, moment); err != nil {
		return err
	}
	if r.options.Repair != nil {
		if s.Repaired, err = r.options.Repair.run(ctx, r.books, r.options.Stocks, s); err != nil {
			return err
		}
	}
	gone, err := r.books.EndRun(ctx, s.Run)
	if err != nil {
		return err
	}
	s.Closed += gone
	s.Finished, err = r.books.Now(ctx)
	return err
}

// compare compares with the exports, if there are any, writes down what was found so far,
// and closes what the exports show to be gone.
func (r *running) compare(ctx context.Context, moment coupon.Moment) (err error) {
	upstream := r.options.Upstream
	if upstream == nil {
		upstream = &Upstream{Orders: r.books} // what came meanwhile is known without exports
	}
	c := upstream.comparing(moment, func(f coupon.Finding) error { return r.add(ctx, f) })
	if len(upstream.Exports) > 0 {
		err = c.compare(ctx)
		r.summary.Compared = c.compared
	}
	if err != nil {
		return err
	}
	if err := r.keep(ctx); err != nil {
		return err
	}
	r.summary.Closed, err = c.close(ctx, r.books, r.summary.Run)
	return err
}

// visitor judges what it is shown.
func (r *running) visitor(ctx context.Context, moment coupon.Moment) Visitor {
	all := func(findings []coupon.Finding) error {
		for _, f := range findings {
			if err := r.add(ctx, f); err != nil {
				return err
			}
		}
		return nil
	}
	return Visitor{
		Coupon: func(b coupon.Books) error { return all(coupon.JudgeCoupon(b, moment)) },
		Order:  func(b coupon.OrderBooks) error { return all(coupon.JudgeOrder(b, moment)) },
		Template: func(t coupon.Template, uses []*coupon.Uses, claims []*coupon.Claims, truth coupon.Usage) error {
			return all(coupon.JudgeTemplate(&t, uses, claims, truth))
		},
		Waiting: func(payload []byte, since time.Time) error { return all(unpublished(payload, since)) },
	}
}

// unpublished gives the returns that a row of the outbox still has to tell.
func unpublished(payload []byte, since time.Time) []coupon.Finding {
	messages, err := outbox.DecodeRow(payload)
	if err != nil {
		return nil // a row of a newer program, which its relay publishes
	}
	var findings []coupon.Finding
	for i := range messages {
		m := &messages[i]
		if !strings.HasPrefix(m.Type, "coupon.returned.") && !strings.HasPrefix(m.Type, "coupon.retired.") {
			continue
		}
		var about struct {
			Coupon string `json:"couponId"`
			Order  string `json:"orderId"`
		}
		_ = json.Unmarshal(m.Body, &about) // a body of another form tells less
		findings = append(findings, coupon.Finding{
			Fault: coupon.FaultReturnNotPublished, Subject: m.ID, Coupon: about.Coupon, Order: about.Order,
			Detail: fmt.Sprintf("event %s has waited to be published since %s", m.Type, since.UTC().Format(time.RFC3339)),
		})
	}
	return findings
}

func (r *running) add(ctx context.Context, f coupon.Finding) error {
	r.summary.ByFault[f.Fault]++
	r.summary.Found++
	if r.options.Found != nil {
		r.options.Found(f)
	}
	if r.found = append(r.found, f); len(r.found) < keepChunk {
		return nil
	}
	return r.keep(ctx)
}

func (r *running) keep(ctx context.Context) error {
	if len(r.found) == 0 {
		return nil
	}
	opened, err := r.books.KeepFindings(ctx, r.summary.ID, r.found)
	r.summary.Opened += opened
	r.found = slices.Delete(r.found, 0, len(r.found))
	return err
}
