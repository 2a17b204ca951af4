package simulate

import (
	"cmp"
	"context"
	"time"

	"couponlease/internal/coupon"
)

// defaultCoupon is the coupon of a command that names none.
const defaultCoupon = "c1"

// command translates a step that asks for a change.
func (r *run) command(ctx context.Context, step *Step) (coupon.Fact, error) {
	id := r.coupon(cmp.Or(step.Coupon, defaultCoupon))
	token, term, openEnded, err := r.presented(ctx, step)
	if err != nil {
		return nil, err
	}
	switch step.Do {
	case "Lock":
		f := coupon.LockCoupon{Coupon: id, Order: r.name(step.Order), Lease: term}
		if step.Customer != nil {
			f.Customer = r.name(*step.Customer)
		}
		return f, nil
	case "Renew":
		return coupon.RenewLease{Coupon: id, Token: token, Lease: term, OpenEnded: openEnded}, nil
	case "Release":
		return coupon.ReleaseLease{Coupon: id, Token: token, Reason: step.Reason}, nil
	case "Redeem":
		return r.redeem(step, id, token)
	case "Swap":
		f := coupon.SwapCoupons{Order: r.name(step.Order), Lease: term}
		for _, code := range step.Drop {
			f.Drop = append(f.Drop, r.coupon(code))
		}
		for _, code := range step.Add {
			f.Add = append(f.Add, coupon.Wanted{Coupon: r.coupon(code)})
		}
		return f, nil
	case "Void":
		return coupon.VoidCoupon{Coupon: id, Force: step.Force, Reason: step.Reason}, nil
	case "Reverse":
		return coupon.ReverseChange{Coupon: id, ExpectedVersion: step.ExpectedVersion, Reason: step.Reason}, nil
	default:
		return nil, unsupportedError{step.Do}
	}
}

// redeem: whoever redeems a lease answers for the payment. An order that is not
// named is that of the lease whose token is presented.
func (r *run) redeem(step *Step, id string, token coupon.TokenHash) (coupon.Fact, error) {
	order := step.Order
	if order == "" {
		name, err := parseLease(step.Token)
		if err != nil {
			return nil, err
		}
		order = name.order
	}
	return coupon.RedeemCoupon{
		Coupon: id, Order: r.name(order), Token: token, Payment: paymentOf(&Step{Order: order, Payment: step.Payment}),
	}, nil
}

// presented gives the token that a step presents and the term that it asks for.
func (r *run) presented(ctx context.Context, step *Step) (
	token coupon.TokenHash, term time.Duration, openEnded bool, err error,
) {
	if step.Token != "" {
		name, err := parseLease(step.Token)
		if err != nil {
			return token, 0, false, err
		}
		if token, err = r.token(ctx, name); err != nil {
			return token, 0, false, err
		}
	}
	term, openEnded, err = leaseTerm(step.TTL)
	return token, term, openEnded, err
}
