package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"couponlease/internal/amqp"
	"couponlease/internal/config"
)

// listenerQueue gets every event that the product tells.
const listenerQueue = "demo-listener"

// listener is a service that listens to coupon events, as those of a shop would.
type listener struct {
	conn       *amqp.Conn
	subscriber *amqp.Subscriber
	done       chan struct{}

	mutex      sync.Mutex
	ids        map[string]bool
	byType     map[string]int
	operations map[string]bool
	repeated   int
}

// listen begins to collect events.
func listen(ctx context.Context, services config.Services, logger *slog.Logger) (*listener, error) {
	conn, err := amqp.Connect(amqp.ConnConfig{URL: services.AMQPURL, Name: "demo listener", Logger: logger})
	if err != nil {
		return nil, err
	}
	l := &listener{
		conn: conn, done: make(chan struct{}),
		ids: map[string]bool{}, byType: map[string]int{}, operations: map[string]bool{},
	}
	layout := amqp.Layout{
		Queues:   []amqp.Queue{{Name: listenerQueue, Args: map[string]any{"x-queue-type": "quorum"}}},
		Bindings: []amqp.Binding{{Source: amqp.ExchangeEvents, Key: "#", Destination: listenerQueue}},
	}
	if err := amqp.Apply(ctx, conn, layout); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	l.subscriber = amqp.NewSubscriber(conn, amqp.SubscriberConfig{Logger: logger})
	arrivals, err := l.subscriber.Subscribe(context.WithoutCancel(ctx), listenerQueue)
	if err != nil {
		return nil, errors.Join(err, l.subscriber.Close(), conn.Close())
	}
	go func() {
		defer close(l.done)
		for message := range arrivals {
			l.heard(message.UUID, message.Metadata.Get(amqp.MetaType), message.Payload)
			message.Ack()
		}
	}()
	return l, nil
}

func (l *listener) heard(id, messageType string, body []byte) {
	var event struct {
		OperationID string `json:"operationId"`
	}
	// What is not JSON has no operation, and is missed in the end.
	_ = json.Unmarshal(body, &event)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.ids[id] {
		l.repeated++
		return
	}
	l.ids[id] = true
	l.byType[messageType]++
	if event.OperationID != "" {
		l.operations[event.OperationID] = true
	}
}

// heardOf is how many ledger rows have been told so far.
func (l *listener) heardOf() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return len(l.operations)
}

// tally gives the events heard, by type, and how many came more than once.
func (l *listener) tally() (byType map[string]int, repeated int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	byType = make(map[string]int, len(l.byType))
	for messageType, n := range l.byType {
		byType[messageType] = n
	}
	return byType, l.repeated
}

func (l *listener) close() error {
	err := errors.Join(l.subscriber.Close(), l.conn.Close())
	<-l.done
	if err != nil {
		return fmt.Errorf("close the listener: %w", err)
	}
	return nil
}
