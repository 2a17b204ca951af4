package main

import (
	"errors"
	"fmt"

	"couponlease/internal/console"
	"couponlease/messages"
)

type voidCommand struct {
	given
	why
	Coupon string `arg:"" placeholder:"CODE" help:"Code of the coupon, in any letter case."`
	Force  bool   `help:"Withdraw it even while an order holds it, and take it away from that order."`
}

func (voidCommand) Help() string {
	return `Withdraws a coupon that nobody has used. couponctl reverse takes that back.

  couponctl void SPRING-1 --reason "printed twice"`
}

func (c voidCommand) Run(s *session) error {
	if err := c.mustSay(); err != nil {
		return err
	}
	return c.carry(s, c.Reason, func(head messages.CommandHead) messages.Message {
		return messages.VoidCoupon{
			CommandHead: head, Code: c.Coupon, Force: c.Force, Reason: c.Reason, Actor: c.who(),
		}
	})
}

type reverseCommand struct {
	given
	why
	Coupon    string `arg:"" placeholder:"CODE" help:"Code of the coupon, in any letter case."`
	Operation string `xor:"what" placeholder:"ID" help:"The operation to take back."`
	Version   int64  `xor:"what" placeholder:"N" help:"The same, named by the coupon's version that it made."`
}

func (reverseCommand) Help() string {
	return `Takes a redemption back as a mistake, so that the coupon is free again, or a withdrawal, so that the coupon is
what it was, without its lease. Only the operation that holds now can be taken back. The timeline names it:

  couponctl timeline SPRING-1
  couponctl reverse SPRING-1 --version 4 --reason "scanned by mistake, ticket 4712"`
}

func (c reverseCommand) Run(s *session) error {
	if err := c.mustSay(); err != nil {
		return err
	}
	if c.Operation == "" && c.Version < 1 {
		return console.Usage(fmt.Errorf("name what to take back with --operation or --version: "+
			"`couponctl timeline %s` shows versions, and with --output json operations", c.Coupon))
	}
	operation := c.Operation
	if operation == "" {
		err := s.withSchema(func(d *console.Database) (err error) {
			operation, err = d.OperationOf(s.ctx, c.Coupon, c.Version)
			return err
		})
		if err != nil {
			return err
		}
	}
	return c.carry(s, c.Reason, func(head messages.CommandHead) messages.Message {
		return messages.ReverseChange{
			CommandHead: head, Code: c.Coupon, OperationID: operation, Reason: c.Reason, Actor: c.who(),
		}
	})
}

type returnCommand struct {
	given
	why
	Coupon string `arg:"" placeholder:"CODE" help:"Code of the coupon, in any letter case."`
	Order  string `required:"" placeholder:"ID" help:"The order that has used it; at a till, the redeem number."`
	Refund string `required:"" placeholder:"ID" help:"The refund that was agreed; one refund decides once."`
}

func (returnCommand) Help() string {
	return `Applies the return policy to a used coupon, for a refund of everything that was paid. The outcome is the policy's
decision, such as RETURN:FULL or KEEP.

  couponctl return SPRING-1 --order A-1 --refund R-9 --reason "goods came back"`
}

func (c returnCommand) Run(s *session) error {
	if err := c.mustSay(); err != nil {
		return err
	}
	return c.carry(s, c.Reason, func(head messages.CommandHead) messages.Message {
		return messages.ReturnCoupon{
			CommandHead: head, Code: c.Coupon, OrderID: c.Order, RefundID: c.Refund, Reason: c.Reason, Actor: c.who(),
		}
	})
}

type swapCommand struct {
	given
	why
	Order    string           `arg:"" placeholder:"ORDER" help:"The order."`
	Drop     []string         `sep:"none" placeholder:"CODE" help:"A coupon that the order gives back; repeat for more."`
	Add      []string         `sep:"none" placeholder:"CODE" help:"A coupon that the order wants instead; repeat for more."`
	Discount map[string]int64 `mapsep:"none" placeholder:"CODE=MINOR" help:"What an added coupon takes off, in minor units; repeat for more."`
	Currency string           `default:"EUR" help:"Currency of discounts (ISO 4217)."`
}

func (swapCommand) Help() string {
	return `Replaces coupons of a placed order: all that are added are obtained and all that are dropped are given back, or
nothing changes.

  couponctl swap A-1 --drop SPRING-1 --add SUMMER-1 --discount SUMMER-1=500 --reason "wrong campaign, ticket 4713"`
}

func (c swapCommand) Run(s *session) error {
	if err := c.mustSay(); err != nil {
		return err
	}
	items := make([]messages.SwapItem, 0, len(c.Add))
	found := 0
	for _, code := range c.Add {
		item := messages.SwapItem{Code: code}
		if amount, known := c.Discount[code]; known {
			item.Discount = &messages.Money{Amount: amount, Currency: c.Currency}
			found++
		}
		items = append(items, item)
	}
	if found < len(c.Discount) {
		return console.Usage(errors.New("--discount is for a coupon that --add names, written alike"))
	}
	return c.carry(s, c.Reason, func(head messages.CommandHead) messages.Message {
		return messages.SwapCoupons{CommandHead: head, OrderID: c.Order, Drop: c.Drop, Add: items}
	})
}
