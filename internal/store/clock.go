package store

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

//go:embed sql/free_coupons.sql
var freeCouponsSQL string

// Under gives a store on the same connections with other rules, another source of ids
// and tokens, and another clock. Only s has to be closed.
func (s *Store) Under(rules coupon.Rules, source coupon.Source, now func() time.Time) *Store {
	options := s.options
	options.Rules, options.Source, options.Now = rules, source, now
	return &Store{
		pool: s.pool, options: options, policies: map[int64]policy.Policy{}, restocking: make(chan struct{}, 1),
	}
}

// clock gives the time that counts when the database's clock says now.
func (s *Store) clock(now time.Time) time.Time {
	if s.options.Now == nil {
		return now
	}
	return s.options.Now().Truncate(time.Microsecond)
}

// FreeUntil lists, after cursor and in the order of ids, coupons that are free although
// their validity was over at the given time. It walks all coupons: for virtual time and
// small databases. What sweeps is Expirable.
func (s *Store) FreeUntil(ctx context.Context, at time.Time, cursor string, limit int) ([]string, error) {
	var ids []string
	err := s.each(ctx, freeCouponsSQL, list(&ids, scanText), at, cursor, limit)
	if err != nil {
		return nil, fmt.Errorf("read free coupons whose validity is over: %w", err)
	}
	return ids, nil
}

// Now asks for the time that counts. It is an error when the database cannot be written
// to.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	now, err := s.Ping(ctx)
	return s.clock(now), err
}
