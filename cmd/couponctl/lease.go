package main

import (
	"errors"
	"time"

	"couponlease/internal/console"
	"couponlease/messages"
)

type lockCommand struct {
	given
	maybeWhy
	Coupon   string        `arg:"" placeholder:"CODE" help:"Code of the coupon, in any letter case."`
	Order    string        `required:"" placeholder:"ID" help:"The quote or order that is to hold the coupon."`
	Customer string        `placeholder:"ID" help:"The buyer; nobody is checked if absent."`
	Lease    time.Duration `placeholder:"DURATION" help:"How long, such as 90s; the default for quotes if absent."`
}

func (lockCommand) Help() string {
	return `Leases a free coupon to a quote and prints the lease's token and version, to you alone: it is stored nowhere.
The same command with the same --key shows it again, if COUPONLEASE_TOKEN_KEYS are those of the daemons.
Exit code 3 when it is refused.

  couponctl lock SPRING-1 --order Q-1 -o json | jq -r .leaseToken > lease.token
  couponctl release SPRING-1 --token-file lease.token --reason "buyer left"`
}

func (c lockCommand) Run(s *session) error {
	lease, err := term(c.Lease)
	if err != nil {
		return err
	}
	return c.carry(s, c.Reason, func(head messages.CommandHead) messages.Message {
		return messages.LockCoupon{
			CommandHead: head, Code: c.Coupon, OrderID: c.Order, CustomerID: c.Customer, Lease: lease,
		}
	})
}

type renewCommand struct {
	given
	maybeWhy
	shown
	Coupon    string        `arg:"" placeholder:"CODE" help:"Code of the coupon, in any letter case."`
	Lease     time.Duration `placeholder:"DURATION" help:"How long from now, such as 90s; the default of the lease's kind if absent."`
	OpenEnded bool          `help:"Hold the coupon without end, as for offline payment methods."`
}

func (renewCommand) Help() string {
	return `Gives a lease a later deadline, and a new version. A renewal never makes a lease shorter.
` + tokenHelp + `

  couponctl renew SPRING-1 --token-file lease.token --lease 10m`
}

func (c renewCommand) Run(s *session) error {
	lease, err := term(c.Lease)
	if err != nil {
		return err
	}
	if c.OpenEnded {
		if c.Lease != 0 {
			return console.Usage(errors.New("--lease and --open-ended contradict each other"))
		}
		lease = messages.OpenLease()
	}
	token, err := c.token(s)
	if err != nil {
		return err
	}
	return c.carry(s, c.Reason, func(head messages.CommandHead) messages.Message {
		return messages.RenewLease{
			CommandHead: head, Code: c.Coupon, LeaseToken: token, LeaseVersion: c.Version, Lease: lease,
		}
	})
}

type releaseCommand struct {
	given
	why
	shown
	Coupon string `arg:"" placeholder:"CODE" help:"Code of the coupon, in any letter case."`
}

func (releaseCommand) Help() string {
	return `Gives a leased coupon back: the right of whoever has the lease's token. Without the token a coupon can only be
withdrawn and set free again, which leaves both in ledger and audit log:

  couponctl void SPRING-1 --force --reason "order A-1 hangs, ticket 4711"
  couponctl reverse SPRING-1 --version 3 --reason "free again, ticket 4711"

` + tokenHelp + `

  couponctl release SPRING-1 --token-file lease.token --reason "buyer left"`
}

func (c releaseCommand) Run(s *session) error {
	if err := c.mustSay(); err != nil {
		return err
	}
	token, err := c.token(s)
	if err != nil {
		return err
	}
	return c.carry(s, c.Reason, func(head messages.CommandHead) messages.Message {
		return messages.ReleaseLease{
			CommandHead: head, Code: c.Coupon, LeaseToken: token, LeaseVersion: c.Version, Reason: c.Reason,
		}
	})
}

type redeemCommand struct {
	given
	why
	shown
	Coupon  string `arg:"" placeholder:"CODE" help:"Code of the coupon, in any letter case."`
	Order   string `required:"" placeholder:"ID" help:"The order that holds the lease; at a till, the redeem number (RD1001)."`
	Payment string `placeholder:"ID" help:"The payment or receipt; left out when nothing was to pay."`
}

func (redeemCommand) Help() string {
	return `Uses a leased coupon up. It confirms what a till began, too: then --order is the redeem number.
` + tokenHelp + `

  couponctl redeem SPRING-1 --order RD1001 --token-file lease.token --payment receipt-77 --reason "till is offline"`
}

func (c redeemCommand) Run(s *session) error {
	if err := c.mustSay(); err != nil {
		return err
	}
	token, err := c.token(s)
	if err != nil {
		return err
	}
	return c.carry(s, c.Reason, func(head messages.CommandHead) messages.Message {
		return messages.RedeemCoupon{
			CommandHead: head, Code: c.Coupon, OrderID: c.Order, LeaseToken: token, LeaseVersion: c.Version,
			PaymentID: c.Payment,
		}
	})
}
