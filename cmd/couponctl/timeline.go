package main

import (
	"fmt"

	"couponlease/internal/console"
)

type timelineCommand struct {
	Coupon string `arg:"" placeholder:"CODE" help:"Code of the coupon, in any letter case."`
}

func (timelineCommand) Help() string {
	return `Every operation with its lease and its cause, every message with its answer, and every order, payment,
close, refund and review that concerned the coupon, in order. What upstream said has the time at which it
happened; everything else has the time at which it was decided here.

  couponctl timeline SPRING-0001
  couponctl timeline SPRING-0001 --output json | jq '.entries[] | select(.version)'`
}

func (c timelineCommand) Run(s *session) error {
	return s.withSchema(func(d *console.Database) error {
		line, found, err := d.Timeline(s.ctx, c.Coupon)
		if err != nil {
			return err
		}
		if !found {
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
