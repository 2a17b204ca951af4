package simulate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"couponlease/internal/coupon"
)

// defaultAmount is what an order of a case costs, and what a payment or refund
// of it moves.
const defaultAmount int64 = 100

// defaultReason is why money goes back.
const defaultReason = "customer"

// supported says whether the operation of a step exists yet.
func supported(operation string) bool {
	switch operation {
	case "OrderPlaced", "PaymentSucceeded", "OrderClosed", "RefundApproved",
		"LeaseExpiryDue", "Import", "ExpireScan", "Reconcile",
		"Lock", "Renew", "Redeem", "Release", "Swap", "Void", "Reverse", "Claim", "EditTemplate", "EraseCustomer":
		return true
	default:
		return false
	}
}

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
			Order: order, Parent: parent, Payment: paymentOf(step),
			Amount: amount, FullPrice: step.Discounted != nil && !*step.Discounted,
		}, nil
	case "OrderClosed":
		return coupon.OrderClosed{Order: order, Parent: parent, Reason: step.Reason}, nil
	case "RefundApproved":
		return coupon.RefundApproved{
			Order: order, Parent: parent, Refund: cmp.Or(step.Refund, "r-"+step.Order),
			Amount: amount, Reason: cmp.Or(step.Reason, defaultReason),
		}, nil
	case "LeaseExpiryDue":
		return r.leaseDue(ctx, step)
	case "Claim":
		return r.claim(step), nil
	case "EditTemplate":
		return r.edit(ctx, step)
	default:
		return r.command(ctx, step)
	}
}

// paymentOf names the payment of a step.
func paymentOf(step *Step) string { return cmp.Or(step.Payment, "pay-"+step.Order) }

func (r *run) placed(ctx context.Context, step *Step) (coupon.Fact, error) {
	f := coupon.OrderPlaced{
		Order: r.name(step.Order), Payable: defaultAmount, Revision: step.Revision,
		Supersedes: r.name(step.Supersedes), Parent: r.name(step.Parent),
	}
	if step.Customer != nil {
		f.Customer = r.name(*step.Customer)
	}
	if step.Payable != nil {
		f.Payable = *step.Payable
	}
	var err error
	if f.Lease, f.OpenEnded, err = leaseTerm(step.Lease); err != nil {
		return nil, err
	}
	var token coupon.TokenHash
	var proves string // the coupon whose lease the token is of
	if step.Token != "" {
		name, err := parseLease(step.Token)
		if err != nil {
			return nil, fmt.Errorf("token: %w", err)
		}
		proves = r.coupon(name.coupon)
		if token, err = r.token(ctx, name); err != nil {
			return nil, err
		}
	}
	for _, code := range step.Coupons {
		wanted := coupon.Wanted{Coupon: r.coupon(code), Discount: step.Discount}
		if proves != "" && wanted.Coupon == proves {
			wanted.Token = &token
		}
		f.Wanted = append(f.Wanted, wanted)
	}
	return f, nil
}

// leaseTerm reads how long an order holds its coupons: absent or not above 0 is
// the default, null is for ever.
func leaseTerm(lease json.RawMessage) (term time.Duration, openEnded bool, err error) {
	switch text := string(lease); text {
	case "":
		return 0, false, nil
	case "null":
		return 0, true, nil
	default:
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, false, fmt.Errorf("lease %s: want seconds or null", text)
		}
		return time.Duration(max(0, seconds) * float64(time.Second)), false, nil
	}
}

// leaseDue gives the timer of a named lease. A renewed lease has one timer per
// renewal; the name means the latest.
func (r *run) leaseDue(ctx context.Context, step *Step) (coupon.Fact, error) {
	var text string
	if err := json.Unmarshal(step.Lease, &text); err != nil {
		return nil, fmt.Errorf("lease %q: want its name", step.Lease)
	}
	name, err := parseLease(text)
	if err != nil {
		return nil, err
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
		f.PaidFact = r.paidFact(name.order)
	}
	return f, nil
}

// paidFact names the payment that made an order paid, as others know it: the one
// of the case, whose message may still be under way.
func (r *run) paidFact(order string) string {
	for i := range r.c.Sequence {
		if step := &r.c.Sequence[i]; step.Do == "PaymentSucceeded" && step.Order == order {
			return paymentOf(step)
		}
	}
	return paymentOf(&Step{Order: order})
}
