package coupon

import "time"

// Command is a fact that asks for a change and gets an answer. Its request carries
// an idempotency key: the same key with the same content gets the first answer
// again, other content is refused.
type Command interface {
	Fact
	// kind names the command in its answer.
	kind() string
	// carryOut does what is asked, or says why not, and notes either in the answer.
	carryOut(w *World, a *Answer, at Fields)
}

// LockCoupon asks for a short lease while a buyer decides.
type LockCoupon struct {
	Coupon, Order, Customer string
	// Lease is how long; 0 takes the rule's default.
	Lease time.Duration
}

// RedeemRequested asks, for a till, to hold a coupon while the shop's own work is
// done. The lease belongs to the redeem number of the request.
type RedeemRequested struct {
	Coupon, Request, Customer string
	// Lease is how long; 0 takes the rule's default.
	Lease time.Duration
}

// RenewLease asks for a later deadline of a lease.
type RenewLease struct {
	Coupon string
	Token  TokenHash
	// Version is the one that the lease's last lock or renewal produced; 0 is any.
	Version int64
	// Lease counts from now; 0 takes the default of the lease's purpose.
	Lease     time.Duration
	OpenEnded bool
}

// ReleaseLease asks to give a leased coupon back.
type ReleaseLease struct {
	Coupon  string
	Token   TokenHash
	Version int64
	Reason  string
}

// RedeemCoupon asks to turn a lease into a redemption. Payment names the payment, or
// the receipt of the till; "" for none.
type RedeemCoupon struct {
	Coupon, Order string
	Token         TokenHash
	Version       int64
	Payment       string
}

// SwapCoupons asks to replace coupons of a placed order: every one in Add is
// obtained and every one in Drop given up, or nothing changes.
type SwapCoupons struct {
	Order string
	Drop  []string
	Add   []Wanted
	// Lease is how long the new ones are held; 0 takes the rule's default.
	Lease time.Duration
}

// VoidCoupon asks to withdraw a coupon, a leased one only with Force.
type VoidCoupon struct {
	Coupon, Reason string
	Force          bool
}

// ReverseChange asks to take a redemption or a withdrawal back.
type ReverseChange struct {
	Coupon string
	// Operation names the ledger row to take back; "" takes the one that holds.
	Operation string
	// ExpectedVersion is the coupon's version; 0 is any.
	ExpectedVersion int64
	Reason          string
}

// redeemPrefix begins the redeem number of a till's request.
const redeemPrefix = "RD"

// RedeemNumber names the redemption that a till's request asks for. It is unique, it
// is the request's idempotency key, and it is the order that holds the lease.
func RedeemNumber(request string) string { return redeemPrefix + request }

func (LockCoupon) Orders() []string      { return nil }
func (RedeemRequested) Orders() []string { return nil }
func (RenewLease) Orders() []string      { return nil }
func (ReleaseLease) Orders() []string    { return nil }
func (f RedeemCoupon) Orders() []string  { return present(f.Order) }
func (f SwapCoupons) Orders() []string   { return present(f.Order) }
func (VoidCoupon) Orders() []string      { return nil }
func (ReverseChange) Orders() []string   { return nil }

func (f LockCoupon) Coupons() []string      { return []string{f.Coupon} }
func (f RedeemRequested) Coupons() []string { return []string{f.Coupon} }
func (f RenewLease) Coupons() []string      { return []string{f.Coupon} }
func (f ReleaseLease) Coupons() []string    { return []string{f.Coupon} }
func (f RedeemCoupon) Coupons() []string    { return []string{f.Coupon} }
func (f SwapCoupons) Coupons() []string {
	ids := make([]string, 0, len(f.Drop)+len(f.Add))
	ids = append(ids, f.Drop...)
	for _, wanted := range f.Add {
		ids = append(ids, wanted.Coupon)
	}
	return ids
}
func (f VoidCoupon) Coupons() []string    { return []string{f.Coupon} }
func (f ReverseChange) Coupons() []string { return []string{f.Coupon} }

func (LockCoupon) kind() string      { return "LockCoupon" }
func (RedeemRequested) kind() string { return "RedeemRequested" }
func (RenewLease) kind() string      { return "RenewLease" }
func (ReleaseLease) kind() string    { return "ReleaseLease" }
func (RedeemCoupon) kind() string    { return "RedeemCoupon" }
func (SwapCoupons) kind() string     { return "SwapCoupons" }
func (VoidCoupon) kind() string      { return "VoidCoupon" }
func (ReverseChange) kind() string   { return "ReverseChange" }
