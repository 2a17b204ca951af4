package amqp

import (
	"errors"
	"fmt"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// MaxBody is the largest body that is published, in bytes.
const MaxBody = 1 << 20

// Ways in which a publication can fail. ErrInvalid, ErrBlocked, ErrNotSent and
// ErrClosed mean that the broker does not have the message. ErrReturned means
// that it had no place for it, ErrNacked that it could not take it. After
// ErrUnconfirmed it may or may not have it: publish it again under the same id.
var (
	ErrInvalid     = errors.New("publication cannot be sent over AMQP")
	ErrBlocked     = errors.New("broker blocks publishing")
	ErrNotSent     = errors.New("publication was not sent")
	ErrReturned    = errors.New("publication was returned by the broker")
	ErrNacked      = errors.New("publication was refused by the broker")
	ErrUnconfirmed = errors.New("publication was not confirmed")
	ErrClosed      = errors.New("closed")
)

// ReturnedError says why the broker has no place for a publication: code 312,
// NO_ROUTE, when a mandatory one reached no queue; 404, NOT_FOUND, when its
// exchange does not exist. It matches ErrReturned.
type ReturnedError struct {
	Code int
	Text string
}

func (e *ReturnedError) Error() string {
	return fmt.Sprintf("%s: %d %s", ErrReturned, e.Code, e.Text)
}

// Unwrap makes errors.Is(err, ErrReturned) true.
func (e *ReturnedError) Unwrap() error { return ErrReturned }

// Publication is one message on its way out. It is sent persistent.
type Publication struct {
	// Exchange and Key route the message. An empty exchange means the queue
	// named Key. Both are ignored when DelayQueue is set.
	Exchange, Key string
	// ID becomes the message-id, by which receivers recognise repeats.
	ID          string
	Type        string
	ContentType string
	// CorrelationID and ReplyTo serve request and reply.
	CorrelationID, ReplyTo string
	Timestamp              time.Time
	Body                   []byte
	// Headers are limited to 8 KiB each and 32 KiB together; the largest are cut.
	Headers map[string]string
	// Mandatory publications fail with ReturnedError when no queue takes them.
	Mandatory bool
	// DelayQueue is the queue that receives the message after Delay. Unless
	// Headers hold x-due-at already, it is set to the time meant.
	DelayQueue string
	Delay      time.Duration
}

// route is where the publication goes first.
func (p *Publication) route() (exchange, key string, err error) {
	if p.DelayQueue == "" {
		return p.Exchange, p.Key, nil
	}
	return DelayRoute(p.Delay, p.DelayQueue)
}

// validate refuses what the protocol cannot carry. Writing it would not fail
// this message alone but end the connection for all of them.
func (p *Publication) validate() error {
	for _, field := range [...]struct{ name, value string }{
		{"exchange", p.Exchange}, {"routing key", p.Key}, {"id", p.ID}, {"type", p.Type},
		{"content type", p.ContentType}, {"correlation id", p.CorrelationID}, {"reply-to", p.ReplyTo},
	} {
		if len(field.value) > maxShortString {
			return fmt.Errorf("%w: %s has %d bytes, limit %d", ErrInvalid, field.name, len(field.value), maxShortString)
		}
	}
	if len(p.Body) > MaxBody {
		return fmt.Errorf("%w: body has %d bytes, limit %d", ErrInvalid, len(p.Body), MaxBody)
	}
	return nil
}

func (p *Publication) publishing() amqp091.Publishing {
	return amqp091.Publishing{
		Headers:       headerTable(p.Headers),
		ContentType:   p.ContentType,
		DeliveryMode:  amqp091.Persistent,
		CorrelationId: p.CorrelationID,
		ReplyTo:       p.ReplyTo,
		MessageId:     p.ID,
		Timestamp:     p.Timestamp,
		Type:          p.Type,
		Body:          p.Body,
	}
}

// outgoing is a publication made ready for the wire.
type outgoing struct {
	index     int
	exchange  string
	key       string
	mandatory bool
	message   amqp091.Publishing
}

// prepare makes the publication ready, with now as the time delays count from.
func (p *Publication) prepare(index int, now time.Time) (outgoing, error) {
	if err := p.validate(); err != nil {
		return outgoing{}, err
	}
	exchange, key, err := p.route()
	if err != nil {
		return outgoing{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	out := outgoing{index: index, exchange: exchange, key: key, mandatory: p.Mandatory, message: p.publishing()}
	if _, given := p.Headers[HeaderDueAt]; p.DelayQueue != "" && !given {
		out.message.Headers[HeaderDueAt] = now.Add(p.Delay).UTC().Format(time.RFC3339Nano)
	}
	return out, nil
}
