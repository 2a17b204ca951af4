package config

import (
	"time"

	"couponlease/internal/coupon"
)

// Rules are the settings that decisions depend on. They must be the same wherever an
// engine runs: on all replicas, and where an operator gives commands by hand.
type Rules struct {
	OrderLease time.Duration `name:"order-lease" env:"COUPONLEASE_ORDER_LEASE" default:"15m" min:"1s" max:"8760h" group:"Rules" help:"How long an order holds its coupons when it does not say itself."`

	QuoteLease time.Duration `name:"quote-lease" env:"COUPONLEASE_QUOTE_LEASE" default:"2m" min:"1s" max:"24h" group:"Rules" help:"How long a buyer who decides holds a coupon when the lock command does not say itself."`

	TillLease time.Duration `name:"till-lease" env:"COUPONLEASE_TILL_LEASE" default:"1m" min:"1s" max:"24h" group:"Rules" help:"How long a till holds a coupon while the shop does its own work, when the request does not say itself."`

	LongestLease time.Duration `name:"longest-lease" env:"COUPONLEASE_LONGEST_LEASE" default:"24h" min:"1s" max:"8760h" group:"Rules" help:"Longest lease that a quote or a till may ask for, at first and by renewals."`

	RenewGrace time.Duration `name:"renew-grace" env:"COUPONLEASE_RENEW_GRACE" default:"1h" min:"0s" max:"8760h" group:"Rules" help:"How long after the end of its validity a coupon may stay leased by renewals. 0s: not at all."`

	Stacking string `name:"stacking" env:"COUPONLEASE_STACKING" default:"ALL" oneof:"ALL PARTIAL" group:"Rules" help:"ALL: an order obtains all its coupons or none; PARTIAL: each for itself."`

	FutureTolerance time.Duration `name:"future-tolerance" env:"COUPONLEASE_FUTURE_TOLERANCE" default:"24h" min:"0s" max:"48h" group:"Rules" help:"How far ahead of the database's clock a message may claim to have happened. 0s: not at all."`
}

// ForCoupons gives the rules as the core reads them.
func (r Rules) ForCoupons() coupon.Rules {
	return coupon.Rules{
		OrderLease: r.OrderLease, QuoteLease: r.QuoteLease, TillLease: r.TillLease, LongestLease: r.LongestLease,
		RenewGrace: r.RenewGrace,
		Stacking:   coupon.Stacking(r.Stacking), FutureTolerance: r.FutureTolerance,
	}
}

// CheckRules returns an *Error that lists everything wrong with the rules, nil if
// nothing is.
func (r Rules) CheckRules() error { return check(flagsOf(&r), nil) }
