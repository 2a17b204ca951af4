package amqp

import (
	"fmt"
	"testing"
	"time"

	"couponlease/internal/testkit"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// reticent is a broker that tells nobody without a right to declare what there
// is, as RabbitMQ 4.2.6 and 4.3.0 are; later ones tell who has any right to it.
func reticent(t *testing.T) *stub {
	t.Helper()
	return newStub(t, script{refuse: map[stubMethod]uint16{
		methodExchangeDeclare: amqp091.AccessRefused, methodQueueDeclare: amqp091.AccessRefused,
	}})
}

func TestPublisherDoesWithoutLookingForExchanges(t *testing.T) {
	b := reticent(t)
	p := NewPublisher(connect(t, b.url()), PublisherConfig{})
	t.Cleanup(func() { closeNow(t, "publisher", p.Close) })
	publishAll(t, p, []Publication{{Exchange: ExchangeEvents, Key: "coupon.locked.v1", ID: "1"}})
	b.await(methodPublish)
}

// A refused probe costs one channel, and is not tried again.
func TestSubscriberDoesWithoutProbes(t *testing.T) {
	b := reticent(t)
	s, messages, _ := stubSubscriber(t, b, SubscriberConfig{ProbeInterval: time.Millisecond})
	b.await(methodQueueDeclare)
	second := b.await(methodConsume)
	testkit.Eventually(t, patience, "it consumes again", func() (bool, string) {
		stats := s.Stats()[0]
		return stats.Consuming, fmt.Sprintf("%+v", stats)
	})
	for tag := range uint64(20) {
		second.conn.deliver(second.channel, second.consumer, tag+1)
		receive(t, messages).Ack()
	}
	if stats := s.Stats()[0]; stats.Resubscriptions != 1 {
		t.Errorf("subscribed again %d times, want once: %v", stats.Resubscriptions, stats.LastError)
	}
}

func TestVerifyOnReticentBroker(t *testing.T) {
	b := reticent(t)
	conn, layout := connect(t, b.url()), DefaultLayout(Options{})
	differences, err := Verify(testContext(t), conn, layout, nil)
	if err != nil || len(differences) != len(layout.Exchanges)+len(layout.Queues) || differences[0].Kind != Unchecked {
		t.Fatalf("%v, %v, want everything unchecked", differences, err)
	}
	if err := Ensure(testContext(t), conn, layout, ModeVerify, nil); err != nil {
		t.Errorf("verify mode: %v", err)
	}
	// The management API of a real broker knows.
	if differences, err = Verify(testContext(t), conn, layout, newBroker(t).management(t)); err != nil || len(differences) > 0 {
		t.Errorf("with the management API of a broker in shape: %v, %v", differences, err)
	}
	empty := broker{Broker: testkit.RabbitMQ(t)}
	differences, err = Verify(testContext(t), conn, layout, empty.management(t))
	missing := len(layout.Exchanges) + len(layout.Queues) + len(layout.Bindings)
	if err != nil || len(differences) != missing || differences[0].Kind != Missing {
		t.Errorf("with that of an empty broker: %d differences, want %d; %v", len(differences), missing, err)
	}
}
