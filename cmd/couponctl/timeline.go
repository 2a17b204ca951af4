package main

import (
	"errors"
	"fmt"

	"couponlease/internal/console"
)

type timelineCommand struct {
	Coupon  string `arg:"" optional:"" placeholder:"CODE" help:"Code of the coupon, in any letter case."`
	Order   string `placeholder:"ID" help:"Instead of a coupon's, the timeline of an order, a quote or a till's redeem number."`
	Payment string `placeholder:"ID" help:"Instead of a coupon's, that of the orders which a payment paid. It looks through all orders, which takes a while."`
	Limit   int    `default:"1000" help:"Entries on one page, 1 to 10000."`
	Skip    int    `help:"Entries to leave out, as the page before says."`
}

func (timelineCommand) Help() string {
	return `Every operation with its lease and its cause, every message and command with its answer, every order, payment,
close, refund, redemption at a till, review and dead letter that concerned the coupon, and what people did by hand, in
order. What upstream said has the time at which it happened; everything else has the time at which it was decided here.
Of an order it tells of the coupons what the order had to do with, and of the orders that are linked to it as well.

  couponctl timeline SPRING-0001
  couponctl timeline --order 4711
  couponctl timeline --payment pay-4711
  couponctl timeline SPRING-0001 --output json | jq '.entries[] | select(.version)'`
}

func (c timelineCommand) Run(s *session) error {
	given := 0
	for _, subject := range []string{c.Coupon, c.Order, c.Payment} {
		if subject != "" {
			given++
		}
	}
	if given != 1 {
		return console.Usage(errors.New("say whose timeline: a coupon's CODE, --order or --payment"))
	}
	return s.withSchema(func(d *console.Database) error {
		line, found, err := d.TimelineOf(s.ctx, console.TimelineQuery{
			Code: c.Coupon, Order: c.Order, Payment: c.Payment, Skip: c.Skip, Limit: c.Limit,
		})
		switch {
		case err != nil:
			return err
		case !found && c.Order != "":
			return fmt.Errorf("nothing is known of order %q", c.Order)
		case !found && c.Payment != "":
			return fmt.Errorf("nothing is known of payment %q", c.Payment)
		case !found:
			return fmt.Errorf("nothing is known of coupon %q", c.Coupon)
		}
		return s.write(line)
	})
}

type couponsShow struct {
	Coupon string `arg:"" placeholder:"CODE" help:"Code of the coupon, in any letter case."`
}

func (couponsShow) Help() string {
	return `Exit code 1 when there is no such coupon. couponctl timeline tells how it came to be as it is.`
}

func (c couponsShow) Run(s *session) error {
	return s.withSchema(func(d *console.Database) error {
		view, found, err := d.Coupon(s.ctx, c.Coupon)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("there is no coupon %q", c.Coupon)
		}
		return s.write(view)
	})
}
