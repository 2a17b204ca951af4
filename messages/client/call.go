package client

import (
	"context"
	"errors"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"couponlease/messages"
)

// outgoing is a message on its way, the same every time it is sent.
type outgoing struct {
	exchange, key string
	publishing    amqp091.Publishing
}

// encode checks a message against its contract, as the other side will, and makes
// it ready to be sent.
func encode[M messages.Message](
	ctx context.Context, c *Client, id string, m M, decode func(messages.Envelope) (M, error),
) (*outgoing, error) {
	body, properties, err := messages.Encode(id, c.opts.TraceParent(ctx), m)
	if err != nil {
		return nil, err
	}
	properties.Source = c.opts.Source
	if properties.Timestamp.IsZero() {
		properties.Timestamp = time.Now().UTC()
	}
	envelope, err := messages.Parse(properties.Delivery(body))
	if err != nil {
		return nil, err
	}
	if _, err := decode(envelope); err != nil {
		return nil, err
	}
	headers := amqp091.Table{}
	for name, value := range properties.Headers() {
		headers[name] = value
	}
	contract, _ := messages.ContractOf(properties.Type)
	return &outgoing{
		exchange: contract.Exchange, key: contract.Type,
		publishing: amqp091.Publishing{
			Headers: headers, ContentType: properties.ContentType, DeliveryMode: amqp091.Persistent,
			MessageId: properties.MessageID, Timestamp: properties.Timestamp, Type: properties.Type, Body: body,
		},
	}, nil
}

// call is one message and what has become of it.
type call struct {
	client  *Client
	message *outgoing
	answers <-chan amqp091.Delivery // nil for a fact, which has none
	// patience is how long the next answer is waited for before asking again.
	patience time.Duration
	sent     bool
	trouble  error // why the last attempt did not settle it
}

// run sends the message, again and again if need be, until it is settled: a fact
// when the broker has it, a command when its answer is there.
func (k *call) run(ctx context.Context) (*amqp091.Delivery, error) {
	pause := backoff{min: firstResend, max: lastResend}
	for {
		answer, err := k.attempt(ctx)
		if !errors.Is(err, errAgain) {
			return answer, err
		}
		k.trouble = err
		if err := k.client.sleep(ctx, pause.pause()); err != nil {
			return nil, because(err, k.trouble)
		}
	}
}

func (k *call) attempt(ctx context.Context) (*amqp091.Delivery, error) {
	s, err := k.client.usable(ctx)
	if err != nil {
		return nil, err
	}
	confirmed, err := k.write(ctx, s)
	if err != nil {
		return nil, because(err, k.trouble)
	}
	var overdue <-chan time.Time
	for {
		select {
		case answer := <-k.answers:
			return &answer, nil
		case err := <-confirmed:
			if err != nil || k.answers == nil {
				return nil, err
			}
			// The broker has it; what is left is the answer, which nothing vouches for.
			confirmed, overdue = nil, time.After(k.patience)
			k.patience *= 2
		case <-overdue:
			overdue = nil
			if confirmed, err = k.write(ctx, s); err != nil {
				return nil, because(err, k.trouble)
			}
		case <-s.lost:
			return nil, s.lossFor(k.message)
		case <-ctx.Done():
			return nil, because(ctx.Err(), k.trouble)
		case <-k.client.life.Done():
			return nil, ErrClosed
		}
	}
}

// write gives what tells of the confirmation. It is nil when the session is about
// to end.
func (k *call) write(ctx context.Context, s *session) (<-chan error, error) {
	giveBack, err := s.takeTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	// Also a write that fails may have arrived.
	k.sent = true
	confirmed, err := s.publish(k.message)
	if err != nil {
		k.trouble = err
	}
	return confirmed, nil
}

// bounded gives a context that has a deadline.
func (c *Client) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, c.opts.Timeout)
}
