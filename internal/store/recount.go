package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

var (
	//go:embed sql/counting.sql
	countingSQL string
	//go:embed sql/counted.sql
	countedSQL string
)

// ErrTooManyToCount says that a template has more coupons than can be counted while its
// claims and leases wait. It is Poison.
var ErrTooManyToCount = errors.New("too many coupons to count")

// stateCancelled is that of a statement that ran out of time.
const stateCancelled = "57014"

// count ends the trip that locks templates by counting the coupons of those that are to be
// counted again. The plans, and the time, of such a statement are for it alone: they are
// undone together.
func (tx *transaction) count(ctx context.Context, t *trip) error {
	templates, most := texts(tx.asked.recounts), tx.store.options.CountTimeout
	t.exec("begin to count", countingSQL)
	t.exec("set the style of plans", leisureSQL, milliseconds(most))
	t.exec("set the style of plans", suspectPlansSQL)
	t.query("count the coupons of templates", suspectTemplatesSQL, list(&tx.truths, scanTruth), templates)
	t.query("compare the counters of persons", personUsesSQL, list(&tx.miscounted, scanPersonUse),
		tx.store.options.PageSize, templates)
	t.exec("end to count", countedSQL)
	err := t.sendWithin(ctx, most+tx.store.options.LockTimeout+patience, tx.conn)
	var server *pgconn.PgError
	if errors.As(err, &server) && server.Code == stateCancelled {
		return fmt.Errorf("%w in %v: %w", ErrTooManyToCount, most, err)
	}
	return err
}

// addTruths hands over what was counted, once all counters are.
func (tx *transaction) addTruths() {
	wrong := map[string]*counters{}
	for _, use := range tx.miscounted {
		if wrong[use.Template] == nil {
			wrong[use.Template] = newCounters()
		}
		wrong[use.Template].add(use)
	}
	for _, truth := range tx.truths {
		if of := wrong[truth.template]; of != nil {
			truth.usage.Persons, truth.usage.Claimed = of.held, of.claimed
		}
		tx.world.AddTruth(truth.template, truth.usage)
	}
}
