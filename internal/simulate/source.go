package simulate

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/google/uuid"

	"couponlease/internal/coupon"
)

// NewSource gives ids and tokens that are the same in every run with the same
// seed: ids keep the order in which they were made, as UUIDv7 do.
func NewSource(seed string) coupon.Source {
	sum := sha256.Sum256([]byte(seed))
	var count uint64
	return coupon.Source{
		ID: func() string {
			count++
			var id uuid.UUID
			for i := range 6 {
				id[i] = byte(count >> (8 * (5 - i)))
			}
			copy(id[6:], sum[:10])
			id[6] = id[6]&0x0f | 0x70
			id[8] = id[8]&0x3f | 0x80
			return id.String()
		},
		Token: func(_, order, id string, generation int64) coupon.TokenHash {
			return coupon.HashToken(TokenOf(seed, order, id, generation))
		},
		Code: func(template string, n int64) string { return coupon.Fold(fmt.Sprintf("%s-%d", template, n)) },
		Zone: time.LoadLocation,
	}
}

// TokenOf gives the token of a lease under a seed. It is made from the lease's name
// in the cases, so that a case can present the token of a lease.
func TokenOf(seed, order, id string, generation int64) string {
	return fmt.Sprintf("%s:%s/%s#%d", seed, order, id, generation)
}
