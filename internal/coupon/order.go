package coupon

import (
	"slices"
	"strings"
	"time"
)

// Limits on what one order may gather; more is refused as TOO_MANY_FACTS.
const (
	MaxPayments = 200
	MaxCloses   = 200
	MaxRefunds  = 500
	MaxChildren = 200
	MaxNamed    = 200
)

// Payment is one distinct payment of an order.
type Payment struct {
	ID     string    `json:"id"`
	Amount int64     `json:"amount"`
	At     time.Time `json:"at"`
	// FullPrice says that the order was re-priced without the discount.
	FullPrice bool `json:"fullPrice,omitempty"`
}

// Close is one distinct close of an order.
type Close struct {
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

// attemptPrefix marks close reasons that concern one payment attempt only.
const attemptPrefix = "payment_"

// Attempt says whether the close concerns one payment attempt only.
func (c Close) Attempt() bool { return strings.HasPrefix(c.Reason, attemptPrefix) }

// Refund is one distinct refund of an order.
type Refund struct {
	ID     string
	Amount int64
	Reason string
	At     time.Time
	// Decided lists the coupons for which this refund has its decision.
	Decided []string
}

// Named is a coupon that an order named, and how far the order got with it.
type Named struct {
	Coupon string
	// Refusal is why the last attempt to obtain it failed, or Returned when a
	// refund ended its use; "" otherwise.
	Refusal Code
	// LeaseID and RedemptionID are the last ones this order had; "" for none.
	LeaseID, RedemptionID string
	QuoteID               string
	Discount              int64
	PolicyVersion         int64
	// Dropped says that a later revision no longer names the coupon.
	Dropped bool
	// Reviews are the reviews opened for this order and coupon.
	Reviews []ReviewReason
}

// Order holds the facts known about one order id. A fact is recorded whenever
// it comes; what follows is Settle's business.
type Order struct {
	ID string
	// Parent joins a split order to its parent; Children lists the other way.
	Parent   string
	Children []string
	// Supersedes and SupersededBy link an edited order to its earlier self.
	Supersedes, SupersededBy string

	Placed   bool
	PlacedAt time.Time
	Revision int64
	Customer string
	Payable  int64
	Currency string

	Payments []Payment
	Closes   []Close
	Refunds  []Refund
	Named    []Named
	// Reviews are the reviews opened for the order as a whole.
	Reviews []ReviewReason
}

// Known says whether any fact about the order has been recorded.
func (o *Order) Known() bool {
	return o.Placed || len(o.Payments)+len(o.Closes)+len(o.Refunds)+len(o.Children) > 0
}

// Head is the order id under which leases and redemptions are held: the parent
// of a split order, else the order itself.
func (o *Order) Head() string {
	if o.Parent != "" {
		return o.Parent
	}
	return o.ID
}

// Links lists the other orders that are settled together with this one.
func (o *Order) Links() []string {
	links := slices.Clone(o.Children)
	for _, id := range []string{o.Parent, o.Supersedes, o.SupersededBy} {
		if id != "" {
			links = append(links, id)
		}
	}
	return links
}

// Named returns the entry of a coupon, or nil.
func (o *Order) named(coupon string) *Named {
	for i := range o.Named {
		if o.Named[i].Coupon == coupon {
			return &o.Named[i]
		}
	}
	return nil
}

// Clone gives an independent copy.
func (o *Order) Clone() *Order {
	c := *o
	c.Children = slices.Clone(o.Children)
	c.Payments = slices.Clone(o.Payments)
	c.Closes = slices.Clone(o.Closes)
	c.Reviews = slices.Clone(o.Reviews)
	c.Refunds = slices.Clone(o.Refunds)
	for i := range c.Refunds {
		c.Refunds[i].Decided = slices.Clone(c.Refunds[i].Decided)
	}
	c.Named = slices.Clone(o.Named)
	for i := range c.Named {
		c.Named[i].Reviews = slices.Clone(c.Named[i].Reviews)
	}
	return &c
}
