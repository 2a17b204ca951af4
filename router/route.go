package router

import (
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
// Only the exchanges that others may write to are looked at. The rest of the key
// is not: it may lack the version, or say more.
func misrouted(msg *message.Message, messageType string) string {
	exchange, key := msg.Metadata.Get(amqp.MetaExchange), msg.Metadata.Get(amqp.MetaRoutingKey)
	switch exchange {
	case amqp.ExchangeCommerce, amqp.ExchangeCommands:
	default:
		return ""
	}
	if subject(key) == subject(messageType) {
		return ""
	}
	return fmt.Sprintf("it is of type %s and was published to %s with routing key %.100q", messageType, exchange, key)
}

// subject is what a type is about: its first two words, such as order.placed.
func subject(text string) string {
	words := strings.SplitN(text, ".", 3)
	return strings.Join(words[:min(len(words), 2)], ".")
}
