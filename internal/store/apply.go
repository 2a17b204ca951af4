package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/coupon"
)

// maxAttempts bounds how often one call of Apply starts over, because orders turned
// out to be linked to others, because somebody else created the same row first, or
// because a partition was missing.
const maxAttempts = 8

// Apply locks and reads everything that the requests are about, calls decide with it,
// and writes what decide left in the sealed changes of the world, all in one
// transaction. decide has to seal the world. It may run again, on another world, when
// the transaction has to start over with nothing written; at most one of the worlds is
// ever committed. Classify tells what an error means.
func (s *Store) Apply(ctx context.Context, requests []coupon.Request, decide func(*coupon.World)) error {
	return s.try(ctx, "apply", requests, decide, (*transaction).commit)
}

// Preview calls decide with what Apply would, and takes everything back: what decide
// answers is what Apply would answer now. The rows are locked as long as that takes.
func (s *Store) Preview(ctx context.Context, requests []coupon.Request, decide func(*coupon.World)) error {
	return s.try(ctx, "preview", requests, decide, func(*transaction, context.Context) error { return nil })
}

// try runs transactions until one could be finished.
func (s *Store) try(
	ctx context.Context, what string, requests []coupon.Request, decide func(*coupon.World),
	finish func(*transaction, context.Context) error,
) error {
	var (
		linked, missing []string
		err             error
	)
	for range maxAttempts {
		missing, err = s.attempt(ctx, newAsked(requests, linked), decide, finish)
		switch {
		case errors.Is(err, errAppeared), isRace(err): // the next attempt sees the new row
		case isMissingPartition(err):
			if err := s.EnsurePartitions(ctx); err != nil {
				return fmt.Errorf("%s %d requests: %w", what, len(requests), err)
			}
		case err != nil:
			return fmt.Errorf("%s %d requests: %w", what, len(requests), err)
		case len(missing) == 0:
			return nil
		default:
			if linked, err = s.linkedOrders(ctx, append(linked, missing...)); err != nil {
				return fmt.Errorf("%s %d requests: %w", what, len(requests), err)
			}
		}
	}
	return fmt.Errorf("%s %d requests: gave up after %d attempts: %w", what, len(requests), maxAttempts,
		cmp.Or(err, errLinksGrow))
}

// linkedOrders follows all links of orders. It holds no locks, so whoever uses it
// looks again once the orders are locked.
func (s *Store) linkedOrders(ctx context.Context, orders []string) ([]string, error) {
	var linked []string
	limit := s.options.MaxLinkedOrders
	err := s.each(ctx, linkOrdersSQL, func(rows pgx.Rows) error {
		var id string
		linked = append(linked, id)
		return rows.Scan(&linked[len(linked)-1])
	}, texts(orders), limit+1)
	if err != nil {
		return nil, fmt.Errorf("follow the links of orders: %w", err)
	}
	if len(linked) > limit {
		return nil, fmt.Errorf("%w: more than %d", ErrTooManyOrders, limit)
	}
	return linked, nil
}

// attempt runs one transaction. It returns the orders that it should have locked as
// well; then it has changed nothing.
func (s *Store) attempt(
	ctx context.Context, a asked, decide func(*coupon.World), finish func(*transaction, context.Context) error,
) (missing []string, err error) {
	tx, err := s.begin(ctx, a)
	if err != nil {
		return nil, err
	}
	defer tx.end(ctx)
	if len(a.recounts) > 0 {
		if err := tx.count(ctx); err != nil {
			return nil, err
		}
	}
	if err := tx.readOrders(ctx); err != nil {
		return nil, err
	}
	if missing := tx.world.MissingOrders(); len(missing) > 0 {
		return missing, nil
	}
	if err := tx.readCoupons(ctx); err != nil {
		return nil, err
	}
	if err := tx.complete(); err != nil {
		return nil, err
	}
	if err := tx.readPolicies(ctx); err != nil {
		return nil, err
	}
	decide(tx.world)
	return nil, finish(tx, ctx)
}
