package amqp

import (
	"fmt"
	"testing"

	"couponlease/internal/testkit"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"
)

// consumeAfterQos waits until the client consumes, and tells with what window.
func consumeAfterQos(t *testing.T, b *stub) (prefetch uint16, consumer happening) {
	t.Helper()
	prefetch = b.await(methodQos).prefetch
	return prefetch, b.await(methodConsume)
}

func TestSessionStartsNarrow(t *testing.T) {
	b := newStub(t, script{})
	s := NewSubscriber(connect(t, b.url()), SubscriberConfig{Prefetch: 100})
	t.Cleanup(func() { closeNow(t, "subscriber", s.Close) })
	messages := subscribe(t, s, QueueOrderPlaced)
	prefetch, consumer := consumeAfterQos(t, b)
	if prefetch != 1 {
		t.Fatalf("the session starts with a window of %d, want 1", prefetch)
	}
	// Suspects come first, one by one; nothing changes.
	for tag := range uint64(2) {
		consumer.conn.deliverAgain(consumer.channel, consumer.consumer, 3, tag+1)
		receive(t, messages).Ack()
		if h := b.await(methodAck); h.tag != tag+1 {
			t.Errorf("acknowledged %d, want %d", h.tag, tag+1)
		}
	}
	consumer.conn.deliverAgain(consumer.channel, consumer.consumer, 2, 3)
	msg := receive(t, messages)
	prefetch, consumer = consumeAfterQos(t, b)
	if prefetch != 100 {
		t.Fatalf("after a message that is not suspect the window is %d, want 100", prefetch)
	}
	consumer.conn.deliver(consumer.channel, consumer.consumer, 4)
	receive(t, messages).Ack()
	msg.Ack()
	if h := b.await(methodAck); h.tag != 4 && h.tag != 3 {
		t.Errorf("acknowledged %d, want 3 or 4", h.tag)
	}
}

func TestSuspectInAWideWindowIsHandledAlone(t *testing.T) {
	b := newStub(t, script{mute: map[stubMethod]bool{methodCancel: true}})
	s := NewSubscriber(connect(t, b.url()), SubscriberConfig{Prefetch: 100})
	t.Cleanup(func() { closeNow(t, "subscriber", s.Close) })
	messages := subscribe(t, s, QueueOrderPlaced)
	answerCancel := func(also func(happening)) {
		cancel := b.await(methodCancel)
		also(cancel)
		cancel.conn.answer(cancel)
	}
	_, consumer := consumeAfterQos(t, b)
	consumer.conn.deliver(consumer.channel, consumer.consumer, 1)
	inFlight := []*message.Message{receive(t, messages)}
	answerCancel(func(happening) {})
	_, consumer = consumeAfterQos(t, b)
	consumer.conn.deliver(consumer.channel, consumer.consumer, 2)
	inFlight = append(inFlight, receive(t, messages))
	consumer.conn.deliverAgain(consumer.channel, consumer.consumer, 5, 3)
	answerCancel(func(cancel happening) {
		consumer.conn.deliverAgain(cancel.channel, consumer.consumer, 3, 4)
		consumer.conn.deliver(cancel.channel, consumer.consumer, 5)
	})
	inFlight = append(inFlight, receive(t, messages))
	var others []string
	for _, msg := range inFlight {
		others = append(others, msg.UUID)
	}
	if diff := cmp.Diff([]string{"id-1", "id-2", "id-5"}, others); diff != "" {
		t.Errorf("handled before the suspects (-want +got):\n%s", diff)
	}
	inFlight[0].Ack()
	inFlight[1].Ack()
	select {
	case msg := <-messages:
		t.Fatalf("suspect %s was handed out with a message in flight", msg.UUID)
	default:
	}
	inFlight[2].Ack()
	for _, want := range []string{"id-4", "id-3"} {
		msg := receive(t, messages)
		if stats := s.Stats()[0]; msg.UUID != want || stats.InFlight != 1 {
			t.Errorf("received %s with %d in flight, want %s alone", msg.UUID, stats.InFlight, want)
		}
		msg.Ack()
	}
	b.change(func(s *script) { s.mute = nil })
	if prefetch, _ := consumeAfterQos(t, b); prefetch != 1 {
		t.Errorf("after suspects the window is %d, want 1", prefetch)
	}
}

// TestCrasherTakesNobodyWithIt has a message whose handling ends the connection,
// as if it killed the process, at the front of a queue with a small limit: it
// goes to the dead letters, and its neighbours do not.
func TestCrasherTakesNobodyWithIt(t *testing.T) {
	b := broker{Broker: testkit.RabbitMQ(t)}
	b.conn = connect(t, b.URL)
	if err := Apply(testContext(t), b.conn, DefaultLayout(Options{DeliveryLimit: 8})); err != nil {
		t.Fatal(err)
	}
	const neighbours = 9
	publishAll(t, b.publisher(t), numbered(QueueOrderPlaced, 1+neighbours))
	processed := newTally()
	s := b.subscriber(t, SubscriberConfig{Prefetch: 1 + neighbours})
	messages := subscribe(t, s, QueueOrderPlaced)
	go func() {
		for msg := range messages {
			if msg.UUID == "m-0" {
				l, err := s.conn.current(t.Context())
				if err == nil {
					l.abort()
				}
				msg.Nack()
				continue
			}
			processed.add(msg)
			msg.Ack()
		}
	}()
	dead := receive(t, subscribe(t, b.subscriber(t, SubscriberConfig{}), QueueDead))
	dead.Ack()
	if dead.UUID != "m-0" {
		t.Errorf("dead letter %s, want only the crasher", dead.UUID)
	}
	processed.await(t, neighbours)
	testkit.Eventually(t, patience, "the queue is empty", func() (bool, string) {
		depth, inFlight := b.QueueDepth(t, QueueOrderPlaced), s.Stats()[0].InFlight
		return depth == 0, fmt.Sprintf("%d ready, %d in flight", depth, inFlight)
	})
	b.awaitDepth(t, QueueDead, 0)
}
