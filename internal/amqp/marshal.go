package amqp

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	wamqp "github.com/ThreeDotsLabs/watermill-amqp/v2/pkg/amqp"
	"github.com/ThreeDotsLabs/watermill/message"
	amqp091 "github.com/rabbitmq/amqp091-go"
)

// Metadata keys that hold AMQP properties and delivery facts. A key is absent
// when the message does not have the property. Headers of the same name are
// never taken over from the wire, so a value under such a key is trustworthy.
const (
	MetaMessageID     = "amqp.message_id"
	MetaType          = "amqp.type"
	MetaContentType   = "amqp.content_type"
	MetaTimestamp     = "amqp.timestamp" // RFC 3339, UTC
	MetaCorrelationID = "amqp.correlation_id"
	MetaReplyTo       = "amqp.reply_to"
	MetaExchange      = "amqp.exchange"
	MetaRoutingKey    = "amqp.routing_key"
	MetaQueue         = "amqp.queue"
	MetaRedelivered   = "amqp.redelivered"    // "true" or "false"
	MetaDeliveryCount = "amqp.delivery_count" // earlier deliveries known to the broker, "0" when unknown

	metaPrefix        = "amqp."
	headerMessageUUID = wamqp.DefaultMessageUUIDHeaderKey
)

// ErrPhantomDelivery refuses a delivery that did not come from a broker. The
// client library's delivery channel yields such zero values after it is closed.
var ErrPhantomDelivery = errors.New("phantom delivery: consumer was cancelled")

// Marshaler translates between AMQP and Watermill messages. It is total: content
// that is odd, foreign or broken becomes a message all the same, and whoever
// handles it can refuse it with a reason. Its only error is ErrPhantomDelivery.
//
// An incoming message's UUID is the message-id property, else Watermill's UUID
// header, else a CloudEvents id header, else empty. Headers become metadata
// under their own names; properties under the Meta constants.
//
// An outgoing message is persistent. Its UUID becomes the message-id, the Meta
// keys for type, content type, timestamp, correlation id and reply-to become
// properties, all other metadata become headers within the size limits. Headers
// that belong to the broker are dropped.
type Marshaler struct{}

var _ wamqp.Marshaler = Marshaler{}

// Unmarshal turns a delivery into a message.
func (Marshaler) Unmarshal(d amqp091.Delivery) (*message.Message, error) {
	if d.Acknowledger == nil {
		return nil, ErrPhantomDelivery
	}
	msg := message.NewMessage(deliveryID(d), d.Body)
	// The map made by NewMessage is too small for what follows.
	meta := make(message.Metadata, len(d.Headers)+11)
	for name, value := range d.Headers {
		if len(name) >= len(metaPrefix) && name[:len(metaPrefix)] == metaPrefix {
			continue
		}
		if name == headerPublishID || name == headerMessageUUID {
			continue
		}
		meta[name] = headerText(value)
	}
	setNonEmpty(meta, MetaMessageID, d.MessageId)
	setNonEmpty(meta, MetaType, d.Type)
	setNonEmpty(meta, MetaContentType, d.ContentType)
	setNonEmpty(meta, MetaCorrelationID, d.CorrelationId)
	setNonEmpty(meta, MetaReplyTo, d.ReplyTo)
	setNonEmpty(meta, MetaExchange, d.Exchange)
	setNonEmpty(meta, MetaRoutingKey, d.RoutingKey)
	if !d.Timestamp.IsZero() {
		meta[MetaTimestamp] = d.Timestamp.UTC().Format(time.RFC3339)
	}
	meta[MetaRedelivered] = strconv.FormatBool(d.Redelivered)
	meta[MetaDeliveryCount] = deliveryCount(d.Headers)
	msg.Metadata = meta
	return msg, nil
}

func setNonEmpty(meta message.Metadata, key, value string) {
	if value != "" {
		meta[key] = value
	}
}

// deliveryID finds the identity a producer gave its message.
func deliveryID(d amqp091.Delivery) string {
	if d.MessageId != "" {
		return d.MessageId
	}
	for _, header := range [...]string{headerMessageUUID, "cloudEvents:id", "cloudEvents_id"} {
		if id, ok := d.Headers[header].(string); ok && id != "" {
			return id
		}
	}
	return ""
}

func deliveryCount(headers amqp091.Table) string {
	switch count := headers["x-delivery-count"].(type) {
	case int64, int32, int16, int8, uint32, uint16, uint8:
		return headerText(count)
	default:
		return "0"
	}
}

// Marshal turns a message into a publishing.
func (Marshaler) Marshal(msg *message.Message) (amqp091.Publishing, error) {
	p := publicationOf(msg)
	if err := p.validate(); err != nil {
		return amqp091.Publishing{}, fmt.Errorf("marshal message %q: %w", msg.UUID, err)
	}
	return p.publishing(), nil
}

// publicationOf reads a Watermill message as a publication without a target.
func publicationOf(msg *message.Message) Publication {
	id := msg.UUID
	if id == "" {
		id = msg.Metadata[MetaMessageID]
	}
	p := Publication{
		ID:            id,
		Type:          msg.Metadata[MetaType],
		ContentType:   msg.Metadata[MetaContentType],
		CorrelationID: msg.Metadata[MetaCorrelationID],
		ReplyTo:       msg.Metadata[MetaReplyTo],
		Body:          msg.Payload,
		Headers:       msg.Metadata,
	}
	// A timestamp that does not parse is left out rather than refused.
	if at, err := time.Parse(time.RFC3339, msg.Metadata[MetaTimestamp]); err == nil {
		p.Timestamp = at
	}
	return p
}
