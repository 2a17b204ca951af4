package messages

import (
	"encoding/json"
	"fmt"
	"time"
)

// Source is the CloudEvents source of everything the product sends.
const Source = "couponlease"

// A Message is data that [Encode] can send. The set is closed.
type Message interface {
	// MessageType is the full type, such as coupon.locked.v1.
	MessageType() string
	// stamp gives the CloudEvents subject, and when it happened.
	stamp() (subject string, at time.Time)
}

// Properties are the attributes of an outgoing message, for AMQP properties and
// headers.
type Properties struct {
	// MessageID is the message's id, the AMQP message-id.
	MessageID string
	// Type is the full type, the AMQP type, and the routing key.
	Type string
	// Source and Subject are CloudEvents attributes. Subject is the coupon, or
	// the order when no coupon is concerned; it may be empty.
	Source  string
	Subject string
	// Timestamp is when it happened; the AMQP timestamp keeps its seconds, the
	// header all of it. It is zero when the data does not say; then the sender
	// has to set it.
	Timestamp   time.Time
	ContentType string
	// TraceParent is the W3C trace context to pass on; empty when there is none.
	TraceParent string
	// CorrelationID ties a reply to its command; empty on everything else.
	CorrelationID string
}

// Headers gives the CloudEvents headers of AMQP binary mode, and traceparent.
func (p Properties) Headers() map[string]string {
	headers := map[string]string{
		"cloudEvents:specversion":     specVersion,
		"cloudEvents:id":              p.MessageID,
		"cloudEvents:type":            p.Type,
		"cloudEvents:source":          p.Source,
		"cloudEvents:datacontenttype": p.ContentType,
	}
	if !p.Timestamp.IsZero() {
		headers["cloudEvents:time"] = p.Timestamp.UTC().Format(time.RFC3339Nano)
	}
	if p.Subject != "" {
		headers["cloudEvents:subject"] = p.Subject
	}
	if p.TraceParent != "" {
		headers["traceparent"] = p.TraceParent
	}
	return headers
}

// Delivery is the message as a consumer would get it from a transport.
func (p Properties) Delivery(body []byte) Delivery {
	return Delivery{
		Body: body, ContentType: p.ContentType, MessageID: p.MessageID, Type: p.Type, RoutingKey: p.Type,
		Timestamp: p.Timestamp.Truncate(time.Second), Headers: p.Headers(), CorrelationID: p.CorrelationID,
	}
}

// Encode writes a message under the given id: the data as JSON, and its
// attributes. It fails when the result is over MaxBody, or a time is outside
// the years 1 to 9999.
func Encode(id, traceParent string, m Message) ([]byte, Properties, error) {
	data, err := json.Marshal(m)
	if err != nil {
		return nil, Properties{}, fmt.Errorf("encode %s: %w", m.MessageType(), err)
	}
	if len(data) > MaxBody {
		return nil, Properties{}, fmt.Errorf("encode %s: %d bytes are more than %d", m.MessageType(), len(data), MaxBody)
	}
	subject, at := m.stamp()
	return data, Properties{
		MessageID: id, Type: m.MessageType(), Source: Source, Subject: subject, Timestamp: at.UTC(),
		ContentType: contentTypeJSON, TraceParent: traceParent,
	}, nil
}

func (c Change) stamp() (string, time.Time) {
	if c.CouponID != "" {
		return c.CouponID, c.OccurredAt
	}
	return c.OrderID, c.OccurredAt
}

func (o OrderPlaced) stamp() (string, time.Time)      { return o.OrderID, o.OccurredAt }
func (p PaymentSucceeded) stamp() (string, time.Time) { return p.OrderID, p.OccurredAt }
func (c OrderClosed) stamp() (string, time.Time)      { return c.OrderID, c.OccurredAt }
func (a RefundApproved) stamp() (string, time.Time)   { return a.OrderID, a.OccurredAt }

// stamp takes the time of the first lease: all of them fall due together.
func (l LeaseExpired) stamp() (string, time.Time) {
	if len(l.Leases) == 0 {
		return "", time.Time{}
	}
	return "", l.Leases[0].Deadline
}

func (h CommandHead) stamp() (string, time.Time) { return "", h.OccurredAt }

func (c RedeemRequested) stamp() (string, time.Time) { return RedeemNumber(c.RequestID), c.OccurredAt }

func (c SwapCoupons) stamp() (string, time.Time) { return c.OrderID, c.OccurredAt }
