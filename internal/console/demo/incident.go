package demo

import (
	"context"
	"fmt"
	"time"

	"couponlease/internal/console"
	"couponlease/internal/coupon"
	"couponlease/messages"
)

// The incident that the product exists for: order A's payment is stuck on its
// way, A is closed, B takes the coupon, and then A's payment arrives after all.
const (
	incidentCoupon = "coupon_demo_1001"
	orderA         = "order_demo_A"
	orderB         = "order_demo_B"
)

// stepTimeout bounds how long one step of the incident may take to show.
const stepTimeout = 20 * time.Second

// incident plays it through the broker, step by step: each step is published when
// the one before it shows in the database.
type incident struct {
	broker   *console.Broker
	database *console.Database
	// say tells the audience what happens.
	say func(format string, args ...any)

	// paidA is when A's money was taken, closedA when A was closed.
	paidA, closedA time.Time
}

func (i *incident) play(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		i.placeA, i.closeA, i.placeB, i.latePaymentOfA, i.payB, i.repeats,
	} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("the incident: %w", err)
		}
	}
	return nil
}

func (i *incident) publish(ctx context.Context, id string, m messages.Message, copies int) error {
	fact, err := console.NewFact(id, m)
	if err != nil {
		return err
	}
	fact.Repeat, fact.Shape = copies, console.ShapeBinary
	_, err = i.broker.PublishFact(ctx, fact)
	return err
}

// until waits until the coupon is in a state, held or used by an order.
func (i *incident) until(ctx context.Context, state coupon.State, order string) error {
	return eventually(ctx, stepTimeout, func(ctx context.Context) (string, error) {
		view, found, err := i.database.Coupon(ctx, incidentCoupon)
		if err != nil || !found {
			return "the coupon is not there", err
		}
		holder := ""
		switch {
		case view.Lease != nil:
			holder = view.Lease.Order
		case view.Redemption != nil:
			holder = view.Redemption.Order
		}
		if view.State != state || holder != order {
			return fmt.Sprintf("the coupon is %s by %q, not %s by %q", view.State, holder, state, order), nil
		}
		return "", nil
	})
}

func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func placed(order string) messages.OrderPlaced {
	return messages.OrderPlaced{
		OrderID: order, CustomerID: "buyer", Payable: euros(price), OccurredAt: now(),
		Coupons: []messages.CouponRef{{Code: incidentCoupon}},
	}
}

func paid(order, payment string, at time.Time) messages.PaymentSucceeded {
	return messages.PaymentSucceeded{OrderID: order, PaymentID: payment, Amount: euros(price), OccurredAt: at}
}

func (i *incident) placeA(ctx context.Context) error {
	if err := i.publish(ctx, "demo-A-placed", placed(orderA), 1); err != nil {
		return err
	}
	if err := i.until(ctx, coupon.Locked, orderA); err != nil {
		return err
	}
	i.say("  order A is placed and leases the coupon")
	i.paidA = now()
	i.say("  A is paid, but the message about it gets stuck on its way")
	return nil
}

func (i *incident) closeA(ctx context.Context) error {
	i.closedA = now()
	if err := i.publish(ctx, "demo-A-closed", closed(i.closedA), 1); err != nil {
		return err
	}
	if err := i.until(ctx, coupon.Available, ""); err != nil {
		return err
	}
	i.say("  the shop sees no payment and closes A: its lease is released")
	return nil
}

func closed(at time.Time) messages.OrderClosed {
	return messages.OrderClosed{OrderID: orderA, Reason: "timeout", OccurredAt: at}
}

func (i *incident) placeB(ctx context.Context) error {
	if err := i.publish(ctx, "demo-B-placed", placed(orderB), 1); err != nil {
		return err
	}
	if err := i.until(ctx, coupon.Locked, orderB); err != nil {
		return err
	}
	i.say("  order B is placed and leases the free coupon, under a token of its own")
	return nil
}

// latePaymentOfA is where an ordinary shop spends B's coupon on A.
func (i *incident) latePaymentOfA(ctx context.Context) error {
	if err := i.publish(ctx, "demo-A-paid", paid(orderA, "payment_demo_A", i.paidA), 2); err != nil {
		return err
	}
	err := eventually(ctx, stepTimeout, func(ctx context.Context) (string, error) {
		line, _, err := i.database.Timeline(ctx, incidentCoupon)
		if err != nil {
			return "", err
		}
		if !line.Reviewed(orderA, coupon.ReviewLatePaymentTaken) {
			return "no review of order A has been opened", nil
		}
		return "", nil
	})
	if err != nil {
		return err
	}
	i.say("  now A's payment arrives, twice: B keeps the coupon, and a person gets A to look at")
	return nil
}

func (i *incident) payB(ctx context.Context) error {
	if err := i.publish(ctx, "demo-B-paid", paid(orderB, "payment_demo_B", now()), 1); err != nil {
		return err
	}
	if err := i.until(ctx, coupon.Used, orderB); err != nil {
		return err
	}
	i.say("  B is paid and redeems the coupon")
	return nil
}

// repeats: what is known of A comes once more, and changes nothing.
func (i *incident) repeats(ctx context.Context) error {
	if err := i.publish(ctx, "demo-A-closed", closed(i.closedA), 1); err != nil {
		return err
	}
	if err := i.publish(ctx, "demo-A-paid-again", paid(orderA, "payment_demo_A", i.paidA), 1); err != nil {
		return err
	}
	i.say("  A's close and payment come once more, the payment under a new message id: nothing changes")
	return nil
}
