package main

import (
	"fmt"

	"couponlease/internal/console"
)

type reviewCommand struct {
	List    reviewList    `cmd:"" help:"List the cases that wait for a person, oldest first."`
	Show    reviewShow    `cmd:"" help:"Print one case with its evidence."`
	Resolve reviewResolve `cmd:"" help:"Record what was decided about a case, and carry it out."`
}

type reviewList struct {
	Order  string `placeholder:"ID" help:"Only cases of this order."`
	Coupon string `placeholder:"CODE" help:"Only cases about this coupon."`
	Reason string `placeholder:"REASON" help:"Only cases of this kind, such as LATE_PAYMENT_COUPON_TAKEN."`
	All    bool   `help:"Decided cases as well."`
	Limit  int    `default:"50" help:"Cases of a page."`
	After  string `placeholder:"CASE" help:"The page behind this case, as the page before says."`
}

func (reviewList) Help() string {
	return `Exit code 0 whether or not there are cases; as JSON the evidence is there as well.

  couponctl review list
  couponctl review list --reason DOUBLE_PAYMENT --output json`
}

func (c reviewList) Run(s *session) error {
	return s.withSchema(func(d *console.Database) error {
		page, err := d.Reviews(s.ctx, console.ReviewQuery{
			Order: c.Order, Coupon: c.Coupon, Reason: c.Reason, All: c.All, Limit: c.Limit, After: c.After,
		})
		if err != nil {
			return err
		}
		return s.write(page)
	})
}

type reviewShow struct {
	Case string `arg:"" placeholder:"CASE" help:"Id of the case."`
}

func (c reviewShow) Run(s *session) error {
	return s.withSchema(func(d *console.Database) error {
		review, found, err := d.Review(s.ctx, c.Case)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("there is no case %s: `couponctl review list` shows those that are open", c.Case)
		}
		return s.write(review)
	})
}

type reviewResolve struct {
	given
	why
	Case     string `arg:"" placeholder:"CASE" help:"Id of the case."`
	Outcome  string `arg:"" placeholder:"OUTCOME" help:"REFUND, REPRICE, HONOUR_AT_MERCHANT_COST, GOODWILL_COUPON, RETURN, KEEP or DISMISS."`
	Code     string `placeholder:"CODE" help:"With GOODWILL_COUPON: the code of the coupon to issue to the buyer."`
	Template string `placeholder:"ID" help:"With GOODWILL_COUPON: its template."`
}

func (reviewResolve) Help() string {
	return `RETURN gives the coupon back that the order uses, and GOODWILL_COUPON issues another one to the buyer. All others say
what somebody else does: REFUND and REPRICE move money, HONOUR_AT_MERCHANT_COST, KEEP and DISMISS move nothing. Every
decision is told as the event coupon.review_resolved.v1. A case is decided once; a second decision is answered with the
first.

  couponctl review resolve 0198... REFUND --reason "buyer agreed on the phone, ticket 4711"
  couponctl review resolve 0198... GOODWILL_COUPON --code SORRY-17 --template goodwill --reason "our mistake"`
}

func (c reviewResolve) Run(s *session) error {
	if err := c.mustSay(); err != nil {
		return err
	}
	return c.ask(s, func(d *console.Database, key string) (console.CommandResult, error) {
		return d.Resolve(s.ctx, console.Verdict{
			Review: c.Case, Outcome: c.Outcome, Key: key, Actor: c.who(), Reason: c.Reason, Shards: c.OutboxShards,
			Code: c.Code, Template: c.Template,
		})
	})
}
