package engine

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"

	"github.com/google/uuid"

	"couponlease/internal/coupon"
)

// tokenBytes is the length of a lease token: 256 random bits.
const tokenBytes = 32

// NewSource gives UUIDv7 ids and unguessable tokens from the system's generator.
// Without randomness no lease can be granted safely, so its absence ends the
// process.
func NewSource() coupon.Source {
	return coupon.Source{
		ID: func() string {
			id, err := uuid.NewV7()
			if err != nil {
				panic(fmt.Errorf("draw an id: %w", err))
			}
			return id.String()
		},
		Token: func(string, string, string, int64) coupon.TokenHash {
			var secret [tokenBytes]byte
			if _, err := rand.Read(secret[:]); err != nil {
				panic(fmt.Errorf("draw a token: %w", err))
			}
			return coupon.HashToken(base64.RawURLEncoding.EncodeToString(secret[:]))
		},
	}
}
