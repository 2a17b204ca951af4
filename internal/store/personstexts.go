package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
)

var (
	//go:embed sql/persons_texts.sql
	personsTextsSQL string
	//go:embed sql/persons_erase_text.sql
	personsEraseTextSQL string
	//go:embed sql/persons_erase_body.sql
	personsEraseBodySQL string
)

// place is a column in whose texts a person may be named.
type place struct {
	table, column string
	erase         func(*eraser, []byte) []byte
}

const (
	letterTable = "dead_letter"
	letterBody  = "body"
	outboxTable = "coupon_outbox"
	outboxRows  = "payload"
)

// personPlaces are all such columns but those that link and erasure move, which are keys.
// Whoever adds a column of texts decides here whether it can name a person.
var personPlaces = []place{
	{"audit_log", "actor", (*eraser).same},
	{"audit_log", "subject", (*eraser).same},
	{"audit_log", "reason", (*eraser).prose},
	{"audit_log", "detail", (*eraser).document},
	{"coupon_command", "actor", (*eraser).same},
	{"coupon_operation", "actor", (*eraser).same},
	{"coupon_operation", "reason", (*eraser).prose},
	{"coupon_template_version", "actor", (*eraser).same},
	{letterTable, "error", (*eraser).prose},
	{letterTable, "note", (*eraser).prose},
	{letterTable, "headers", (*eraser).document},
	{letterTable, letterBody, (*eraser).document},
	{"dead_letter_attempt", "error", (*eraser).prose},
	{"finding", "detail", (*eraser).prose},
	{"order_fact", "closes", (*eraser).document},
	{"person_alias", "actor", (*eraser).same},
	{"reconcile_run", "actor", (*eraser).same},
	{"redeem_flow", "reason", (*eraser).prose},
	{"refund_fact", "reason", (*eraser).prose},
	{"replay_item", "detail", (*eraser).prose},
	{"replay_job", "actor", (*eraser).same},
	{"replay_job", "reason", (*eraser).prose},
	{"replay_job", "filter", (*eraser).document},
	{"review_case", "evidence", (*eraser).document},
	{"review_case", "note", (*eraser).prose},
	{"review_case", "resolved_by", (*eraser).same},
}

// naming is a content with what it becomes.
type naming struct {
	row          string
	was, becomes []byte
}

// maxNamings bounds how many contents one pass over a column keeps in memory.
const maxNamings = 500

// namings finds the contents of a place that name a person, so many at most, and counts
// all.
func (s *Store) namings(ctx context.Context, in place, e *eraser) (found []naming, count int64, err error) {
	err = s.inSnapshot(ctx, func(ctx context.Context, v *snapshot) error {
		if err := v.atLeisure(ctx); err != nil {
			return err
		}
		t := &trip{}
		t.query("search "+in.table+"."+in.column, personsTextsSQL, func(rows pgx.Rows) error {
			var n naming
			if err := rows.Scan(&n.row, &n.was); err != nil {
				return err
			}
			if n.becomes = in.erase(e, n.was); bytes.Equal(n.becomes, n.was) {
				return nil
			}
			if count++; len(found) < maxNamings {
				found = append(found, n)
			}
			return nil
		}, in.table, in.column, e.needles(in.column == letterBody))
		return t.sendWithin(ctx, leisure+patience, v.conn)
	})
	return found, count, err
}

// maxPasses bounds how often a column is searched in which the person keeps appearing.
const maxPasses = 1000

// eraseIn erases a person from a place, and counts the contents. Each is a transaction of
// its own, which holds one row for a moment: whoever has the row locked comes first, and
// the content is looked for again when it has changed.
func (s *Store) eraseIn(ctx context.Context, in place, e *eraser) (erased int64, err error) {
	for range maxPasses {
		found, _, err := s.namings(ctx, in, e)
		if err != nil || len(found) == 0 {
			return erased, err
		}
		for _, n := range found {
			done, err := s.eraseText(ctx, in, n)
			if err != nil {
				return erased, fmt.Errorf("erase from %s.%s: %w", in.table, in.column, err)
			}
			if done {
				erased++
			}
		}
	}
	return erased, fmt.Errorf("erase from %s.%s: the person came again %d times", in.table, in.column, maxPasses)
}

func (s *Store) eraseText(ctx context.Context, in place, n naming) (done bool, err error) {
	statement, args := personsEraseTextSQL, []any{in.table, in.column, n.row, n.was, n.becomes}
	if in.table == letterTable && in.column == letterBody {
		hash := sha256.Sum256(n.becomes)
		statement, args = personsEraseBodySQL, []any{n.row, n.was, n.becomes, hash[:]}
	}
	err = s.each(ctx, statement, func(rows pgx.Rows) error { return rows.Scan(&done) }, args...)
	return done, err
}
