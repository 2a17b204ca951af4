package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/coupon"
)

//go:embed sql/read_codes.sql
var readCodesSQL string

//go:embed sql/count_answers.sql
var countAnswersSQL string

// Codes gives, for those of the ids that are coupons, the code as it was issued.
func (s *Store) Codes(ctx context.Context, ids []string) (map[string]string, error) {
	codes := make(map[string]string, len(ids))
	err := s.each(ctx, readCodesSQL, func(rows pgx.Rows) error {
		var id, code string
		if err := rows.Scan(&id, &code); err != nil {
			return err
		}
		codes[id] = code
		return nil
	}, texts(ids))
	if err != nil {
		return nil, fmt.Errorf("read codes: %w", err)
	}
	return codes, nil
}

// AnswerCount is how many messages of one kind got one answer.
type AnswerCount struct {
	Kind     string
	Code     coupon.Code
	Messages int64
}

// Answers counts the answers that the inbox remembers, by kind and code. It reads the
// whole inbox.
func (s *Store) Answers(ctx context.Context) ([]AnswerCount, error) {
	var answers []AnswerCount
	err := s.each(ctx, countAnswersSQL, list(&answers, func(row scanTarget) (a AnswerCount, err error) {
		err = row.Scan(&a.Kind, toText{(*string)(&a.Code)}, &a.Messages)
		return a, err
	}))
	if err != nil {
		return nil, fmt.Errorf("count answers: %w", err)
	}
	return answers, nil
}
