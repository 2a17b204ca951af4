package main

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"couponlease/internal/console"
	"couponlease/internal/coupon"
)

type flowCommand struct {
	Show flowShow `cmd:"" help:"Print the steps of a redemption at a till."`
}

type flowShow struct {
	RedeemNo string `arg:"" optional:"" placeholder:"RD..." help:"The redeem number."`
	Request  string `placeholder:"ID" help:"The till's request id, instead of the redeem number."`
}

func (flowShow) Help() string {
	return `PROCESSING, then SUCCESS, REJECTED or RELEASED. Exit code 1 when no till has asked under this number.

  couponctl flow show RD1001
  couponctl flow show --request 1001 --output json`
}

func (c flowShow) Run(s *session) error {
	if (c.RedeemNo == "") == (c.Request == "") {
		return console.Usage(errors.New("name the redeem number, or the till's request with --request"))
	}
	number := cmp.Or(c.RedeemNo, coupon.RedeemNumber(c.Request))
	return s.withSchema(func(d *console.Database) error {
		flow, found, err := d.Flow(s.ctx, number)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("no till has asked for redemption %s", number)
		}
		return s.write(flow)
	})
}

type auditCommand struct {
	List auditList `cmd:"" help:"List what people did by hand, newest first."`
}

type auditList struct {
	Actor  string    `placeholder:"WHO" help:"Only what this person did."`
	Coupon string    `placeholder:"CODE" help:"Only what named this coupon."`
	Action string    `placeholder:"NAME" help:"Only this command, such as VoidCoupon."`
	Since  time.Time `placeholder:"TIME" help:"Only from this time on (RFC 3339)."`
	Until  time.Time `placeholder:"TIME" help:"Only before this time (RFC 3339)."`
	Limit  int       `default:"50" help:"Rows of a page."`
	Before int64     `placeholder:"ID" help:"The page behind this row, as the page before says."`
}

func (auditList) Help() string {
	return `Who did what by hand, why, and what came of it: one row for each command, refused and repeated ones included, written
in the transaction of the change; two for an import or a batch, STARTED and DONE or STOPPED. Rows are never changed. Edits of
templates tell each term before and after. As JSON rows have the arguments (without tokens) and how the coupons stood.

  couponctl audit list --coupon SPRING-1
  couponctl audit list --action EditTemplate --actor ann@desk-3
  couponctl audit list --actor ann@desk-3 --since 2026-11-01T00:00:00Z --output json | jq '.entries[].reason'`
}

func (c auditList) Run(s *session) error {
	return s.withSchema(func(d *console.Database) error {
		page, err := d.AuditLog(s.ctx, console.AuditQuery{
			Actor: c.Actor, Action: c.Action, Coupon: c.Coupon, Since: c.Since, Until: c.Until,
			Before: c.Before, Limit: c.Limit,
		})
		if err != nil {
			return err
		}
		return s.write(page)
	})
}
