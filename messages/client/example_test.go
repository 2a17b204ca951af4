package client_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"couponlease/messages"
	"couponlease/messages/client"
)

// A checkout holds a coupon while the buyer decides, and hands the lease over to the
// order.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	shop, err := client.Dial(ctx, client.Options{URL: "amqp://localhost", Source: "checkout"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer shop.Close(ctx)

	quote, err := shop.Lock(ctx, messages.LockCoupon{
		Code: "SPRING-7F3K9", OrderID: "quote-55", CustomerID: "customer-7", Lease: messages.LeaseFor(300),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if !quote.Accepted() {
		fmt.Println("sorry:", quote.PublicCode)
		return
	}
	err = shop.Publish(ctx, "order-1001/placed", messages.OrderPlaced{
		OrderID: "order-1001", CustomerID: "customer-7",
		Coupons: []messages.CouponRef{{Code: "SPRING-7F3K9", LeaseToken: quote.LeaseToken}},
		Payable: messages.Money{Amount: 1999, Currency: "EUR"}, OccurredAt: time.Now(),
	})
	if err != nil {
		fmt.Println(err)
	}
}

// A till requests a redemption, does its own work, and confirms.
func ExampleClient_RequestRedemption() {
	var till *client.Client // from client.Dial
	ctx := context.Background()

	held, err := till.RequestRedemption(ctx, messages.RedeemRequested{RequestID: "till-9-204", Code: "SPRING-7F3K9"})
	if err == nil {
		err = held.Err()
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	// The shop's own work is here. If it fails, Release gives the coupon back at once.
	used, err := till.Redeem(ctx, messages.RedeemCoupon{
		Code: "SPRING-7F3K9", OrderID: held.RedeemNo, LeaseToken: held.LeaseToken, PaymentID: "receipt-204",
	})
	if err == nil {
		err = used.Err()
	}
	fmt.Println(used.State, err)
}

// Whoever gets no answer asks again with the key of the error: what was done is not
// done twice.
func ExampleError() {
	var shop *client.Client // from client.Dial
	command := messages.LockCoupon{Code: "SPRING-7F3K9", OrderID: "quote-55"}

	reply, err := shop.Lock(context.Background(), command)
	var unanswered *client.Error
	if errors.As(err, &unanswered) && unanswered.Sent {
		command.IdempotencyKey = unanswered.Key
		reply, err = shop.Lock(context.Background(), command)
	}
	fmt.Println(reply.Outcome, err)
}
