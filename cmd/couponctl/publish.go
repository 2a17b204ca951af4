package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"couponlease/internal/console"
	"couponlease/internal/deadletter"
	"couponlease/messages"
)

type publishCommand struct {
	OrderPlaced      publishOrderPlaced      `cmd:"" help:"An order was placed and names its coupons."`
	PaymentSucceeded publishPaymentSucceeded `cmd:"" help:"Money for an order came in."`
	OrderClosed      publishOrderClosed      `cmd:"" help:"An order, or one attempt to pay it, ended."`
	RefundApproved   publishRefundApproved   `cmd:"" help:"Money of an order goes back."`
}

func (publishCommand) Help() string {
	return `Checks the fact as its consumer will, publishes it to the exchange commerce (persistent, mandatory,
confirmed) and prints its id. --file takes the data as JSON instead of flags ("-" is standard input). Where a database is named
(COUPONLEASE_POSTGRES_URL) its audit log has a row before and one after, and nothing is published that could not be written there.

  couponctl publish order-placed --order A-17 --customer u1 --coupon SPRING --payable 2500
  couponctl publish payment-succeeded --order A-17 --amount 2500 --repeat 3
  couponctl publish order-closed --file close.json --shape structured`
}

// published is what all facts have in common.
type published struct {
	File       string        `placeholder:"FILE" help:"Data as a JSON object, instead of the other flags; - is standard input."`
	ID         string        `placeholder:"ID" help:"Id of the message; drawn at random if absent. The same id with the same data is the same message."`
	Repeat     int           `default:"1" placeholder:"N" help:"Publish N copies under the same id."`
	Shape      console.Shape `enum:"plain,binary,structured" default:"plain" help:"Shape on the wire: ${enum}."`
	OccurredAt time.Time     `placeholder:"TIME" help:"When it happened (RFC 3339); now if absent."`
	Currency   string        `default:"EUR" help:"Currency of amounts (ISO 4217)."`
	Actor      string        `placeholder:"WHO" help:"Who gives the command, for the audit log; user@host if absent."`
	Why        string        `placeholder:"TEXT" help:"Why, for the audit log; may be left out."`
}

func (p published) at() time.Time {
	if p.OccurredAt.IsZero() {
		return time.Now().UTC().Truncate(time.Microsecond)
	}
	return p.OccurredAt.UTC()
}

func (p published) money(amount int64) messages.Money {
	return messages.Money{Amount: amount, Currency: p.Currency}
}

// publish sends the fact that m says, or that the file holds.
func (p published) publish(s *session, m messages.Message) error {
	fact := console.Fact{ID: cmp.Or(p.ID, uuid.NewString()), Type: m.MessageType(), Time: p.at()}
	if p.File != "" {
		source, err := s.open(p.File)
		if err != nil {
			return console.Usage(err)
		}
		defer source.Close()
		if fact.Data, err = io.ReadAll(io.LimitReader(source, messages.MaxBody+1)); err != nil {
			return fmt.Errorf("read %s: %w", p.File, err)
		}
	} else {
		encoded, err := console.NewFact(fact.ID, m)
		if err != nil {
			return err
		}
		fact.Data = encoded.Data
	}
	fact.Shape, fact.Repeat = p.Shape, p.Repeat
	return s.withBroker(func(b *console.Broker) error {
		done, err := p.audited(s, b, fact)
		if err != nil {
			return err
		}
		return s.write(done)
	})
}

// audited publishes a fact, and says so in the audit log of the database if one is named.
func (p published) audited(s *session, b *console.Broker, fact console.Fact) (done console.Published, err error) {
	if s.services.PostgresURL == "" {
		return b.PublishFact(s.ctx, fact)
	}
	by := deadletter.Decision{Actor: cmp.Or(p.Actor, actor()), Reason: p.Why}
	err = s.withSchema(func(d *console.Database) error {
		done, err = d.PublishFact(s.ctx, b, fact, by)
		return err
	})
	return done, err
}

type publishOrderPlaced struct {
	published
	Order      string   `placeholder:"ID" help:"The order."`
	Customer   string   `default:"u1" placeholder:"ID" help:"The buyer."`
	Coupon     []string `placeholder:"CODE" help:"A coupon the order names; repeat for more."`
	Payable    int64    `default:"100" placeholder:"MINOR" help:"What is left to pay, in minor units; 0 redeems at once."`
	Lease      int64    `placeholder:"SECONDS" help:"How long the coupons are held; the default of the daemon if absent."`
	OpenEnded  bool     `help:"Hold the coupons without end, as for offline payment methods."`
	Supersedes string   `placeholder:"ID" help:"An earlier order of the buyer whose coupons move here."`
	Parent     string   `placeholder:"ID" help:"The order that this one is a part of."`
	Revision   int64    `help:"Grows when an order is placed again with other coupons."`
}

func (c publishOrderPlaced) Run(s *session) error {
	m := messages.OrderPlaced{
		OrderID: c.Order, CustomerID: c.Customer, Payable: c.money(c.Payable), Supersedes: c.Supersedes,
		ParentOrderID: c.Parent, Revision: c.Revision, OccurredAt: c.at(), Lease: messages.LeaseFor(c.Lease),
	}
	if c.OpenEnded {
		m.Lease = messages.OpenLease()
	}
	for _, code := range c.Coupon {
		m.Coupons = append(m.Coupons, messages.CouponRef{Code: code})
	}
	return c.publish(s, m)
}

type publishPaymentSucceeded struct {
	published
	Order     string `placeholder:"ID" help:"The order."`
	Payment   string `placeholder:"ID" help:"The payment; pay-ORDER if absent. The same id is the same money."`
	Amount    int64  `default:"100" placeholder:"MINOR" help:"What was paid, in minor units."`
	FullPrice bool   `help:"The order was re-priced without its coupons before it was paid."`
	Parent    string `placeholder:"ID" help:"The order that this one is a part of."`
}

func (c publishPaymentSucceeded) Run(s *session) error {
	m := messages.PaymentSucceeded{
		OrderID: c.Order, PaymentID: cmp.Or(c.Payment, "pay-"+c.Order), Amount: c.money(c.Amount),
		ParentOrderID: c.Parent, OccurredAt: c.at(),
	}
	if c.FullPrice {
		m.Discounted = new(bool)
	}
	return c.publish(s, m)
}

type publishOrderClosed struct {
	published
	Order  string `placeholder:"ID" help:"The order."`
	Reason string `default:"cancelled" help:"Why; one that begins with payment_ concerns one attempt only."`
	Parent string `placeholder:"ID" help:"The order that this one is a part of."`
}

func (c publishOrderClosed) Run(s *session) error {
	return c.publish(s, messages.OrderClosed{
		OrderID: c.Order, Reason: c.Reason, ParentOrderID: c.Parent, OccurredAt: c.at(),
	})
}

type publishRefundApproved struct {
	published
	Order  string `placeholder:"ID" help:"The order."`
	Refund string `placeholder:"ID" help:"The refund; refund-ORDER if absent. The same id is the same money."`
	Amount int64  `default:"100" placeholder:"MINOR" help:"What goes back, in minor units."`
	Reason string `default:"customer" help:"Why, such as customer or chargeback."`
	Parent string `placeholder:"ID" help:"The order that this one is a part of."`
}

func (c publishRefundApproved) Run(s *session) error {
	return c.publish(s, messages.RefundApproved{
		OrderID: c.Order, RefundID: cmp.Or(c.Refund, "refund-"+c.Order), Amount: c.money(c.Amount),
		Reason: c.Reason, ParentOrderID: c.Parent, OccurredAt: c.at(),
	})
}
