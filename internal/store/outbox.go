package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/outbox"
)

var _ outbox.Store = (*Store)(nil)

// Acquire implements outbox.Store.
func (s *Store) Acquire(ctx context.Context, shard int, owner string, ttl time.Duration) (
	fence int64, held bool, err error,
) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	err = s.pool.QueryRow(ctx, outboxAcquireSQL, shard, owner, ttl.Microseconds()).Scan(&fence)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("acquire outbox shard %d: %w", shard, err)
	}
	return fence, true, nil
}

// Pending implements outbox.Store.
func (s *Store) Pending(ctx context.Context, shard int, fence int64, except []int64, rows, bytes int) (
	found []outbox.Row, err error,
) {
	fenced := true
	err = s.each(ctx, outboxPendingSQL, func(r pgx.Rows) error {
		fenced = false
		var (
			id, parks *int64
			row       outbox.Row
		)
		if err := r.Scan(&id, &parks, toTime{&row.CreatedAt}, &row.Payload); err != nil {
			return err
		}
		if id != nil { // one empty row says that the fence is good and nothing is pending
			row.ID, row.Parks = *id, int(*parks)
			found = append(found, row)
		}
		return nil
	}, shard, fence, append(integers{}, except...), rows, bytes)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read outbox shard %d: %w", shard, err)
	case fenced:
		return nil, fmt.Errorf("read outbox shard %d: %w", shard, outbox.ErrFenced)
	}
	return found, nil
}

// Done implements outbox.Store. Its commit does not wait for the disk: what a crash
// brings back is published again, which is allowed.
func (s *Store) Done(ctx context.Context, shard int, fence int64, ids []int64) error {
	return s.fenced(ctx, "remove published rows of", outboxDoneSQL, nil, shard, fence, integers(ids))
}

// Park implements outbox.Store.
func (s *Store) Park(ctx context.Context, shard int, fence int64, rows []outbox.Parking) error {
	return s.fenced(ctx, "park rows of", outboxParkSQL, nil, shard, fence,
		collect[integers](rows, func(p outbox.Parking) int64 { return p.ID }),
		collect[binaries](rows, func(p outbox.Parking) []byte { return p.Payload }),
		collect[texts](rows, func(p outbox.Parking) string { return p.Reason }))
}

// Unpark implements outbox.Store.
func (s *Store) Unpark(ctx context.Context, shard int, fence int64, rest time.Duration, limit int) (
	count int, err error,
) {
	err = s.fenced(ctx, "unpark rows of", outboxUnparkSQL, &count, shard, fence, rest.Microseconds(), limit)
	return count, err
}

// Release implements outbox.Store.
func (s *Store) Release(ctx context.Context, shard int, fence int64) error {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	if _, err := s.pool.Exec(ctx, outboxReleaseSQL, shard, fence); err != nil {
		return fmt.Errorf("release outbox shard %d: %w", shard, err)
	}
	return nil
}

// fenced runs a statement that changes rows only if the fence is good, and answers
// whether it was and how many rows changed.
func (s *Store) fenced(ctx context.Context, what, statement string, count *int, args ...any) error {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	var (
		good    bool
		changed int
	)
	if err := s.pool.QueryRow(ctx, statement, args...).Scan(&good, &changed); err != nil {
		return fmt.Errorf("%s outbox shard %d: %w", what, args[0], err)
	}
	if !good {
		return fmt.Errorf("%s outbox shard %d: %w", what, args[0], outbox.ErrFenced)
	}
	if count != nil {
		*count = changed
	}
	return nil
}
