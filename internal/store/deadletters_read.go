package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/deadletter"
)

// maxLetterBytes bounds the bodies and errors of one page, and so the memory that a walk
// over any number of letters takes.
const maxLetterBytes = 4 << 20

// selection is the parameters by which statements select letters.
type selection struct {
	filter string
	ids    uuids
}

func selectLetters(f deadletter.Filter) (selection, error) {
	sel := selection{}
	if len(f.IDs) > 0 {
		sel.ids = f.IDs
	}
	f.IDs = nil
	document, err := json.Marshal(f)
	if err != nil {
		return sel, fmt.Errorf("encode the filter of dead letters: %w", err)
	}
	sel.filter = string(document)
	return sel, nil
}

// idOrNull gives a parameter that is null for "".
func idOrNull(id string) *string {
	if id == "" {
		return nil
	}
	return &id
}

// Letters lists letters that were filed before the one with an id, or all for "", newest
// first, without bodies and with the beginnings of their errors.
func (s *Store) Letters(ctx context.Context, f deadletter.Filter, before string, limit int) ([]deadletter.Letter, error) {
	var letters []deadletter.Letter
	err := selected(f, func(sel selection) error {
		return s.each(ctx, lettersListSQL, list(&letters, scanLetter), idOrNull(before), sel.filter, sel.ids, limit)
	})
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	return letters, nil
}

// WholeLetters gives letters with everything, in the order of filing, after the one with
// an id. A page is at most limit letters and some megabytes; an empty one is the end.
func (s *Store) WholeLetters(ctx context.Context, f deadletter.Filter, after string, limit int) (
	[]deadletter.Letter, error,
) {
	var letters []deadletter.Letter
	err := selected(f, func(sel selection) error {
		return s.each(ctx, lettersPageSQL, list(&letters, scanLetter), idOrNull(after), sel.filter, sel.ids, limit,
			maxLetterBytes)
	})
	if err == nil {
		err = s.noteAnswers(ctx, s.pool, pointers(letters, func(l *deadletter.Letter) *deadletter.Letter { return l }))
	}
	if err != nil {
		return nil, fmt.Errorf("read dead letters: %w", err)
	}
	return letters, nil
}

func selected(f deadletter.Filter, do func(selection) error) error {
	sel, err := selectLetters(f)
	if err != nil {
		return err
	}
	return do(sel)
}

// Letter gives a letter with everything, and its failures from the first one on, so many
// at most. No such letter is deadletter.ErrNotFound.
func (s *Store) Letter(ctx context.Context, id string, failures int) (
	letter deadletter.Letter, attempts []deadletter.Attempt, err error,
) {
	found := false
	t := &trip{}
	t.query("read dead letter", letterGetSQL, func(rows pgx.Rows) (err error) {
		found = true
		letter, err = scanLetter(rows)
		return err
	}, id)
	t.query("read failures of a dead letter", letterAttemptsSQL, list(&attempts, scanAttempt), id, failures)
	if err := t.send(ctx, s, s.pool); err != nil {
		return letter, nil, err
	}
	if !found {
		return letter, nil, fmt.Errorf("dead letter %s: %w", id, deadletter.ErrNotFound)
	}
	return letter, attempts, s.noteAnswers(ctx, s.pool, []*deadletter.Letter{&letter})
}

// LetterGroups gives the groups with most letters, so many at most.
func (s *Store) LetterGroups(ctx context.Context, f deadletter.Filter, limit int) ([]deadletter.Group, error) {
	var groups []deadletter.Group
	err := selected(f, func(sel selection) error {
		return s.each(ctx, lettersGroupsSQL, list(&groups, scanGroup), sel.filter, sel.ids, limit)
	})
	if err != nil {
		return nil, fmt.Errorf("group dead letters: %w", err)
	}
	return groups, nil
}

// LetterCounts counts letters by status, type and reason.
func (s *Store) LetterCounts(ctx context.Context, f deadletter.Filter) ([]deadletter.Count, error) {
	var counts []deadletter.Count
	err := selected(f, func(sel selection) error {
		return s.each(ctx, lettersStatsSQL, list(&counts, scanCount), sel.filter, sel.ids)
	})
	if err != nil {
		return nil, fmt.Errorf("count dead letters: %w", err)
	}
	return counts, nil
}

// letterTargets are where the columns of letter_get.sql go.
func letterTargets(l *deadletter.Letter, headers *[]byte) []any {
	return []any{
		toText{&l.ID}, &l.MessageID, &l.Queue, toHash{&l.Hash}, &l.Type, toText{(*string)(&l.Status)},
		toText{(*string)(&l.Outcome)}, &l.Reason, &l.Error, &l.Fingerprint, &l.Host, &l.Version, &l.Attempts, &l.Failures,
		toTime{&l.First}, toTime{&l.Last}, toTime{&l.Filed}, toTime{&l.Changed}, &l.Order, &l.Coupons, &l.Note,
		toText{&l.EditedFrom}, toText{&l.Job}, &l.Exchange, &l.RoutingKey, &l.ContentType, &l.CorrelationID, &l.ReplyTo,
		toTime{&l.Sent}, headers, &l.Size, &l.Body, &l.Redacted, &l.Answered,
	}
}

func scanLetter(row scanTarget) (l deadletter.Letter, err error) {
	var headers []byte
	if err := row.Scan(letterTargets(&l, &headers)...); err != nil {
		return l, err
	}
	if err := json.Unmarshal(headers, &l.Headers); err != nil {
		return l, fmt.Errorf("headers of dead letter %s: %w", l.ID, err)
	}
	return l, nil
}

func scanAttempt(row scanTarget) (a deadletter.Attempt, err error) {
	err = row.Scan(toTime{&a.Failed}, toTime{&a.Filed}, &a.Attempts, &a.Reason, &a.Error, &a.Host, &a.Version,
		toText{&a.Job})
	return a, err
}

func scanGroup(row scanTarget) (g deadletter.Group, err error) {
	err = row.Scan(&g.Fingerprint, &g.Type, &g.Reason, &g.Error, toText{&g.Sample}, &g.Letters, toTime{&g.First},
		toTime{&g.Last})
	return g, err
}

func scanCount(row scanTarget) (c deadletter.Count, err error) {
	err = row.Scan(toText{(*string)(&c.Status)}, &c.Type, &c.Reason, &c.Letters, toTime{&c.Oldest}, toTime{&c.LastFailed})
	return c, err
}
