// Command example is a checkout, in as few lines as that takes: it holds a coupon for
// a quote, places the order with the token of the quote, pays, and says what happened.
//
//	COUPONLEASE_AMQP_URL=amqp://user:password@host/vhost go run ./messages/client/example CODE ORDER
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"time"

	"couponlease/messages"
	"couponlease/messages/client"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: example CODE ORDER")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Getenv("COUPONLEASE_AMQP_URL"), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

// limit bounds the whole checkout.
const limit = time.Minute

func run(ctx context.Context, out io.Writer, url, code, order string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	shop, err := client.Dial(ctx, client.Options{URL: url, Source: "checkout"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shop.Close(ctx)) }()

	quote, err := shop.Lock(ctx, messages.LockCoupon{
		Code: code, OrderID: "quote-of-" + order, CustomerID: "customer-7", Lease: messages.LeaseFor(300),
	})
	if err != nil {
		return err
	}
	if !quote.Accepted() {
		fmt.Fprintf(out, "%s: not held, the buyer sees %s\n", code, quote.PublicCode)
		return nil
	}
	fmt.Fprintf(out, "%s: held until %s\n", code, quote.Deadline.Format(time.RFC3339))

	price := messages.Money{Amount: 1999, Currency: "EUR"}
	err = shop.Publish(ctx, order+"/placed", messages.OrderPlaced{
		OrderID: order, CustomerID: "customer-7", Payable: price, OccurredAt: time.Now(),
		Coupons: []messages.CouponRef{{Code: code, LeaseToken: quote.LeaseToken}},
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: placed\n", order)

	err = shop.Publish(ctx, order+"/paid", messages.PaymentSucceeded{
		OrderID: order, PaymentID: "payment-of-" + order, Amount: price, OccurredAt: time.Now(),
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: paid\n", order)
	return nil
}
