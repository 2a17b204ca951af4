package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed sql/leisure.sql
var leisureSQL string

// snapshot is a read-only view of one moment, on a connection of its own.
type snapshot struct {
	store *Store
	conn  *pgxpool.Conn
}

// inSnapshot runs read on one moment of the database. The moment lasts as long as read
// does, and keeps dead rows from being cleaned up: reads are streamed, but not paused
// for long.
func (s *Store) inSnapshot(ctx context.Context, read func(context.Context, *snapshot) error) error {
	return s.inSnapshotOf(ctx, "", read)
}

// inSnapshotOf is inSnapshot for the moment that another snapshot has exported, and
// holds; "" is a moment of its own.
func (s *Store) inSnapshotOf(ctx context.Context, moment string, read func(context.Context, *snapshot) error) error {
	acquire, cancel := s.deadline(ctx)
	defer cancel()
	conn, err := s.pool.Acquire(acquire)
	if err != nil {
		return fmt.Errorf("get a database connection: %w", err)
	}
	defer giveBack(ctx, conn)
	v := &snapshot{store: s, conn: conn}
	t := &trip{}
	t.exec("begin", snapshotSQL)
	if moment != "" {
		join, err := joinSnapshot(moment)
		if err != nil {
			return err
		}
		t.exec("join the snapshot", join)
	}
	t.exec("set the limit of pauses", pauseSQL, milliseconds(maxSnapshotPause))
	t.exec("set the style of plans", settingsSQL)
	if err := v.send(ctx, t); err != nil {
		return err
	}
	return read(ctx, v)
}

// atLeisure lets the statements that follow read much of a table.
func (v *snapshot) atLeisure(ctx context.Context) error {
	t := &trip{}
	t.exec("set the style of plans", leisureSQL, milliseconds(leisure))
	return v.send(ctx, t)
}

func (v *snapshot) send(ctx context.Context, t *trip) error { return t.send(ctx, v.store, v.conn) }

// pages reads ahead: while the consumer works on one page, the next is on its way. It
// returns the first error of either side.
func pages[Page any](
	ctx context.Context, produce func(ctx context.Context, emit func(Page) error) error, consume func(Page) error,
) error {
	ahead := make(chan Page)
	stop := make(chan error, 1)
	produced := make(chan error, 1)
	go func() {
		defer close(ahead)
		produced <- produce(ctx, func(page Page) error {
			select {
			case ahead <- page:
				return nil
			case err := <-stop:
				return err
			}
		})
	}()
	for page := range ahead {
		if err := consume(page); err != nil {
			stop <- err
			<-produced // it has a connection; wait until it has given it back
			return err
		}
	}
	return <-produced
}

// list collects the rows of a query.
func list[Row any](to *[]Row, scan func(scanTarget) (Row, error)) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		row, err := scan(rows)
		if err != nil {
			return err
		}
		*to = append(*to, row)
		return nil
	}
}
