package messages

import (
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"strconv"
)

// Money is an amount in minor units (cents) of a currency.
type Money struct {
	// Amount is in minor units, at most 10^15.
	Amount int64 `json:"amount" jsonschema:"minimum=0,maximum=1000000000000000"`
	// Currency is an ISO 4217 code of three capital letters.
	Currency string `json:"currency" jsonschema:"pattern=^[A-Z]{3}$"`
}

const redacted = "[redacted]"

// Token is the secret that proves who owns a lease. It travels in messages, but
// printing or logging one shows only that it was there. Nothing else in the
// product ever holds it: databases and timers hold its hash.
type Token string

// Hash is the SHA-256 of the token, which is what may be stored.
func (t Token) Hash() [sha256.Size]byte { return sha256.Sum256([]byte(t)) }

// Format hides the token from every verb of package fmt.
func (t Token) Format(s fmt.State, _ rune) {
	if t != "" {
		// A failed write to a print buffer has nobody to report to.
		_, _ = io.WriteString(s, redacted)
	}
}

// LogValue hides the token from package slog.
func (t Token) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(t)) }

// LeaseTerm is how long an order wants its coupons leased: the configured
// default (the zero value; the field is absent), a number of seconds, or
// without end (the field is null), as offline payment methods need.
type LeaseTerm struct {
	// seconds is 0 for the default and openEnded for no end.
	seconds int64
}

const openEnded = -1

// LeaseFor is a term of so many seconds, 1 to MaxLeaseSeconds. Other numbers
// give a term that Decode functions refuse on the other side.
func LeaseFor(seconds int64) LeaseTerm { return LeaseTerm{seconds: max(seconds, 0)} }

// OpenLease is a term without end.
func OpenLease() LeaseTerm { return LeaseTerm{seconds: openEnded} }

// IsZero reports whether the term is the default, which is left out on the wire.
func (t LeaseTerm) IsZero() bool { return t.seconds == 0 }

// IsOpen reports whether the lease has no end.
func (t LeaseTerm) IsOpen() bool { return t.seconds == openEnded }

// Seconds is the asked length in seconds; ok is false for the default and for
// an open lease.
func (t LeaseTerm) Seconds() (seconds int64, ok bool) { return max(t.seconds, 0), t.seconds > 0 }

// String is "default", "open" or a number of seconds such as "900s".
func (t LeaseTerm) String() string {
	switch {
	case t.IsZero():
		return "default"
	case t.IsOpen():
		return "open"
	default:
		return strconv.FormatInt(t.seconds, 10) + "s"
	}
}

// MarshalJSON writes the number of seconds, or null for no end.
func (t LeaseTerm) MarshalJSON() ([]byte, error) {
	if t.seconds <= 0 {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, t.seconds, 10), nil
}
