package console

import (
	"context"
	"fmt"
	"io"
	"time"

	"couponlease/internal/coupon"
)

// CouponView is one coupon as it is now.
type CouponView struct {
	ID       string       `json:"id"`
	Code     string       `json:"code"`
	State    coupon.State `json:"state"`
	Version  int64        `json:"version"`
	Template string       `json:"template"`
	Owner    string       `json:"owner,omitempty"`
	Batch    string       `json:"batch,omitempty"`
	// Times are zero where there is no bound.
	ValidFrom     time.Time `json:"validFrom,omitzero"`
	ValidUntil    time.Time `json:"validUntil,omitzero"`
	PolicyVersion int64     `json:"policyVersion"`
	// Leases and Redemptions count those it ever had.
	Leases      int64           `json:"leases"`
	Redemptions int64           `json:"redemptions"`
	Lease       *LeaseView      `json:"lease,omitempty"`
	Redemption  *RedemptionView `json:"redemption,omitempty"`
}

// LeaseView is who holds a coupon now.
type LeaseView struct {
	ID      string         `json:"id"`
	Order   string         `json:"order"`
	Purpose coupon.Purpose `json:"purpose"`
	// Deadline is zero for a lease without end.
	Deadline time.Time `json:"deadline,omitzero"`
	Version  int64     `json:"version"`
}

// RedemptionView is who uses a coupon now.
type RedemptionView struct {
	ID      string `json:"id"`
	Order   string `json:"order"`
	Payment string `json:"payment,omitempty"`
	Cycle   int64  `json:"cycle"`
}

func viewOf(c *coupon.Coupon) CouponView {
	view := CouponView{
		ID: c.ID, Code: c.Code, State: c.State, Version: c.Version, Template: c.Template, Owner: c.Owner,
		Batch: c.Batch, ValidFrom: c.ValidFrom, ValidUntil: c.ValidUntil, PolicyVersion: c.PolicyVersion,
		Leases: c.Leases, Redemptions: c.Cycle,
	}
	if l := c.Lease; l != nil {
		view.Lease = &LeaseView{l.ID, l.Order, l.Purpose, l.Deadline, l.Version}
	}
	if r := c.Redemption; r != nil {
		view.Redemption = &RedemptionView{r.ID, r.Order, r.Payment, r.Cycle}
	}
	return view
}

// Coupon reads one coupon by its code, and whether there is such a coupon.
func (d *Database) Coupon(ctx context.Context, code string) (CouponView, bool, error) {
	history, found, err := d.store.History(ctx, coupon.Fold(code))
	if err != nil || !found {
		return CouponView{}, false, err
	}
	return viewOf(history.Coupon), true, nil
}

// WriteText prints one property a line.
func (v CouponView) WriteText(w io.Writer) error {
	out := lines{w: w}
	if v.Version == 0 {
		out.addf("coupon      %s does not exist, but orders named it", v.ID)
		return out.err
	}
	out.addf("coupon      %s", v.Code)
	out.addf("state       %s, version %d", v.State, v.Version)
	if l := v.Lease; l != nil {
		until := "without end"
		if !l.Deadline.IsZero() {
			until = "until " + clockTime(l.Deadline)
		}
		out.addf("held by     order %s %s (%s)", l.Order, until, l.Purpose)
	}
	if r := v.Redemption; r != nil {
		out.addf("used by     order %s, payment %s", r.Order, orDash(r.Payment))
	}
	out.addf("template    %s, return policy %d", v.Template, v.PolicyVersion)
	out.addf("owner       %s", orDash(v.Owner))
	if v.Batch != "" {
		out.addf("batch       %s", v.Batch)
	}
	out.addf("valid       %s to %s", clockTime(v.ValidFrom), clockTime(v.ValidUntil))
	out.addf("so far      %s", fmt.Sprintf("%s, %s", count(v.Leases, "lease"), count(v.Redemptions, "redemption")))
	return out.err
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
