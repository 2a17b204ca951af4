package store

import (
	"time"

	"couponlease/internal/coupon"
)

// Remembers says whether a message of the request's time has an inbox row when it is
// answered now. One outside the window is protected by business keys only.
func (s *Store) Remembers(r *coupon.Request, now time.Time) bool {
	return s.windowAt(now).holds(r.At)
}
