package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"couponlease/internal/coupon"
)

var (
	//go:embed sql/counting.sql
	countingSQL string
	//go:embed sql/count_alone.sql
	countAloneSQL string
	//go:embed sql/counted.sql
	countedSQL string
)

// ErrTooManyToCount says that a template has more coupons than can be counted in the time
// that a transaction has. It is Poison.
var ErrTooManyToCount = errors.New("too many coupons to count")

// stateCancelled is that of a statement that ran out of time.
const stateCancelled = "57014"

// count begins the transaction by finding how far counters are wrong. Nothing is locked
// for that but the right to do so: each statement sees counters and coupons of one moment,
// and whatever happens later changes both alike. Who is who stays as it is, because that
// moves counters. The plans, and the time, of the counting are for it alone: they are undone
// together.
func (tx *transaction) count(ctx context.Context) error {
	templates, most := texts(tx.asked.recounts), tx.store.options.CountTimeout
	t := &trip{}
	t.exec("begin", beginSQL)
	t.exec("keep who is who", personsSharedSQL)
	t.exec("keep others from counting", countAloneSQL)
	t.exec("begin to count", countingSQL)
	t.exec("set the style of plans", leisureSQL, milliseconds(most))
	t.exec("set the style of plans", suspectPlansSQL)
	t.query("count the coupons of templates", suspectTemplatesSQL, list(&tx.truths, scanTruth), templates)
	t.query("compare the counters of persons", personUsesSQL, list(&tx.miscounted, scanPersonUse),
		tx.store.options.PageSize, templates)
	t.exec("end to count", countedSQL)
	tx.begun = true
	err := t.sendWithin(ctx, most+tx.store.options.LockTimeout+patience, tx.conn)
	var server *pgconn.PgError
	if errors.As(err, &server) && server.Code == stateCancelled {
		return fmt.Errorf("%w in %v: %w", ErrTooManyToCount, most, err)
	}
	return err
}

// addMiscounts hands over what was counted.
func (tx *transaction) addMiscounts() {
	miscounts := make(map[string]coupon.Miscount, len(tx.truths))
	for _, truth := range tx.truths {
		miscounts[truth.template] = coupon.Miscount{
			Issued: truth.usage.Issued - truth.counted.Issued, Imported: truth.usage.Imported - truth.counted.Imported,
			Held: truth.usage.Held - truth.counted.Held, Uses: map[string]int64{}, Claims: map[string]int64{},
		}
	}
	for _, use := range tx.miscounted {
		of := miscounts[use.Template].Uses
		if use.Counter == CounterClaims {
			of = miscounts[use.Template].Claims
		}
		if of != nil { // a template that was made between the statements has nothing wrong
			of[use.Person] = use.Actual - use.Held
		}
	}
	for template, m := range miscounts {
		tx.world.AddMiscount(template, m)
	}
}
