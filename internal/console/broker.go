package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"couponlease/internal/amqp"
	"couponlease/internal/config"
)

// brokerTimeout bounds the wait for the broker to answer for the first time.
const brokerTimeout = 15 * time.Second

// Broker is an operator's connection to the broker.
type Broker struct {
	conn       *amqp.Conn
	publisher  *amqp.Publisher
	management *amqp.Management
	layout     amqp.Layout
}

// OpenBroker connects and waits until the broker answers. Without the address of
// the management API bindings cannot be compared.
func OpenBroker(ctx context.Context, services config.Services, logger *slog.Logger) (*Broker, error) {
	if services.AMQPURL == "" {
		return nil, unset("COUPONLEASE_AMQP_URL")
	}
	trust, err := services.BrokerTLS()
	if err != nil {
		return nil, Usage(err)
	}
	b := &Broker{layout: amqp.DefaultLayout(amqp.Options{})}
	if services.AMQPManagementURL != "" {
		management, err := amqp.NewManagement(services.AMQPManagementURL, services.VHost(), trust)
		if err != nil {
			return nil, Usage(err)
		}
		b.management = management
	}
	conn, err := amqp.Connect(amqp.ConnConfig{
		URL: services.AMQPURL, Name: clientName, TLS: trust, Logger: logger,
	})
	if err != nil {
		return nil, &usageError{fmt.Errorf("connect to the broker: %w", err)}
	}
	ready, cancel := context.WithTimeout(ctx, brokerTimeout)
	defer cancel()
	if err := conn.Ready(ready); err != nil {
		cause := cmp.Or(conn.State().LastError, err)
		return nil, errors.Join(fmt.Errorf("%w: is it running, and does "+
			"COUPONLEASE_AMQP_URL name it?", cause), conn.Close())
	}
	b.conn = conn
	b.publisher = amqp.NewPublisher(conn, amqp.PublisherConfig{Logger: logger})
	return b, nil
}

// Close waits for confirmations that are under way and disconnects.
func (b *Broker) Close() error { return errors.Join(b.publisher.Close(), b.conn.Close()) }

// QueueDepth is the number of messages that wait in a queue; those that a consumer
// has and has not acknowledged are not among them.
func (b *Broker) QueueDepth(ctx context.Context, queue string) (int, error) {
	channel, err := b.conn.Channel(ctx)
	if err != nil {
		return 0, fmt.Errorf("look at queue %s: %w", queue, err)
	}
	defer channel.Close()
	// A passive declaration compares nothing but the name.
	state, err := channel.QueueDeclarePassive(queue, true, false, false, false, nil)
	if err != nil {
		return 0, fmt.Errorf("look at queue %s: %w", queue, err)
	}
	return state.Messages, nil
}
