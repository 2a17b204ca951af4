package engine

import (
	"fmt"

	"github.com/google/uuid"

	"couponlease/internal/coupon"
	"couponlease/internal/leasetoken"
)

// NewSource gives UUIDv7 ids, and tokens made from the keys and the lease's id.
// Without randomness no id is unique, so its absence ends the process.
func NewSource(keys leasetoken.Keys) coupon.Source {
	return coupon.Source{
		ID: func() string {
			id, err := uuid.NewV7()
			if err != nil {
				panic(fmt.Errorf("draw an id: %w", err))
			}
			return id.String()
		},
		Token: func(lease, _, _ string, _ int64) coupon.TokenHash { return keys.Hash(lease) },
	}
}
