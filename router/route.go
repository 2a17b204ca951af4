package router

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"

	"couponlease/internal/amqp"
)

// ReasonMisrouted is that of a message that was published as something else than
// it says it is.
const ReasonMisrouted = "MISROUTED"

// misrouted compares what a message says it is with the routing key that it was
// published with, "" when they agree. What the broker lets its users publish goes
// by routing key, so a type that differs was smuggled past: in the message's own
// properties, or by a CC or BCC header, which RabbitMQ 3 does not check.
//
// The rest of the key is not looked at: it may lack the version, or say more.
func misrouted(msg *message.Message, messageType string) string {
	exchange, key := origin(msg)
	if !isPublic(exchange) || subject(key) == subject(messageType) {
		return ""
	}
	return fmt.Sprintf("it is of type %s and was published to %s with routing key %.100q", messageType, exchange, key)
}

// origin is where a message was published at first. One that was retried or
// replayed comes from an exchange that only we may write to, and has it in
// headers; on others these headers are anybody's, and do not count.
func origin(msg *message.Message) (exchange, key string) {
	exchange, key = msg.Metadata.Get(amqp.MetaExchange), msg.Metadata.Get(amqp.MetaRoutingKey)
	if isPublic(exchange) {
		return exchange, key
	}
	return cmp.Or(msg.Metadata.Get(HeaderExchange), exchange), cmp.Or(msg.Metadata.Get(HeaderRoutingKey), key)
}

// isPublic says whether others than we may write to an exchange.
func isPublic(exchange string) bool {
	return exchange == amqp.ExchangeCommerce || exchange == amqp.ExchangeCommands
}

// subject is what a type is about: its first two words, such as order.placed.
func subject(text string) string {
	words := strings.SplitN(text, ".", 3)
	return strings.Join(words[:min(len(words), 2)], ".")
}
