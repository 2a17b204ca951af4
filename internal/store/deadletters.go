package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"couponlease/internal/deadletter"
)

var (
	_ deadletter.Files   = (*Store)(nil)
	_ deadletter.Records = (*Store)(nil)
)

// FileLetters implements deadletter.Files. Letters that are filed already get their
// failure, once.
func (s *Store) FileLetters(ctx context.Context, letters []deadletter.Letter) error {
	sorted := slices.Clone(letters)
	slices.SortStableFunc(sorted, func(a, b deadletter.Letter) int { return strings.Compare(a.ID, b.ID) })
	insert, err := letterColumns(firstOfEach(sorted))
	if err != nil {
		return fmt.Errorf("file %d dead letters: %w", len(letters), err)
	}
	t := &trip{}
	t.exec("begin", beginSQL)
	t.exec("lock replays", replaysLockSQL, collect[uuids](sorted, func(l deadletter.Letter) string { return l.Replay.Job }))
	t.exec("lock dead letters", lettersLockSQL,
		collect[texts](sorted, func(l deadletter.Letter) string { return l.MessageID }),
		collect[texts](sorted, func(l deadletter.Letter) string { return l.Queue }),
		collect[binaries](sorted, func(l deadletter.Letter) []byte { return l.Hash[:] }))
	t.exec("insert dead letters", lettersInsertSQL, insert...)
	t.exec("add failures of dead letters", lettersFailSQL, failureColumns(sorted)...)
	t.commit()
	if err := s.sendAlone(ctx, t); err != nil {
		return fmt.Errorf("file %d dead letters: %w", len(letters), err)
	}
	return nil
}

// sendAlone makes a trip that is a whole transaction, on a connection of its own.
func (s *Store) sendAlone(ctx context.Context, t *trip) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("get a database connection: %w", err)
	}
	defer giveBack(ctx, conn)
	return t.send(ctx, s, conn)
}

type letterKey struct {
	message, queue string
	hash           [32]byte
}

// firstOfEach gives one letter of each identity.
func firstOfEach(letters []deadletter.Letter) []deadletter.Letter {
	seen := make(map[letterKey]bool, len(letters))
	first := make([]deadletter.Letter, 0, len(letters))
	for _, l := range letters {
		if key := (letterKey{l.MessageID, l.Queue, l.Hash}); !seen[key] {
			seen[key] = true
			first = append(first, l)
		}
	}
	return first
}

// letterColumns are the parameters of letters_insert.sql.
func letterColumns(rows []deadletter.Letter) ([]any, error) {
	type row = deadletter.Letter
	headers := make(texts, len(rows))
	for i := range rows {
		document, err := json.Marshal(rows[i].Headers)
		if err != nil {
			return nil, fmt.Errorf("headers of dead letter %q: %w", rows[i].MessageID, err)
		}
		if headers[i] = string(document); rows[i].Headers == nil {
			headers[i] = "{}"
		}
	}
	return []any{
		collect[uuids](rows, func(r row) string { return r.ID }),
		collect[texts](rows, func(r row) string { return r.MessageID }),
		collect[texts](rows, func(r row) string { return r.Queue }),
		collect[binaries](rows, func(r row) []byte { return r.Hash[:] }),
		collect[texts](rows, func(r row) string { return r.Type }),
		collect[texts](rows, func(r row) string { return r.Reason }),
		collect[texts](rows, func(r row) string { return r.Error }),
		collect[texts](rows, func(r row) string { return r.Fingerprint }),
		collect[texts](rows, func(r row) string { return r.Host }),
		collect[texts](rows, func(r row) string { return r.Version }),
		collect[integers](rows, func(r row) int64 { return r.Attempts }),
		collect[times](rows, func(r row) time.Time { return r.First }),
		collect[times](rows, func(r row) time.Time { return r.Last }),
		collect[texts](rows, func(r row) string { return r.Order }),
		collect[texts](rows, func(r row) string { return arrayLiteral(r.Coupons) }),
		collect[uuids](rows, func(r row) string { return r.EditedFrom }),
		collect[texts](rows, func(r row) string { return r.Exchange }),
		collect[texts](rows, func(r row) string { return r.RoutingKey }),
		collect[texts](rows, func(r row) string { return r.ContentType }),
		collect[texts](rows, func(r row) string { return r.CorrelationID }),
		collect[texts](rows, func(r row) string { return r.ReplyTo }),
		collect[times](rows, func(r row) time.Time { return r.Sent }),
		headers,
		collect[integers](rows, func(r row) int64 { return r.Size }),
		collect[binaries](rows, func(r row) []byte {
			if r.Body == nil {
				return []byte{}
			}
			return r.Body
		}),
		collect[booleans](rows, func(r row) bool { return r.Redacted }),
	}, nil
}

// failureColumns are the parameters of letters_fail.sql.
func failureColumns(rows []deadletter.Letter) []any {
	type row = deadletter.Letter
	return []any{
		collect[texts](rows, func(r row) string { return r.MessageID }),
		collect[texts](rows, func(r row) string { return r.Queue }),
		collect[binaries](rows, func(r row) []byte { return r.Hash[:] }),
		collect[times](rows, func(r row) time.Time { return r.Last }),
		collect[texts](rows, func(r row) string { return r.Source() }),
		collect[integers](rows, func(r row) int64 { return r.Attempts }),
		collect[texts](rows, func(r row) string { return r.Reason }),
		collect[texts](rows, func(r row) string { return r.Error }),
		collect[texts](rows, func(r row) string { return r.Fingerprint }),
		collect[texts](rows, func(r row) string { return r.Host }),
		collect[texts](rows, func(r row) string { return r.Version }),
		collect[uuids](rows, func(r row) string { return r.Replay.Job }),
		collect[integers](rows, func(r row) int64 { return r.Replay.Position }),
	}
}

// RecordReplays implements deadletter.Records.
func (s *Store) RecordReplays(ctx context.Context, settled []deadletter.Settled) error {
	t := &trip{}
	t.exec("begin", beginSQL)
	t.exec("lock replays", replaysLockSQL,
		collect[uuids](settled, func(r deadletter.Settled) string { return r.Item.Job }))
	t.exec("record outcomes", replaysRecordSQL, settledColumns(settled)...)
	t.commit()
	if err := s.sendAlone(ctx, t); err != nil {
		return fmt.Errorf("record %d outcomes of replays: %w", len(settled), err)
	}
	return nil
}

// settledColumns are the parameters of replays_record.sql.
func settledColumns(rows []deadletter.Settled) []any {
	type row = deadletter.Settled
	return []any{
		collect[uuids](rows, func(r row) string { return r.Item.Job }),
		collect[integers](rows, func(r row) int64 { return r.Item.Position }),
		collect[texts](rows, func(r row) string { return r.MessageID }),
		collect[texts](rows, func(r row) string { return string(r.Outcome) }),
		collect[texts](rows, func(r row) string { return r.Detail }),
		collect[times](rows, func(r row) time.Time { return r.Answered }),
	}
}
