package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"couponlease/internal/amqp"
	"couponlease/messages"
)

// Sink listens to every event of a space, as a service of the shop would.
type Sink struct {
	mutex sync.Mutex
	// versions holds, per coupon, the versions in order of first sight.
	versions map[string][]int64
	// operations counts the sightings of each ledger row.
	operations map[string]int
	types      map[string]int
	// ids holds, per type, the ids of events and what caused each.
	ids    map[string]map[string]string
	total  int
	broken []string
}

// Listen binds a queue to the events and collects from now on.
func Listen(t testing.TB, space *Space) *Sink {
	t.Helper()
	const queue = "fleet-events"
	ctx, cancel := context.WithTimeout(context.Background(), setupLimit)
	defer cancel()
	layout := amqp.Layout{
		Exchanges: []amqp.Exchange{{Name: amqp.ExchangeEvents, Kind: "topic"}},
		Queues:    []amqp.Queue{{Name: queue, Args: map[string]any{"x-queue-type": "quorum"}}},
		Bindings:  []amqp.Binding{{Source: amqp.ExchangeEvents, Key: "#", Destination: queue}},
	}
	must(t, amqp.Apply(ctx, space.Conn, layout), "declare the event queue")
	subscriber := amqp.NewSubscriber(space.Conn, amqp.SubscriberConfig{})
	t.Cleanup(func() { must(t, subscriber.Close(), "close the event subscriber") })
	incoming, err := subscriber.Subscribe(context.Background(), queue)
	must(t, err, "listen to events")
	s := &Sink{
		versions: map[string][]int64{}, operations: map[string]int{}, types: map[string]int{},
		ids: map[string]map[string]string{},
	}
	go func() {
		for msg := range incoming {
			s.take(msg)
			msg.Ack()
		}
	}()
	return s
}

func (s *Sink) take(msg *message.Message) {
	envelope, err := messages.ParseOutgoing(messages.Delivery{
		Body: msg.Payload, MessageID: msg.UUID, Type: msg.Metadata.Get(amqp.MetaType),
		ContentType: msg.Metadata.Get(amqp.MetaContentType), Headers: msg.Metadata,
	})
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.total++
	if err != nil {
		s.broken = append(s.broken, err.Error())
		return
	}
	s.types[envelope.Type]++
	change, err := changeOf(envelope)
	if err != nil {
		s.broken = append(s.broken, err.Error())
		return
	}
	if s.ids[envelope.Type] == nil {
		s.ids[envelope.Type] = map[string]string{}
	}
	s.ids[envelope.Type][envelope.ID] = change.CausationID
	if change.OperationID == "" {
		return
	}
	if s.operations[change.OperationID]++; s.operations[change.OperationID] == 1 {
		s.versions[change.CouponID] = append(s.versions[change.CouponID], change.StateVersion)
	}
}

// Total is the number of events seen, repeats included.
func (s *Sink) Total() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.total
}

// Seen says whether the event of a ledger row has come.
func (s *Sink) Seen(operation string) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.operations[operation] > 0
}

// Causes gives what caused the events of a type, by their ids; an event that came twice is
// there once.
func (s *Sink) Causes(eventType string) map[string]string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return maps.Clone(s.ids[eventType])
}

// Types counts the events by type, repeats included.
func (s *Sink) Types() map[string]int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	counts := make(map[string]int, len(s.types))
	for name, count := range s.types {
		counts[name] = count
	}
	return counts
}

// Disorder lists the coupons whose events came first in another order than that
// of their versions, and the events that could not be read.
func (s *Sink) Disorder() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	found := append([]string(nil), s.broken...)
	for coupon, versions := range s.versions {
		for i := 1; i < len(versions); i++ {
			if versions[i] < versions[i-1] {
				found = append(found, coupon)
				break
			}
		}
	}
	return found
}

// changeOf reads what every event carries.
func changeOf(envelope messages.Envelope) (messages.Change, error) {
	var change messages.Change
	if err := json.Unmarshal(envelope.Data, &change); err != nil {
		return change, fmt.Errorf("event %s: %w", envelope.ID, err)
	}
	return change, nil
}
