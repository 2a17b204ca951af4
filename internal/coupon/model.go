package coupon

import (
	"crypto/sha256"
	"time"
)

// TokenHash is the SHA-256 of a lease token. The token itself is never stored.
type TokenHash [sha256.Size]byte

// HashToken gives the hash under which a token is kept.
func HashToken(token string) TokenHash { return sha256.Sum256([]byte(token)) }

// Lease is the temporary ownership of a coupon by one order.
type Lease struct {
	// ID is unique; Generation counts the leases of this coupon from 1.
	ID         string
	Generation int64
	Order      string
	TokenHash  TokenHash
	Purpose    Purpose
	// Deadline is when the lease may be released; zero means open-ended.
	Deadline time.Time
	// AcquiredVersion is the coupon version that the lock produced;
	// Version is the one the last lock or renewal produced.
	AcquiredVersion int64
	Version         int64
}

// Redemption is the active use of a coupon by one order.
type Redemption struct {
	ID            string
	Cycle         int64
	Order         string
	Payment       string
	LeaseID       string
	OperationID   string
	PolicyVersion int64
}

// Coupon is one coupon row. The current lease and the active redemption live on
// it, so that ownership is one row.
type Coupon struct {
	// ID is the folded code, Code the code as it was issued.
	ID, Code string
	Template string
	// Owner is the person who holds it; "" is a bearer code.
	Owner string
	Batch string
	// Origin is how it came into being. ClaimNo tells the claims of one owner in one
	// batch apart, from 1; 0 for coupons that nobody claimed and for owners not known.
	Origin  Origin
	ClaimNo int64
	// TemplateVersion is the version of the template that it was issued under.
	TemplateVersion int64
	State           State
	Version         int64
	// ValidFrom and ValidUntil bound the validity; a zero time is no bound, and
	// a coupon is valid at from and no longer valid at until.
	ValidFrom, ValidUntil time.Time
	PolicyVersion         int64
	// Leases counts the leases granted, Cycle the redemptions, ever.
	Leases, Cycle int64
	Lease         *Lease
	Redemption    *Redemption
	// VoidedFrom is the state before VOID, for an operator's REVERSE.
	VoidedFrom State
}

// LeasedTo says whether order holds the current lease.
func (c *Coupon) LeasedTo(order string) bool {
	return c.State == Locked && c.Lease != nil && c.Lease.Order == order
}

// UsedBy says whether order has the active redemption.
func (c *Coupon) UsedBy(order string) bool {
	return c.State == Used && c.Redemption != nil && c.Redemption.Order == order
}

// Over says whether the validity is over at now.
func (c *Coupon) Over(now time.Time) bool {
	return !c.ValidUntil.IsZero() && !now.Before(c.ValidUntil)
}

// Clone gives an independent copy.
func (c *Coupon) Clone() *Coupon {
	d := *c
	if c.Lease != nil {
		lease := *c.Lease
		d.Lease = &lease
	}
	if c.Redemption != nil {
		redemption := *c.Redemption
		d.Redemption = &redemption
	}
	return &d
}

// Uses counts the uses one person holds of one template now.
type Uses struct {
	Template, Person string
	Held             int64
}
