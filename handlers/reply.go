package handlers

import (
	"cmp"
	"encoding/hex"
	"fmt"

	"couponlease/internal/coupon"
	"couponlease/internal/outbox"
	"couponlease/messages"
)

// ReplyMessage gives the message that tells an asker the answer. It goes to the
// asker's own queue; one who is gone misses it. The token of a lease is not in it,
// but the seal in whose place the publisher puts it.
func ReplyMessage(r *coupon.Reply) (outbox.Message, error) {
	body, properties, err := messages.Encode(r.ID, r.Trace, reply(r.Answer))
	if err != nil {
		return outbox.Message{}, fmt.Errorf("encode reply to %s: %w", r.Answer.Kind, err)
	}
	m := envelope(body, properties)
	m.Key, m.CorrelationID = r.To.Queue, r.To.Correlation
	if token := r.Answer.Token; token != nil {
		m.Seal = &outbox.Seal{Lease: r.Answer.LeaseID, Hash: hex.EncodeToString(token[:])}
	}
	return m, nil
}

func reply(a *coupon.Answer) messages.CommandReply {
	m := messages.CommandReply{
		Change: messages.Change{
			CouponID: a.Coupon, OrderID: a.Order, StateVersion: a.Version, OperationID: a.Operation,
			LeaseID: a.LeaseID, CausationID: a.Cause, OccurredAt: a.Done,
		},
		IdempotencyKey: a.Key, Outcome: string(a.Code), Refusals: rejections(a.Refusals),
		State: string(a.State), Deadline: a.Deadline,
	}
	m.Command, _ = messages.TypeOf(a.Kind) // the core's names are those of the contracts
	if a.Status == coupon.Refused {
		m.PublicCode = messages.PublicCode(m.Outcome)
		if a.Kind == "ClaimCoupon" {
			m.PublicCode = messages.PublicClaimReason(m.Outcome)
		}
	}
	if a.Kind == "RedeemRequested" {
		m.RedeemNo = a.Order
	}
	return m
}

func replyShard(r *coupon.Reply, shards int) int {
	return shardOf(cmp.Or(r.Answer.Coupon, r.Answer.Order, r.Answer.Key), shards)
}
