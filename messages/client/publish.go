package client

import (
	"context"
	"fmt"

	"couponlease/messages"
)

// Publish hands a fact to the broker and returns once the broker has stored it in
// its queue. id is the identity of the message: the same id with the same content
// is taken once, however often it is published. A service that writes its facts
// into an outbox first uses the id it has there; with none, "", the client draws
// one. The error is an *Error.
func (c *Client) Publish(ctx context.Context, id string, fact messages.Fact) error {
	switch fact := fact.(type) {
	case messages.OrderPlaced:
		return publish(ctx, c, id, fact, messages.DecodeOrderPlaced)
	case messages.PaymentSucceeded:
		return publish(ctx, c, id, fact, messages.DecodePaymentSucceeded)
	case messages.OrderClosed:
		return publish(ctx, c, id, fact, messages.DecodeOrderClosed)
	case messages.RefundApproved:
		return publish(ctx, c, id, fact, messages.DecodeRefundApproved)
	default:
		return &Error{Key: id, Err: fmt.Errorf("%T is no fact that can be published", fact)}
	}
}

func publish[F messages.Fact](
	ctx context.Context, c *Client, id string, fact F, decode func(messages.Envelope) (F, error),
) error {
	if id == "" {
		id = newID()
	}
	failed := func(sent bool, err error) error {
		return &Error{Type: fact.MessageType(), Key: id, Sent: sent, Err: err}
	}
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	message, err := encode(ctx, c, id, fact, decode)
	if err != nil {
		return failed(false, err)
	}
	end, err := c.begin(ctx)
	if err != nil {
		return failed(false, err)
	}
	defer end()
	k := call{client: c, message: message}
	if _, err := k.run(ctx); err != nil {
		return failed(k.sent, err)
	}
	return nil
}
