package store

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/coupon"
)

// TimerCursor is a place in the order of timers; its zero value is before all.
type TimerCursor struct {
	Due     time.Time
	LeaseID string
	Version int64
}

// TimerScan asks for one page of timers.
type TimerScan struct {
	// After is where the page before ended.
	After TimerCursor
	// Overdue is how long ago a timer must have been due, so that the broker's own
	// message comes first.
	Overdue time.Duration
	// Shard, of Shards in all, is the share of coupons to look at. Zero Shards is one.
	Shard, Shards int
	// Limit bounds the timers looked at, not those returned; zero is one page.
	Limit int
}

// TimerPage is the answer.
type TimerPage struct {
	// Timers are those whose lease is still the current one of its coupon.
	Timers []coupon.Timer
	// Next is where the next page begins. It stands still at the end.
	Next TimerCursor
	// Last says that nothing more is due now.
	Last bool
}

// noUUID sorts before every UUID.
const noUUID = "00000000-0000-0000-0000-000000000000"

// DueTimers reads one page of timers that are due by the database's clock, earliest
// first. The cursor makes a pass stable: timers that are written meanwhile with an
// earlier deadline are found by the next pass.
func (s *Store) DueTimers(ctx context.Context, scan TimerScan) (TimerPage, error) {
	limit := cmp.Or(scan.Limit, s.options.PageSize)
	page := TimerPage{Next: scan.After}
	seen := 0
	err := s.each(ctx, dueTimersSQL, func(rows pgx.Rows) error {
		var (
			t       coupon.Timer
			current bool
		)
		err := rows.Scan(toTime{&t.Due}, toText{&t.LeaseID}, &t.Version, &t.Coupon, toText{&t.Order},
			toHash{(*[32]byte)(&t.TokenHash)}, &current)
		if err != nil {
			return err
		}
		seen++
		page.Next = TimerCursor{t.Due, t.LeaseID, t.Version}
		if current {
			page.Timers = append(page.Timers, t)
		}
		return nil
	}, scan.After.Due, cmp.Or(scan.After.LeaseID, noUUID), scan.After.Version, scan.Overdue.Microseconds(),
		max(1, scan.Shards), scan.Shard, limit)
	if err != nil {
		return TimerPage{}, fmt.Errorf("read due timers: %w", err)
	}
	page.Last = seen < limit
	return page, nil
}

// ExpiryPage is one page of coupons whose validity may be over.
type ExpiryPage struct {
	// Coupons are those that are free although their validity is over.
	Coupons []string
	// Next is where the next page begins. It stands still at the end.
	Next string
	// Last says that nothing more is over now.
	Last bool
}

// Expirable reads one page of coupons, by the time at which their validity was to end
// when they were issued. The cursor of the first page is "". limit bounds the coupons
// looked at, not those returned; zero is one page.
//
// The index it walks holds only what never changes, so it also passes coupons that were
// dealt with long ago. A sweep may therefore keep its last cursor and go on from there,
// and begin anew once a day for coupons whose validity was extended.
func (s *Store) Expirable(ctx context.Context, cursor string, limit int) (ExpiryPage, error) {
	after, afterID, err := parseExpiry(cursor)
	if err != nil {
		return ExpiryPage{}, err
	}
	limit = cmp.Or(limit, s.options.PageSize)
	page, seen := ExpiryPage{Next: cursor}, 0
	err = s.each(ctx, expirableSQL, func(rows pgx.Rows) error {
		var (
			until time.Time
			id    string
			over  bool
		)
		if err := rows.Scan(toTime{&until}, &id, &over); err != nil {
			return err
		}
		seen++
		page.Next = until.Format(time.RFC3339Nano) + " " + id
		if over {
			page.Coupons = append(page.Coupons, id)
		}
		return nil
	}, after, afterID, limit)
	if err != nil {
		return ExpiryPage{}, fmt.Errorf("read coupons whose validity is over: %w", err)
	}
	page.Last = seen < limit
	return page, nil
}

func parseExpiry(cursor string) (until time.Time, id string, err error) {
	if cursor == "" {
		return time.Time{}, "", nil
	}
	at, id, _ := strings.Cut(cursor, " ")
	if until, err = time.Parse(time.RFC3339Nano, at); err != nil {
		return until, "", fmt.Errorf("read the cursor: %w", err)
	}
	return until, id, nil
}
