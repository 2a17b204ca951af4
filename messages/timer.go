package messages

import "time"

// MaxLeasesPerTimer is how many leases one timer message may carry. It is
// chosen so that the longest permitted ids still fit into MaxBody.
const MaxLeasesPerTimer = 96

// LeaseExpired is the product's own delayed message: these leases are due. It
// is a hint; whether a lease is due is for the database to say.
type LeaseExpired struct {
	// Leases that fall due in the same second.
	Leases []LeaseDue `json:"leases" jsonschema:"minItems=1,maxItems=96"`
}

// LeaseDue is one lease as it was when the timer was set. If the coupon has
// another lease or version by now, the timer is stale.
type LeaseDue struct {
	// LeaseID names the lease.
	LeaseID string `json:"leaseId" jsonschema:"minLength=1,maxLength=200"`
	// CouponID names the leased coupon.
	CouponID string `json:"couponId" jsonschema:"minLength=1,maxLength=200"`
	// OrderID names the order that holds the lease.
	OrderID string `json:"orderId" jsonschema:"minLength=1,maxLength=200"`
	// TokenHash is the SHA-256 of the lease's token in lower-case hexadecimal.
	TokenHash string `json:"tokenHash" jsonschema:"pattern=^[0-9a-f]{64}$"`
	// Version is the coupon's version after the operation that set the deadline.
	Version int64 `json:"version" jsonschema:"minimum=1,maximum=9007199254740991"`
	// Deadline is when the lease may be released, on the database's clock.
	Deadline time.Time `json:"deadline"`
}

// DecodeLeaseExpired reads the data. The error is a *Malformed.
func DecodeLeaseExpired(e Envelope) (LeaseExpired, error) {
	r, at := e.open(TypeLeaseExpired)
	var expired LeaseExpired
	r.each(at, "leases", 1, MaxLeasesPerTimer, func(element int32) {
		expired.Leases = append(expired.Leases, LeaseDue{
			LeaseID:   r.text(element, "leaseId"),
			CouponID:  r.text(element, "couponId"),
			OrderID:   r.text(element, "orderId"),
			TokenHash: r.hash(element, "tokenHash"),
			Version:   r.requiredInteger(element, "version", 1, MaxNumber),
			Deadline:  r.timeAt(r.need(element, "deadline")),
		})
	})
	return expired, r.err()
}
