// Package leasetoken makes lease tokens, and finds them again. A token is a keyed
// hash of the id of its lease: whoever has a key can make it at any time, so that
// it is stored nowhere, and nobody else can guess it.
package leasetoken

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"couponlease/internal/coupon"
	"couponlease/messages"
)

// Limits of keys.
const (
	// MinKey and MaxKey bound one key, in bytes.
	MinKey = 32
	MaxKey = 1024
	// MaxKeys is the most keys in use at the same time.
	MaxKeys = 8
)

// purpose separates tokens from whatever else might be made from the same key.
const purpose = "couponlease lease token\n"

// Keys are the keys that tokens are made from: the first one makes new tokens, the
// others only find those that they made when they were first. The zero value has no
// key, can make no token, and panics when asked to. Keys never print.
type Keys struct {
	// list gives the keys. It is a function because package fmt prints what it finds
	// in unexported fields without asking their methods, and nothing of a function
	// but its address.
	list func() [][]byte
}

// New takes 1 to MaxKeys keys of MinKey to MaxKey bytes each, which it copies. Its
// errors never show a key.
func New(keys ...[]byte) (Keys, error) {
	if len(keys) == 0 {
		return Keys{}, errors.New("there is no key")
	}
	if len(keys) > MaxKeys {
		return Keys{}, fmt.Errorf("there are %d keys; use at most %d", len(keys), MaxKeys)
	}
	list := make([][]byte, len(keys))
	for i, key := range keys {
		if len(key) < MinKey || len(key) > MaxKey {
			return Keys{}, fmt.Errorf("key %d has %d bytes; use %d to %d", i+1, len(key), MinKey, MaxKey)
		}
		list[i] = slices.Clone(key)
	}
	return Keys{list: func() [][]byte { return list }}, nil
}

// Random draws one key that nobody else has: tokens made with it can be found again
// as long as the process lives, and only by it.
func Random() Keys {
	key := make([]byte, MinKey)
	// It never fails: without randomness the process ends.
	_, _ = rand.Read(key)
	return Keys{list: func() [][]byte { return [][]byte{key} }}
}

// Hash is what is kept of the token of a lease, made with the first key.
func (k Keys) Hash(leaseID string) coupon.TokenHash {
	return coupon.HashToken(token(k.list()[0], leaseID))
}

// Secret is the token of a lease that has the hash. It is false when no key made
// that token, or the hash is another lease's.
func (k Keys) Secret(leaseID string, hash coupon.TokenHash) (messages.Token, bool) {
	for _, key := range k.list() {
		secret := token(key, leaseID)
		made := coupon.HashToken(secret)
		if subtle.ConstantTimeCompare(made[:], hash[:]) == 1 {
			return messages.Token(secret), true
		}
	}
	return "", false
}

func token(key []byte, leaseID string) string {
	mac := hmac.New(sha256.New, key)
	// A hash takes everything.
	_, _ = io.WriteString(mac, purpose)
	_, _ = io.WriteString(mac, leaseID)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// redacted stands in the place of keys.
const redacted = "[lease token keys]"

// Format hides the keys from every verb of package fmt.
func (Keys) Format(s fmt.State, _ rune) {
	// A failed write to a print buffer has nobody to report to.
	_, _ = io.WriteString(s, redacted)
}

// LogValue hides the keys from package slog.
func (Keys) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON hides the keys from package json.
func (Keys) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
