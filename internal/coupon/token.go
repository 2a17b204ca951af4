package coupon

import "crypto/subtle"

// equal compares in constant time, so that an answer's delay tells nothing.
func (h TokenHash) equal(other TokenHash) bool {
	return subtle.ConstantTimeCompare(h[:], other[:]) == 1
}
