package store

import (
	"context"
	_ "embed"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/deadletter"
)

//go:embed sql/letters_answered.sql
var lettersAnsweredSQL string

// noteAnswers tells letters that lost their lease token whether their command has an
// answer: its sender has asked again meanwhile, or the answer had come after all. Facts are
// remembered by the id of their message, which the statements that read letters look up.
func (s *Store) noteAnswers(ctx context.Context, conn batchSender, letters []*deadletter.Letter) error {
	unanswered := map[string][]*deadletter.Letter{}
	for _, l := range letters {
		if !l.Redacted || l.Answered {
			continue
		}
		if command, found := l.Command(); found {
			unanswered[command.Key] = append(unanswered[command.Key], l)
		}
	}
	if len(unanswered) == 0 {
		return nil
	}
	t := &trip{}
	t.query("look for the answers of commands", lettersAnsweredSQL, func(rows pgx.Rows) error {
		var answered deadletter.Command
		if err := rows.Scan(&answered.Key, &answered.Kind, &answered.Coupon, &answered.Order); err != nil {
			return err
		}
		for _, l := range unanswered[answered.Key] {
			l.Answered = l.IsCommand(answered)
		}
		return nil
	}, texts(slices.Sorted(maps.Keys(unanswered))))
	return t.send(ctx, s, conn)
}

// pointers gives the letters of a list, to be changed in it.
func pointers[T any](list []T, letter func(*T) *deadletter.Letter) []*deadletter.Letter {
	all := make([]*deadletter.Letter, len(list))
	for i := range list {
		all[i] = letter(&list[i])
	}
	return all
}
