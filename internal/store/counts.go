package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/coupon"
)

// Backlog is what waits for somebody. It is cheap to read.
type Backlog struct {
	// OutboxRows wait to be published and hold OutboxMessages; ParkedRows were put
	// aside.
	OutboxRows, OutboxMessages, ParkedRows int64
	// OldestRow is when the oldest row was written that waits and is not parked, zero when
	// none waits.
	OldestRow   time.Time
	OpenReviews int64
}

// Backlog reads what waits for somebody.
func (s *Store) Backlog(ctx context.Context) (b Backlog, err error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	err = s.pool.QueryRow(ctx, backlogSQL).Scan(&b.OutboxRows, &b.OutboxMessages, &b.ParkedRows, toTime{&b.OldestRow},
		&b.OpenReviews)
	if err != nil {
		return b, fmt.Errorf("read the backlog: %w", err)
	}
	return b, nil
}

// Counts are totals for checks and gates.
type Counts struct {
	// Receipts are the messages that the inbox remembers.
	Receipts, Orders, Operations int64
	// Commands are those that were answered, OpenFlows redemptions at tills that have
	// begun and not ended.
	Commands, OpenFlows int64
	// TimersOverdue are leases that should have been released.
	TimersOverdue int64
	Coupons       map[coupon.State]int64
}

// Counts reads the totals, with timers overdue for at least the given time. It reads
// whole tables.
func (s *Store) Counts(ctx context.Context, overdue time.Duration) (Counts, error) {
	c := Counts{Coupons: map[coupon.State]int64{}}
	t := &trip{}
	t.query("count", countsSQL, func(rows pgx.Rows) error {
		return rows.Scan(&c.Receipts, &c.Orders, &c.Operations, &c.TimersOverdue, &c.Commands, &c.OpenFlows)
	}, overdue.Microseconds())
	t.query("count coupons", countStatesSQL, func(rows pgx.Rows) error {
		var (
			state string
			count int64
		)
		err := rows.Scan(&state, &count)
		c.Coupons[coupon.State(state)] = count
		return err
	})
	return c, t.send(ctx, s, s.pool)
}

// TemplateUse compares the counter of a limited template with what it counts.
type TemplateUse struct {
	Template             string
	Budget, Held, Actual int64
}

// TemplateUses compares the counters of all templates that have a budget. It reads
// whole tables. Actual is exact for templates that have been limited since their first
// lease.
func (s *Store) TemplateUses(ctx context.Context) ([]TemplateUse, error) {
	var uses []TemplateUse
	err := s.each(ctx, templateUsesSQL, list(&uses, func(row scanTarget) (u TemplateUse, err error) {
		err = row.Scan(&u.Template, &u.Budget, &u.Held, &u.Actual)
		return u, err
	}))
	if err != nil {
		return nil, fmt.Errorf("compare the uses of templates: %w", err)
	}
	return uses, nil
}

// PersonUse is a counter per person that differs from what it counts.
type PersonUse struct {
	// Counter is CounterUses or CounterClaims.
	Counter          string
	Template, Person string
	Held, Actual     int64
}

// What counters per person count.
const (
	CounterUses   = "uses"
	CounterClaims = "claims"
)

// WrongPersonUses lists counters per person that differ from what they count, at most
// one page of them. It reads whole tables.
func (s *Store) WrongPersonUses(ctx context.Context) ([]PersonUse, error) {
	var uses []PersonUse
	err := s.each(ctx, personUsesSQL, list(&uses, scanPersonUse), s.options.PageSize, nil)
	if err != nil {
		return nil, fmt.Errorf("compare the uses of persons: %w", err)
	}
	return uses, nil
}
