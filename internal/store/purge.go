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
	//go:embed sql/findings_purge.sql
	findingsPurgeSQL string
	//go:embed sql/runs_purge.sql
	runsPurgeSQL string
)

// purgePage is how many rows one transaction deletes.
const purgePage = 1000

// purge is what takes some rows whose time is over, and says how many it took.
type purge struct{ what, statement string }

// PurgeLetters deletes dead letters that are resolved or discarded, and replays that are
// over, once nothing has happened to them for so many days. Replicas may do so at once.
func (s *Store) PurgeLetters(ctx context.Context, days int) error {
	return s.purge(ctx, days, purge{"dead letters", lettersPurgeSQL}, purge{"replays", replaysPurgeSQL})
}

// PurgeFindings deletes findings of reconciliation that were closed, and runs that began,
// so many days ago, but for the runs that say when a fault was looked for last. Replicas
// may do so at once.
func (s *Store) PurgeFindings(ctx context.Context, days int) error {
	return s.purge(ctx, days, purge{"findings", findingsPurgeSQL}, purge{"runs of reconciliation", runsPurgeSQL})
}

func (s *Store) purge(ctx context.Context, days int, purges ...purge) error {
	for _, p := range purges {
		for deleted := 1; deleted > 0; {
			var err error
			if deleted, err = s.purgePage(ctx, p.statement, days); err != nil {
				return fmt.Errorf("delete old %s: %w", p.what, err)
			}
		}
	}
	return nil
}

func (s *Store) purgePage(ctx context.Context, statement string, days int) (deleted int, err error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	err = s.pool.QueryRow(ctx, statement, days, purgePage).Scan(&deleted)
	return deleted, err
}
