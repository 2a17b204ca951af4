package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

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

// ErrCounting says that who is who cannot be changed at the moment, because somebody counts
// the coupons of a template for longer than one waits.
var ErrCounting = errors.New("the coupons of a template are being counted just now: ask again")

const (
	// stateCancelled is that of a statement that ran out of time, stateLockTimeout that of one
	// that waited too long for a lock.
	stateCancelled   = "57014"
	stateLockTimeout = "55P03"
)

// count begins the transaction by finding how far counters are wrong. Nothing is locked
// for that but the right to do so, for which others who count wait, and who links or erases
// persons, because that moves counters: each statement sees counters and coupons of one
// moment, and whatever happens later changes both alike. The plans, and the time, of the
// counting are for it alone: they are undone together.
func (tx *transaction) count(ctx context.Context) error {
	tx.begun = true
	t := &trip{}
	t.exec("begin", beginSQL)
	t.exec("keep others from counting", countAloneSQL)
	if err := t.send(ctx, tx.store, tx.conn); err != nil {
		return err
	}
	templates, began := texts(tx.asked.recounts), time.Now()
	t = tx.counting(began)
	t.query("count the coupons of templates", suspectTemplatesSQL, list(&tx.truths, scanTruth), templates)
	if err := tx.countWithin(ctx, t); err != nil {
		return err
	}
	t = tx.counting(began)
	t.query("compare the counters of persons", personUsesSQL, list(&tx.miscounted, scanPersonUse),
		tx.store.options.PageSize, templates)
	return tx.countWithin(ctx, t)
}

// counting begins a trip with the time that is left of the counting, which is one for all
// statements: at least a millisecond, because 0 would be no bound.
func (tx *transaction) counting(began time.Time) *trip {
	left := max(time.Millisecond, tx.store.options.CountTimeout-time.Since(began))
	t := &trip{}
	t.exec("begin to count", countingSQL)
	t.exec("set the style of plans", leisureSQL, milliseconds(left))
	t.exec("set the style of plans", suspectPlansSQL)
	return t
}

// countWithin makes a trip of the counting.
func (tx *transaction) countWithin(ctx context.Context, t *trip) error {
	most := tx.store.options.CountTimeout
	t.exec("end to count", countedSQL)
	err := t.sendWithin(ctx, most+patience, tx.conn)
	if server := (*pgconn.PgError)(nil); errors.As(err, &server) && server.Code == stateCancelled {
		return fmt.Errorf("%w in %v: %w", ErrTooManyToCount, most, err)
	}
	return err
}

// orCounting says of who did not get the right to count what it waited for.
func orCounting(err error) error {
	if server := (*pgconn.PgError)(nil); errors.As(err, &server) && server.Code == stateLockTimeout {
		return fmt.Errorf("%w: %w", ErrCounting, err)
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
