package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"couponlease/internal/coupon"
	"couponlease/internal/deadletter"
)

// letterPage is how many letters one statement changes. Together with the time that one
// statement may take it bounds how long others wait for those letters.
const letterPage = 5000

// maxAuditedIDs bounds how many letters the audit log names one by one.
const maxAuditedIDs = 100

// alone runs do in a transaction of its own, which is taken back when do fails.
func (s *Store) alone(ctx context.Context, do func(*pgxpool.Conn) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("get a database connection: %w", err)
	}
	defer giveBack(ctx, conn)
	begin := &trip{}
	begin.exec("begin", beginSQL)
	if err := begin.send(ctx, s, conn); err != nil {
		return err
	}
	if err := do(conn); err != nil {
		return err
	}
	end := &trip{}
	end.commit()
	return end.send(ctx, s, conn)
}

// sheet is what an audit row about letters or jobs says in its arguments.
type sheet struct {
	Filter *deadletter.Filter   `json:"filter,omitempty"`
	IDs    []string             `json:"ids,omitempty"`
	Job    string               `json:"job,omitempty"`
	From   []deadletter.Status  `json:"from,omitempty"`
	To     deadletter.Status    `json:"to,omitempty"`
	Was    deadletter.JobStatus `json:"was,omitempty"`
	Is     deadletter.JobStatus `json:"is,omitempty"`
	Rate   int64                `json:"rate,omitempty"`
	Canary int64                `json:"canary,omitempty"`
	Stop   int64                `json:"stopOnFailures,omitempty"`
	Force  bool                 `json:"force,omitempty"`
	// Stood is how many of the letters had which status before, and Hash the SHA-256 of
	// their ids, in their order, each with a line feed behind it.
	Stood   map[deadletter.Status]int64 `json:"before,omitempty"`
	Hash    string                      `json:"idsSha256,omitempty"`
	Note    string                      `json:"note,omitempty"`
	NoteWas string                      `json:"noteBefore,omitempty"`
	Before  string                      `json:"bodyBefore,omitempty"`
	After   string                      `json:"bodyAfter,omitempty"`
}

// auditOf adds a row of the audit log to a trip.
func auditOf(t *trip, by deadletter.Decision, action, subject string, count int64, s sheet) error {
	arguments, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write down %s for the audit log: %w", action, err)
	}
	rows, err := encodeAudits([]*coupon.AuditRow{{
		Actor: by.Actor, Action: action, Subject: subject, Reason: by.Reason, Code: coupon.OK, Count: count,
		Arguments: arguments,
	}})
	if err != nil {
		return err
	}
	t.exec("write the audit log", insertAuditsSQL, auditColumns(rows)...)
	return nil
}

// sheetOf tells which letters a command was about.
func sheetOf(f deadletter.Filter) (s sheet, subject string) {
	if len(f.IDs) == 1 {
		subject = f.IDs[0]
	}
	s.IDs = f.IDs[:min(len(f.IDs), maxAuditedIDs)]
	f.IDs = nil
	s.Filter = &f
	return s, subject
}

// MarkLetters gives letters another status, those that have one of from and that nobody
// is replaying, and tells how many. With letters named one by one it is all or none: if
// one of them cannot be changed, the error says which and matches deadletter.ErrConflict
// or ErrNotFound.
func (s *Store) MarkLetters(
	ctx context.Context, action string, f deadletter.Filter, from []deadletter.Status, to deadletter.Status,
	outcome deadletter.Outcome, by deadletter.Decision,
) (count int64, err error) {
	sel, err := selectLetters(f)
	if err != nil {
		return 0, err
	}
	err = s.alone(ctx, func(conn *pgxpool.Conn) error {
		m := newMarked()
		count, err = s.walk(ctx, conn, "change dead letters", 0, func(after *string, _, limit int64) (string, []any) {
			return lettersMarkSQL, []any{after, sel.filter, sel.ids, limit, statusTexts(from), string(to), string(outcome)}
		}, m.scan)
		if err != nil {
			return err
		}
		if err := s.allOf(ctx, conn, f, count); err != nil || count == 0 {
			return err
		}
		t := &trip{}
		facts, subject := sheetOf(f)
		facts.From, facts.To, facts.Stood, facts.Hash = from, to, m.stood, m.sum()
		if err := auditOf(t, by, action, subject, count, facts); err != nil {
			return err
		}
		return t.send(ctx, s, conn)
	})
	return count, err
}

// marked sums up what letters_mark.sql tells of its pages.
type marked struct {
	stood map[deadletter.Status]int64
	ids   hash.Hash
}

func newMarked() *marked {
	return &marked{map[deadletter.Status]int64{}, sha256.New()}
}

func (m *marked) scan(row scanTarget) (changed int64, last string, err error) {
	var ids string
	var statuses []byte
	if err := row.Scan(&changed, toText{&last}, &ids, &statuses); err != nil {
		return 0, "", err
	}
	m.ids.Write([]byte(ids))
	var page map[deadletter.Status]int64
	if err := json.Unmarshal(statuses, &page); err != nil {
		return 0, "", fmt.Errorf("statuses of dead letters: %w", err)
	}
	for status, letters := range page {
		m.stood[status] += letters
	}
	return changed, last, nil
}

func (m *marked) sum() string { return hex.EncodeToString(m.ids.Sum(nil)) }

func statusTexts(statuses []deadletter.Status) texts {
	return collect[texts](statuses, func(status deadletter.Status) string { return string(status) })
}

// walk runs a statement page by page until nothing is left, or so many rows were
// changed; 0 is no bound. The statement is told how many were changed before, and gives
// how many it changed, and the last id, which scan reads.
func (s *Store) walk(
	ctx context.Context, conn *pgxpool.Conn, what string, most int64, page func(after *string, done, limit int64) (string, []any),
	scan func(scanTarget) (changed int64, last string, err error),
) (count int64, err error) {
	var after *string
	for {
		limit := int64(letterPage)
		if most > 0 {
			limit = min(limit, most-count)
		}
		if limit == 0 {
			return count, nil
		}
		var changed int64
		var last string
		t := &trip{}
		statement, args := page(after, count, limit)
		t.query(what, statement, func(rows pgx.Rows) (err error) {
			changed, last, err = scan(rows)
			return err
		}, args...)
		if err := t.send(ctx, s, conn); err != nil {
			return count, err
		}
		if last == "" {
			return count, nil
		}
		count += changed
		after = &last
	}
}

// allOf checks that every letter that was named one by one was changed.
func (s *Store) allOf(ctx context.Context, conn *pgxpool.Conn, f deadletter.Filter, changed int64) error {
	if f.Bulk() || changed == int64(len(f.IDs)) {
		return nil
	}
	var letters []deadletter.Letter
	t := &trip{}
	t.query("look at dead letters", lettersListSQL, list(&letters, scanLetter), nil, "{}", uuids(f.IDs), len(f.IDs))
	if err := t.send(ctx, s, conn); err != nil {
		return err
	}
	if len(letters) < len(f.IDs) {
		for _, id := range f.IDs {
			if !slices.ContainsFunc(letters, func(l deadletter.Letter) bool { return l.ID == id }) {
				return fmt.Errorf("dead letter %s: %w", id, deadletter.ErrNotFound)
			}
		}
	}
	return fmt.Errorf("%w: %s", deadletter.ErrConflict, standing(letters))
}

// standing tells how letters stand, for somebody who expected something else.
func standing(letters []deadletter.Letter) string {
	const most = 5
	var parts []string
	for i := range letters[:min(len(letters), most)] {
		l := &letters[i]
		text := fmt.Sprintf("dead letter %s is %s", l.ID, l.Status)
		if l.Job != "" {
			text += " and belongs to replay " + l.Job
		}
		parts = append(parts, text)
	}
	if len(letters) > most {
		parts = append(parts, fmt.Sprintf("and %d more", len(letters)-most))
	}
	return strings.Join(parts, "; ")
}

// NoteLetter replaces the note on a letter; the audit log keeps the one before.
func (s *Store) NoteLetter(ctx context.Context, id, note string, by deadletter.Decision) error {
	return s.alone(ctx, func(conn *pgxpool.Conn) error {
		found, before := false, ""
		t := &trip{}
		t.query("note on a dead letter", letterNoteSQL, func(rows pgx.Rows) error {
			found = true
			return rows.Scan(&before)
		}, id, note)
		if err := t.send(ctx, s, conn); err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("dead letter %s: %w", id, deadletter.ErrNotFound)
		}
		t = &trip{}
		if err := auditOf(t, by, "NoteDeadLetter", id, 1, sheet{Note: note, NoteWas: before}); err != nil {
			return err
		}
		return t.send(ctx, s, conn)
	})
}

// EditLetter puts a corrected letter in the place of an original, which has to be new or
// discarded.
func (s *Store) EditLetter(ctx context.Context, original, edited deadletter.Letter, by deadletter.Decision) error {
	edited.EditedFrom = original.ID
	only := deadletter.Filter{IDs: []string{original.ID}}
	from := statusTexts([]deadletter.Status{deadletter.New, deadletter.Discarded})
	insert, err := letterColumns([]deadletter.Letter{edited})
	if err != nil {
		return err
	}
	return s.alone(ctx, func(conn *pgxpool.Conn) error {
		count, err := s.walk(ctx, conn, "set the edited letter aside", 0, func(after *string, _, limit int64) (string, []any) {
			return lettersMarkSQL, []any{after, "{}", uuids(only.IDs), limit, from, string(deadletter.Edited), ""}
		}, newMarked().scan)
		if err != nil {
			return err
		}
		if err := s.allOf(ctx, conn, only, count); err != nil {
			return err
		}
		t := &trip{}
		t.exec("insert the corrected letter", lettersInsertSQL, insert...)
		facts := sheet{
			IDs:    []string{original.ID, edited.ID},
			Before: fmt.Sprintf("%x", original.Hash), After: fmt.Sprintf("%x", edited.Hash),
		}
		if err := auditOf(t, by, "EditDeadLetter", original.ID, 1, facts); err != nil {
			return err
		}
		return t.send(ctx, s, conn)
	})
}
