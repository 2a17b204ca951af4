package router

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"couponlease/internal/amqp"
	"couponlease/internal/deadletter"
	"couponlease/messages"
)

// Headers of our own on messages that are retried, buried or replayed.
const (
	HeaderAttempt    = deadletter.HeaderAttempt
	HeaderReason     = deadletter.HeaderReason
	HeaderError      = deadletter.HeaderError
	HeaderQueue      = deadletter.HeaderQueue
	HeaderExchange   = deadletter.HeaderExchange
	HeaderRoutingKey = deadletter.HeaderRoutingKey
	HeaderHost       = deadletter.HeaderHost
	HeaderVersion    = deadletter.HeaderVersion
	HeaderFirst      = deadletter.HeaderFirst
	HeaderLast       = deadletter.HeaderLast
	HeaderReplay     = deadletter.HeaderReplay
)

const ownPrefix = deadletter.HeaderPrefix

// delivery gives a message in the form that its contract is read from. One that
// comes back through the delay levels has their routing key; its own, which may
// stand in for its type, is in a header.
func delivery(msg *message.Message) messages.Delivery {
	d := messages.Delivery{
		Body:          msg.Payload,
		ContentType:   msg.Metadata.Get(amqp.MetaContentType),
		MessageID:     msg.UUID,
		Type:          msg.Metadata.Get(amqp.MetaType),
		RoutingKey:    cmp.Or(msg.Metadata.Get(HeaderRoutingKey), msg.Metadata.Get(amqp.MetaRoutingKey)),
		CorrelationID: msg.Metadata.Get(amqp.MetaCorrelationID),
		ReplyTo:       msg.Metadata.Get(amqp.MetaReplyTo),
		Headers:       msg.Metadata,
	}
	if at, err := time.Parse(time.RFC3339, msg.Metadata.Get(amqp.MetaTimestamp)); err == nil {
		d.Timestamp = at
	}
	return d
}

// attempt is how often the message has been tried, this time included.
func attempt(msg *message.Message) int {
	n, err := strconv.Atoi(msg.Metadata.Get(HeaderAttempt))
	if err != nil || n < 1 {
		return 1
	}
	return n
}

// forward gives the message as it came, to publish it somewhere else: the same
// id, body and properties, and the headers without those that speak of an
// earlier delivery.
func forward(msg *message.Message) amqp.Publication {
	p := amqp.Publication{
		ID: msg.UUID, Type: msg.Metadata.Get(amqp.MetaType),
		ContentType:   msg.Metadata.Get(amqp.MetaContentType),
		CorrelationID: msg.Metadata.Get(amqp.MetaCorrelationID),
		ReplyTo:       msg.Metadata.Get(amqp.MetaReplyTo),
		Body:          msg.Payload, Headers: map[string]string{}, Mandatory: true,
	}
	if at, err := time.Parse(time.RFC3339, msg.Metadata.Get(amqp.MetaTimestamp)); err == nil {
		p.Timestamp = at
	}
	for key, value := range msg.Metadata {
		if strings.HasPrefix(key, "amqp.") || strings.HasPrefix(key, ownPrefix) || key == amqp.HeaderDueAt {
			continue
		}
		p.Headers[key] = value
	}
	for _, key := range []string{HeaderFirst, HeaderExchange, HeaderRoutingKey, HeaderReplay} {
		if value := msg.Metadata.Get(key); value != "" {
			p.Headers[key] = value
		}
	}
	return p
}
