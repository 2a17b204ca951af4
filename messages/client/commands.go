package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"couponlease/messages"
)

// Every command waits for its answer. The client draws the idempotency key of one
// that has none. A refusal is an answer: see the package's documentation. The
// error is an *Error.

// Lock leases a coupon to a quote. The reply has the token of the lease.
func (c *Client) Lock(ctx context.Context, command messages.LockCoupon) (messages.CommandReply, error) {
	key := drawn(&command.IdempotencyKey)
	return ask(ctx, c, command, key, messages.DecodeLockCoupon)
}

// Renew asks for a later deadline of a lease.
func (c *Client) Renew(ctx context.Context, command messages.RenewLease) (messages.CommandReply, error) {
	key := drawn(&command.IdempotencyKey)
	return ask(ctx, c, command, key, messages.DecodeRenewLease)
}

// Release gives a leased coupon back.
func (c *Client) Release(ctx context.Context, command messages.ReleaseLease) (messages.CommandReply, error) {
	key := drawn(&command.IdempotencyKey)
	return ask(ctx, c, command, key, messages.DecodeReleaseLease)
}

// Redeem uses a leased coupon up.
func (c *Client) Redeem(ctx context.Context, command messages.RedeemCoupon) (messages.CommandReply, error) {
	key := drawn(&command.IdempotencyKey)
	return ask(ctx, c, command, key, messages.DecodeRedeemCoupon)
}

// Swap replaces coupons of an order, all or nothing.
func (c *Client) Swap(ctx context.Context, command messages.SwapCoupons) (messages.CommandReply, error) {
	key := drawn(&command.IdempotencyKey)
	return ask(ctx, c, command, key, messages.DecodeSwapCoupons)
}

// Return applies the return policy to a used coupon, for a refund that was agreed
// outside. The reply's Outcome is the decision.
func (c *Client) Return(ctx context.Context, command messages.ReturnCoupon) (messages.CommandReply, error) {
	key := drawn(&command.IdempotencyKey)
	return ask(ctx, c, command, key, messages.DecodeReturnCoupon)
}

// Void withdraws a coupon.
func (c *Client) Void(ctx context.Context, command messages.VoidCoupon) (messages.CommandReply, error) {
	key := drawn(&command.IdempotencyKey)
	return ask(ctx, c, command, key, messages.DecodeVoidCoupon)
}

// Reverse undoes a redemption, or the withdrawal of a coupon.
func (c *Client) Reverse(ctx context.Context, command messages.ReverseChange) (messages.CommandReply, error) {
	key := drawn(&command.IdempotencyKey)
	return ask(ctx, c, command, key, messages.DecodeReverseChange)
}

// Claim asks for a coupon out of a campaign. The reply's CouponID is its code.
func (c *Client) Claim(ctx context.Context, command messages.ClaimCoupon) (messages.CommandReply, error) {
	key := drawn(&command.IdempotencyKey)
	return ask(ctx, c, command, key, messages.DecodeClaimCoupon)
}

// Issue puts coupons into wallets: all that are not there yet, or none. The reply's
// Outcome says how many.
func (c *Client) Issue(ctx context.Context, command messages.IssueCoupons) (messages.CommandReply, error) {
	key := drawn(&command.IdempotencyKey)
	return ask(ctx, c, command, key, messages.DecodeIssueCoupons)
}

// RequestRedemption holds a coupon for a till while the shop does its own work.
// The reply has the redeem number, which the confirming Redeem names as its order,
// and the token of the lease. The client draws the request id if there is none.
func (c *Client) RequestRedemption(
	ctx context.Context, command messages.RedeemRequested,
) (messages.CommandReply, error) {
	key := drawn(&command.RequestID)
	return ask(ctx, c, command, key, messages.DecodeRedeemRequested)
}

// drawn gives a key, after drawing it if there is none.
func drawn(key *string) string {
	*key = cmp.Or(*key, newID())
	return *key
}

func ask[C messages.Message](
	ctx context.Context, c *Client, command C, key string, decode func(messages.Envelope) (C, error),
) (messages.CommandReply, error) {
	failed := func(sent bool, err error) (messages.CommandReply, error) {
		return messages.CommandReply{}, &Error{Type: command.MessageType(), Key: key, Sent: sent, Err: err}
	}
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	message, err := encode(ctx, c, newID(), command, decode)
	if err != nil {
		return failed(false, err)
	}
	end, err := c.begin(ctx)
	if err != nil {
		return failed(false, err)
	}
	defer end()
	message.publishing.ReplyTo, message.publishing.CorrelationId = directReplyTo, newID()
	answers, forget := c.expect(message.publishing.CorrelationId)
	defer forget()
	k := call{client: c, message: message, answers: answers, patience: c.opts.AskAgain}
	answer, err := k.run(ctx)
	if err != nil {
		return failed(k.sent, err)
	}
	reply, err := readReply(answer)
	if err != nil {
		return failed(true, err)
	}
	return reply, nil
}

// readReply reads an answer. Its error quotes nothing of it: it may hold a token.
func readReply(d *amqp091.Delivery) (messages.CommandReply, error) {
	headers := make(map[string]string, len(d.Headers))
	for name, value := range d.Headers {
		if text, ok := value.(string); ok {
			headers[name] = text
		}
	}
	envelope, err := messages.ParseOutgoing(messages.Delivery{
		Body: d.Body, ContentType: d.ContentType, MessageID: d.MessageId, Type: d.Type, RoutingKey: d.RoutingKey,
		Timestamp: d.Timestamp, Headers: headers, CorrelationID: d.CorrelationId,
	})
	if err != nil {
		return messages.CommandReply{}, fmt.Errorf("read the answer: %w", err)
	}
	if envelope.Type != messages.TypeCommandReply {
		return messages.CommandReply{}, fmt.Errorf("read the answer: it is a %s", envelope.Type)
	}
	var reply messages.CommandReply
	if json.Unmarshal(envelope.Data, &reply) != nil || reply.Outcome == "" {
		return messages.CommandReply{}, errors.New("read the answer: it does not have the form of one")
	}
	return reply, nil
}
