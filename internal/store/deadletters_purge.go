package store

import (
	"context"
	_ "embed"
	"fmt"
)

var (
	//go:embed sql/letters_purge.sql
	lettersPurgeSQL string
	//go:embed sql/replays_purge.sql
	replaysPurgeSQL string
)

// purgePage is how many rows one transaction deletes.
const purgePage = 1000

// PurgeLetters deletes dead letters that are resolved or discarded, and replays that are
// over, once nothing has happened to them for so many days. Replicas may do so at once.
func (s *Store) PurgeLetters(ctx context.Context, days int) error {
	for _, purge := range []struct{ what, statement string }{
		{"dead letters", lettersPurgeSQL}, {"replays", replaysPurgeSQL},
	} {
		for deleted := 1; deleted > 0; {
			var err error
			if deleted, err = s.purge(ctx, purge.statement, days); err != nil {
				return fmt.Errorf("delete old %s: %w", purge.what, err)
			}
		}
	}
	return nil
}

func (s *Store) purge(ctx context.Context, statement string, days int) (deleted int, err error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	err = s.pool.QueryRow(ctx, statement, days, purgePage).Scan(&deleted)
	return deleted, err
}
