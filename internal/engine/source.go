package engine

import (
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"sync"
	"time"
	_ "time/tzdata" // a container may have no time zones of its own

	"github.com/google/uuid"

	"couponlease/internal/coupon"
	"couponlease/internal/leasetoken"
)

// NewSource gives UUIDv7 ids, tokens made from the keys and the lease's id, random codes,
// and the time zones of the IANA. Without randomness nothing is unique, so its absence
// ends the process.
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
		Code:  func(string, int64) string { return newCode() },
		Zone:  new(zones).load,
	}
}

// codeAlphabet is Crockford's: nobody takes one of its letters for another or a digit.
var codeAlphabet = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// newCode draws a code of 80 bits: 16 letters and digits, which nobody guesses. That two
// are the same is not to be expected, and would be a code that exists: the transaction
// starts over with another one.
func newCode() string {
	var bits [10]byte
	_, _ = rand.Read(bits[:]) // documented never to fail
	return codeAlphabet.EncodeToString(bits[:])
}

// zones remembers time zones, which are files.
type zones struct{ known sync.Map }

func (z *zones) load(name string) (*time.Location, error) {
	if zone, known := z.known.Load(name); known {
		return zone.(*time.Location), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, err // and is not remembered, as names come from outside
	}
	z.known.Store(name, zone)
	return zone, nil
}
