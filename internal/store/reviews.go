package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"couponlease/internal/coupon"
)

// Review is a case with what became of it.
type Review struct {
	coupon.ReviewRow
	// ResolvedAt is zero while the case is open.
	ResolvedAt                   time.Time
	Resolution, ResolvedBy, Note string
}

// ReviewFilter selects cases; zero fields select everything.
type ReviewFilter struct {
	Order, Coupon string
	Reason        coupon.ReviewReason
	OpenOnly      bool
	// After is the id of the last case of the page before.
	After string
	// Limit bounds the answer; zero is one page.
	Limit int
}

// Reviews lists cases, oldest first.
func (s *Store) Reviews(ctx context.Context, filter ReviewFilter) ([]Review, error) {
	var reviews []Review
	err := s.each(ctx, reviewsSQL, list(&reviews, scanReviewRow), cmp.Or(filter.After, noUUID), filter.Order,
		filter.Coupon, string(filter.Reason), filter.OpenOnly, cmp.Or(filter.Limit, s.options.PageSize))
	if err != nil {
		return nil, fmt.Errorf("read reviews: %w", err)
	}
	return reviews, nil
}

// Review gives one case, nil when there is none with this id.
func (s *Store) Review(ctx context.Context, id string) (*Review, error) {
	var reviews []Review
	if err := s.each(ctx, readReviewsSQL, list(&reviews, scanReviewRow), uuids{id}); err != nil {
		return nil, fmt.Errorf("read review %s: %w", id, err)
	}
	if len(reviews) == 0 {
		return nil, nil
	}
	return &reviews[0], nil
}

func scanReviewRow(row scanTarget) (r Review, err error) {
	var evidence []byte
	err = row.Scan(toText{&r.ID}, &r.Order, &r.Coupon, toText{(*string)(&r.Reason)}, &r.Suggestion, &r.Cause,
		toTime{&r.At}, toTime{&r.ResolvedAt}, &r.Resolution, &r.ResolvedBy, &r.Note, &evidence)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(evidence, &r.Evidence); err != nil {
		return r, fmt.Errorf("evidence of review %s: %w", r.ID, err)
	}
	return r, nil
}
