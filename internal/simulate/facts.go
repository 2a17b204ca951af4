package simulate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"couponlease/internal/coupon"
)

// defaultValidity is how long the coupons of a case are valid.
const defaultValidity = 30 * 24 * time.Hour

// defaultAmount is what an order of a case costs, and what a payment or refund
// of it moves.
const defaultAmount int64 = 100

// fact translates a step to what the engine is asked.
func (r *run) fact(ctx context.Context, step *Step) (coupon.Fact, error) {
	for _, id := range []string{step.Order, step.Parent, step.Supersedes} {
		if id != "" && !slices.Contains(r.orders, r.name(id)) {
			r.orders = append(r.orders, r.name(id))
		}
	}
	order, parent := r.name(step.Order), r.name(step.Parent)
	amount := defaultAmount
	if step.Amount != nil {
		amount = *step.Amount
	}
	switch step.Do {
	case "OrderPlaced":
		return r.placed(ctx, step)
	case "PaymentSucceeded":
		return coupon.PaymentSucceeded{
			Order: order, Parent: parent, Payment: cmp.Or(step.Payment, "pay-"+step.Order),
			Amount: amount, FullPrice: step.Discounted != nil && !*step.Discounted,
		}, nil
	case "OrderClosed":
		return coupon.OrderClosed{Order: order, Parent: parent, Reason: step.Reason}, nil
	case "RefundApproved":
		return coupon.RefundApproved{
			Order: order, Parent: parent, Refund: cmp.Or(step.Refund, "r-"+step.Order),
			Amount: amount, Reason: cmp.Or(step.Reason, "customer"),
		}, nil
	case "LeaseExpiryDue":
		return r.leaseDue(ctx, step)
	default:
		return nil, unsupportedError{step.Do}
	}
}

func (r *run) placed(ctx context.Context, step *Step) (coupon.Fact, error) {
	f := coupon.OrderPlaced{
		Order: r.name(step.Order), Payable: defaultAmount, Revision: step.Revision,
		Supersedes: r.name(step.Supersedes), Parent: r.name(step.Parent),
	}
	if step.Customer != nil {
		f.Customer = r.person(*step.Customer)
	}
	if step.Payable != nil {
		f.Payable = *step.Payable
	}
	switch text := string(step.Lease); text {
	case "":
	case "null":
		f.OpenEnded = true
	default:
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || seconds <= 0 {
			return nil, fmt.Errorf("lease %s: want seconds above 0, or null", text)
		}
		f.Lease = time.Duration(seconds * float64(time.Second))
	}
	var token *coupon.TokenHash
	if step.Token != "" {
		hash, err := r.token(ctx, step.Token)
		if err != nil {
			return nil, err
		}
		token = &hash
	}
	for _, code := range step.Coupons {
		id := r.coupon(code)
		if !slices.ContainsFunc(f.Wanted, func(w coupon.Wanted) bool { return w.Coupon == id }) {
			f.Wanted = append(f.Wanted, coupon.Wanted{Coupon: id, Token: token, Discount: step.Discount})
		}
	}
	return f, nil
}

// leaseDue gives the timer of a lease named order/coupon#generation. A renewed
// lease has one timer per renewal; the name means the latest.
func (r *run) leaseDue(ctx context.Context, step *Step) (coupon.Fact, error) {
	var name string
	if err := json.Unmarshal(step.Lease, &name); err != nil {
		return nil, fmt.Errorf("lease: %w", err)
	}
	row, err := r.lease(ctx, name)
	if err != nil {
		return nil, err
	}
	f := coupon.LeaseDue{
		Coupon: row.Coupon, Order: row.Order, LeaseID: row.LeaseID,
		TokenHash: row.TokenHash, Version: row.Version,
	}
	if step.Fact == "PAID" {
		order, _, _ := strings.Cut(name, "/")
		f.PaidFact = "fact-" + order
	}
	return f, nil
}

// lease finds the latest evidence of a named lease. A lease that was never
// granted is not an error: its timer is stale.
func (r *run) lease(ctx context.Context, name string) (coupon.LeaseRow, error) {
	order, rest, slash := strings.Cut(name, "/")
	code, number, hash := strings.Cut(rest, "#")
	generation, err := strconv.ParseInt(number, 10, 64)
	if !slash || !hash || err != nil {
		return coupon.LeaseRow{}, fmt.Errorf("lease %q: want order/coupon#generation", name)
	}
	history, _, err := r.backend.History(ctx, r.coupon(code))
	if err != nil {
		return coupon.LeaseRow{}, err
	}
	found := coupon.LeaseRow{Coupon: r.coupon(code), Order: r.name(order), LeaseID: "never granted"}
	var count int64
	for _, row := range history.Leases {
		mine := !row.Renewal && row.Order == r.name(order)
		if mine {
			count++
		}
		if mine && (count == generation || row.Generation == generation && found.Version == 0) {
			found = row
		}
	}
	for _, row := range history.Leases {
		if row.LeaseID == found.LeaseID && row.Version > found.Version {
			found = row
		}
	}
	return found, nil
}

func (r *run) token(ctx context.Context, name string) (coupon.TokenHash, error) {
	row, err := r.lease(ctx, name)
	if err != nil {
		return coupon.TokenHash{}, err
	}
	if row.Version == 0 {
		return coupon.HashToken(name), nil
	}
	return row.TokenHash, nil
}

func (t TemplateSetup) isZero() bool { return t.Until == nil && t.Days == 0 && t.Budget == nil }

// until reads the end of validity: absent is the default, null is none.
func (t TemplateSetup) until(t0 time.Time) (time.Time, error) {
	switch {
	case t.Until == nil && t.Days > 0:
		return time.Time{}, nil
	case t.Until == nil:
		return t0.Add(defaultValidity), nil
	}
	var at *Instant
	if err := json.Unmarshal(t.Until, &at); err != nil {
		return time.Time{}, err
	}
	if at == nil {
		return time.Time{}, nil
	}
	return at.From(t0), nil
}

func limit(n *int64) int64 {
	if n == nil {
		return coupon.NoLimit
	}
	return *n
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
