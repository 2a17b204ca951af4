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
