package store

import (
	"context"
	_ "embed"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

var (
	//go:embed sql/waiting_inbox.sql
	waitingInboxSQL string
	//go:embed sql/waiting_letters.sql
	waitingLettersSQL string
	//go:embed sql/waiting_snapshot.sql
	waitingSnapshotSQL string
	//go:embed sql/waiting_timers.sql
	waitingTimersSQL string
)

// maxLateTimers bounds how many due timers are looked at.
const maxLateTimers = 20_000

// Waiting is what only grows when nobody deals with it. It costs more than Backlog, and
// does not grow with the tables.
type Waiting struct {
	// InboxRows is an estimate; InboxOldest is the oldest day remembered, zero for none.
	InboxRows   int64
	InboxOldest time.Time
	// TimersOverdue are leases that should have ended, among the timers that were due
	// last.
	TimersOverdue int64
	// OldestSnapshot is how long another session has kept dead rows from being cleaned
	// up. Sessions of other users show only to members of pg_read_all_stats.
	OldestSnapshot time.Duration
	// Letters are dead letters that nobody has dealt with, most first.
	Letters []OpenLetters
}

// OpenLetters are those with one reason.
type OpenLetters struct {
	Reason  string
	Letters int64
	Oldest  time.Time
}

// Waiting reads what waits; a timer is overdue when it was due at least so long ago.
func (s *Store) Waiting(ctx context.Context, overdue time.Duration) (w Waiting, err error) {
	t := &trip{}
	t.query("estimate the inbox", waitingInboxSQL, func(rows pgx.Rows) error {
		var oldest string
		if err := rows.Scan(&w.InboxRows, &oldest); err != nil || oldest == "" {
			return err
		}
		w.InboxOldest, err = time.Parse(dayFormat, strings.TrimPrefix(oldest, inboxTable+"_"))
		return err
	})
	t.query("count overdue timers", waitingTimersSQL, func(rows pgx.Rows) error {
		return rows.Scan(&w.TimersOverdue)
	}, overdue.Microseconds(), maxLateTimers)
	t.query("look for the oldest snapshot", waitingSnapshotSQL, func(rows pgx.Rows) error {
		var seconds float64
		err := rows.Scan(&seconds)
		w.OldestSnapshot = time.Duration(seconds * float64(time.Second))
		return err
	})
	t.query("count open dead letters", waitingLettersSQL, list(&w.Letters, func(row scanTarget) (l OpenLetters, err error) {
		err = row.Scan(&l.Reason, &l.Letters, toTime{&l.Oldest})
		return l, err
	}))
	return w, t.send(ctx, s, s.pool)
}
