package deadletter

import (
	"encoding/json"
	"slices"

	"couponlease/messages"
)

// Delivery gives the message of a letter as a worker would get it, but for lease tokens.
func (l *Letter) Delivery() messages.Delivery {
	return messages.Delivery{
		Body: l.Body, ContentType: l.ContentType, MessageID: l.MessageID, Type: l.Type, RoutingKey: l.RoutingKey,
		Timestamp: l.Sent, Headers: l.Headers, CorrelationID: l.CorrelationID, ReplyTo: l.ReplyTo,
	}
}

// Command is what a command is known by: the key for which its answer is kept, what it
// asks for, such as RedeemCoupon, and the coupon that it is about. A command about several
// coupons is known by its order.
type Command struct {
	Key, Kind, Coupon, Order string
}

// Command tells which command a letter is, as far as it can be read. Coupon and order are
// not told: see IsCommand. Not found: it is none, or has no key.
func (l *Letter) Command() (c Command, found bool) {
	envelope, err := messages.Parse(l.Delivery())
	if err != nil {
		return c, false
	}
	contract, known := messages.ContractOf(envelope.Type)
	if !known || contract.Kind != messages.KindCommand {
		return c, false
	}
	var head struct {
		IdempotencyKey string `json:"idempotencyKey"`
	}
	if json.Unmarshal(envelope.Data, &head) != nil || head.IdempotencyKey == "" {
		return c, false
	}
	return Command{Key: head.IdempotencyKey, Kind: contract.Name}, true
}

// IsCommand says whether a command that was answered is the one of a letter. Its key alone
// does not say so: a sender may have used it for something else.
func (l *Letter) IsCommand(answered Command) bool {
	own, found := l.Command()
	if !found || own.Key != answered.Key || own.Kind != answered.Kind {
		return false
	}
	if answered.Coupon == "" {
		return l.Order == answered.Order
	}
	return slices.Contains(l.Coupons, answered.Coupon)
}
