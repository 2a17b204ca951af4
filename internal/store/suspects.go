package store

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/coupon"
	"couponlease/internal/reconcile"
)

var (
	//go:embed sql/suspect_coupons.sql
	suspectCouponsSQL string
	//go:embed sql/suspect_orders.sql
	suspectOrdersSQL string
	//go:embed sql/suspect_templates.sql
	suspectTemplatesSQL string
	//go:embed sql/suspect_plans.sql
	suspectPlansSQL string
	//go:embed sql/suspect_outbox.sql
	suspectOutboxSQL string
	//go:embed sql/bound_coupons.sql
	boundCouponsSQL string
	//go:embed sql/bound_orders.sql
	boundOrdersSQL string
	//go:embed sql/books_size.sql
	booksSizeSQL string
	//go:embed sql/bound_count_coupons.sql
	countCouponsSQL string
	//go:embed sql/bound_count_orders.sql
	countOrdersSQL string
)

// maxWaiting bounds how many rows of the outbox are looked into.
const maxWaiting = 1000

var _ reconcile.Books = (*Store)(nil)

// Suspects implements reconcile.Books. Statements look at ranges of ids and find what may
// have a fault; only that is read whole. Memory holds the suspects of one range by their
// ids, and a page of them whole.
func (s *Store) Suspects(
	ctx context.Context, o reconcile.SuspectOptions, visitor reconcile.Visitor,
) (reconcile.Looked, error) {
	w := &faultWalk{options: o, visitor: visitor}
	err := s.inSnapshot(ctx, func(ctx context.Context, v *snapshot) error {
		w.snapshot = v
		return w.run(ctx)
	})
	if err != nil {
		return w.looked, fmt.Errorf("look for faults: %w", err)
	}
	return w.looked, nil
}

type faultWalk struct {
	*snapshot
	options reconcile.SuspectOptions
	visitor reconcile.Visitor
	looked  reconcile.Looked
	total   int64
}

func (w *faultWalk) run(ctx context.Context) error {
	if err := w.atLeisure(ctx); err != nil {
		return err
	}
	t := &trip{}
	t.exec("set the style of plans", suspectPlansSQL)
	t.query("ask for the size", booksSizeSQL, func(rows pgx.Rows) error {
		var coupons, orders int64
		err := rows.Scan(&coupons, &orders)
		w.total = max(coupons, 0) + max(orders, 0)
		return err
	})
	if err := w.read(ctx, t); err != nil {
		return err
	}
	late := w.options.Moment.Now.Add(-w.options.Moment.Lease)
	coupons := section{
		name: "coupons", bound: boundCouponsSQL, suspects: suspectCouponsSQL, args: []any{late},
		count: countCouponsSQL, show: w.showCoupons, seen: &w.looked.Coupons, found: &w.looked.SuspectCoupons,
	}
	orders := section{
		name: "orders", bound: boundOrdersSQL, suspects: suspectOrdersSQL, count: countOrdersSQL,
		show: w.showOrders, seen: &w.looked.Orders, found: &w.looked.SuspectOrders,
	}
	for _, part := range []section{coupons, orders} {
		if err := w.walk(ctx, part); err != nil {
			return err
		}
	}
	if err := w.templates(ctx); err != nil {
		return err
	}
	return w.waiting(ctx)
}

// read makes a round trip with statements that may read much.
func (w *faultWalk) read(ctx context.Context, t *trip) error {
	return t.sendWithin(ctx, leisure+patience, w.conn)
}

// section is one table that is walked by ranges of ids.
type section struct {
	name            string
	bound, suspects string
	// args are those of suspects behind the range.
	args []any
	// count is the length of the last range.
	count       string
	show        func(ctx context.Context, ids []string) error
	seen, found *int64
}

// walk looks at one range of ids after the other.
func (w *faultWalk) walk(ctx context.Context, part section) error {
	length := cmp.Or(w.options.Range, rangeCoupons)
	for from := ""; ; {
		began := time.Now()
		var next []string
		t := &trip{}
		t.query("find the end of a range of "+part.name, part.bound, list(&next, scanText), from, length)
		if err := w.read(ctx, t); err != nil {
			return err
		}
		until := ""
		if len(next) > 0 {
			until = next[0]
		}
		if err := w.look(ctx, part, from, until, int64(length)); err != nil {
			return err
		}
		if until == "" {
			return nil
		}
		from = until
		if w.options.AtLeisure {
			rest(ctx, time.Since(began))
		}
	}
}

// look finds the suspects of one range and shows them, page by page. length is that of a
// range that is not the last.
func (w *faultWalk) look(ctx context.Context, part section, from, until string, length int64) error {
	var suspects []string
	t := &trip{}
	t.query("look at "+part.name, part.suspects, list(&suspects, scanText), append([]any{from, until}, part.args...)...)
	if until == "" {
		t.query("count "+part.name, part.count, func(rows pgx.Rows) error { return rows.Scan(&length) }, from)
	} else if from != "" {
		length++ // the range begins with an id, and the rest of it was counted behind that
	}
	if err := w.read(ctx, t); err != nil {
		return err
	}
	suspects = distinct(suspects)
	*part.seen += length
	*part.found += int64(len(suspects))
	for page := range slices.Chunk(suspects, suspectPage) {
		if err := part.show(ctx, page); err != nil {
			return err
		}
	}
	if w.options.Progress != nil {
		done := w.looked.Coupons + w.looked.Orders
		w.options.Progress(done, max(done, w.total))
	}
	return nil
}

// suspectPage is how many suspects are read whole at once.
const suspectPage = 200

// rest waits, but not beyond the end of ctx.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// truth is what the coupons of one template say about its counters.
type truth struct {
	template string
	usage    coupon.Usage
	// counted are the counters at the same moment, without those of persons.
	counted coupon.Usage
}

func scanTruth(row scanTarget) (u truth, err error) {
	err = row.Scan(&u.template, &u.usage.Issued, &u.usage.Imported, &u.usage.Held, &u.counted.Issued,
		&u.counted.Imported, &u.counted.Held)
	return u, err
}

func (w *faultWalk) templates(ctx context.Context) error {
	var templates []*coupon.Template
	var truths []truth
	var wrong []PersonUse
	t := &trip{}
	t.query("read templates", dumpTemplatesSQL, list(&templates, scanTemplateRow))
	t.query("count what templates hold", suspectTemplatesSQL, list(&truths, scanTruth), nil)
	t.query("compare the uses of persons", personUsesSQL, list(&wrong, scanPersonUse), w.store.options.PageSize, nil)
	if err := w.read(ctx, t); err != nil {
		return err
	}
	counters := map[string]*counters{}
	for _, template := range templates {
		counters[template.ID] = newCounters()
	}
	for _, use := range wrong {
		if of := counters[use.Template]; of != nil {
			of.add(use)
		}
	}
	for i, template := range templates {
		w.looked.Templates++
		usage, of := truths[i].usage, counters[template.ID]
		usage.Persons, usage.Claimed = of.held, of.claimed
		if err := w.visitor.Template(*template, of.uses, of.claims, usage); err != nil {
			return err
		}
	}
	return nil
}

// counters are those of one template that are wrong, and what they should say.
type counters struct {
	uses          []*coupon.Uses
	claims        []*coupon.Claims
	held, claimed map[string]int64
}

func newCounters() *counters { return &counters{held: map[string]int64{}, claimed: map[string]int64{}} }

func (c *counters) add(use PersonUse) {
	if use.Counter == CounterClaims {
		c.claimed[use.Person] = use.Actual
		c.claims = append(c.claims, &coupon.Claims{Template: use.Template, Person: use.Person, Count: use.Held})
		return
	}
	c.held[use.Person] = use.Actual
	c.uses = append(c.uses, &coupon.Uses{Template: use.Template, Person: use.Person, Held: use.Held})
}

func (w *faultWalk) waiting(ctx context.Context) error {
	var rows []waitingRow
	t := &trip{}
	t.query("read the outbox", suspectOutboxSQL, list(&rows, func(row scanTarget) (r waitingRow, err error) {
		err = row.Scan(&r.payload, &r.since)
		return r, err
	}), w.options.Moment.Now.Add(-w.options.Moment.Publish), maxWaiting)
	if err := w.read(ctx, t); err != nil {
		return err
	}
	for _, row := range rows {
		w.looked.Waiting++
		if err := w.visitor.Waiting([]byte(row.payload), row.since); err != nil {
			return err
		}
	}
	return nil
}

type waitingRow struct {
	payload string
	since   time.Time
}
