package store

import (
	"context"
	_ "embed"
	"fmt"

	"couponlease/internal/coupon"
)

var (
	//go:embed sql/alone.sql
	aloneSQL string
	//go:embed sql/rationed_templates.sql
	rationedTemplatesSQL string
	//go:embed sql/claimants.sql
	claimantsSQL string
)

// Rationed lists the campaigns whose claims are limited and open, in the order of their ids.
func (s *Store) Rationed(ctx context.Context) ([]*coupon.Template, error) {
	var rows []*coupon.Template
	if err := s.each(ctx, rationedTemplatesSQL, list(&rows, scanTemplateRow)); err != nil {
		return nil, fmt.Errorf("read the campaigns with limits: %w", err)
	}
	return rows, nil
}

// Alone does some work on a campaign while nobody else on this schema does. The work may
// use this store: one connection at most is kept waiting for such works, so that there are
// always others. A connection that is lost meanwhile gives the campaign up early.
func (s *Store) Alone(ctx context.Context, template string, work func(context.Context) error) error {
	select {
	case s.restocking <- struct{}{}:
		defer func() { <-s.restocking }()
	case <-ctx.Done():
		return fmt.Errorf("wait for work on another campaign: %w", ctx.Err())
	}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("get a database connection: %w", err)
	}
	defer giveBack(ctx, conn)
	t := &trip{}
	t.exec("begin", beginSQL)
	t.exec("lock the campaign", aloneSQL, template)
	if err := t.send(ctx, s, conn); err != nil {
		return err
	}
	return work(ctx)
}

// Claimants lists, after one and in order, persons who have a coupon of a campaign that they
// claimed or were issued.
func (s *Store) Claimants(ctx context.Context, template, after string, limit int) ([]string, error) {
	var persons []string
	err := s.each(ctx, claimantsSQL, list(&persons, func(row scanTarget) (person string, err error) {
		err = row.Scan(&person)
		return person, err
	}), template, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list who has a coupon of template %s: %w", template, err)
	}
	return persons, nil
}

// AnswersTo gives what commands were answered, by key; those that were not carried out are
// not among them. It takes no locks.
func (s *Store) AnswersTo(ctx context.Context, keys []string) (map[string]*coupon.Answer, error) {
	var answers []*coupon.Answer
	if err := s.each(ctx, readAnswersSQL, list(&answers, scanAnswerRow), texts(keys)); err != nil {
		return nil, fmt.Errorf("read the answers to %d commands: %w", len(keys), err)
	}
	known := make(map[string]*coupon.Answer, len(answers))
	for _, a := range answers {
		known[a.Key] = a
	}
	return known, nil
}
