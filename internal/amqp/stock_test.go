package amqp

import (
	"context"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

func stockSubscriber(t *testing.T, url string) *StockSubscriber {
	t.Helper()
	s, err := NewStockSubscriber(StockConfig{URL: url, Layout: DefaultLayout(Options{}), Mode: ModeDeclare})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeNow(t, "stock subscriber", s.Close) })
	return s
}

func TestStockSubscriberReadsEveryDelivery(t *testing.T) {
	b := newBroker(t)
	// It brings its own queue into being.
	b.DeleteQueue(t, QueueOrderPlaced)
	messages := subscribe(t, stockSubscriber(t, b.URL), QueueOrderPlaced)
	publishAll(t, b.publisher(t), numbered(QueueOrderPlaced, 1))
	for _, count := range []string{"0", "1", "2"} {
		msg := receive(t, messages)
		if msg.UUID != "m-0" || msg.Metadata[MetaDeliveryCount] != count || msg.Metadata[MetaQueue] != QueueOrderPlaced {
			t.Errorf("received %q from %q, delivery count %s; want m-0, %s, %s",
				msg.UUID, msg.Metadata[MetaQueue], msg.Metadata[MetaDeliveryCount], QueueOrderPlaced, count)
		}
		if count == "2" {
			msg.Ack()
		} else {
			msg.Nack()
		}
	}
}

// TestStockSubscriberCloseUnderLoad closes with a message in the hands of every
// subscription: all are finished and acknowledged, none comes again.
func TestStockSubscriberCloseUnderLoad(t *testing.T) {
	b := newBroker(t)
	const count, subscriptions = 1000, 8
	publishAll(t, b.publisher(t), numbered(QueueOrderPlaced, count))
	processed := newTally()
	for round := 1; processed.distinct() < count; round++ {
		s := stockSubscriber(t, b.URL)
		for range subscriptions {
			messages := subscribe(t, s, QueueOrderPlaced)
			go func() {
				for msg := range messages {
					processed.add(msg)
					msg.Ack()
				}
			}()
		}
		processed.await(t, min(round*count/2, count))
		closeNow(t, "stock subscriber", s.Close)
	}
	if repeats := processed.repeats(); len(repeats) > 0 {
		t.Errorf("%d messages came again after a close, among them %s", len(repeats), repeats[0])
	}
	b.awaitDepth(t, QueueOrderPlaced, 0)
}

func TestStockSubscriberCloseWaitsForWorkInFlight(t *testing.T) {
	b := newBroker(t)
	s, err := NewStockSubscriber(StockConfig{URL: b.URL})
	if err != nil {
		t.Fatal(err)
	}
	s.letGo = 10 * time.Millisecond
	messages := subscribe(t, s, QueueOrderPlaced)
	publishAll(t, b.publisher(t), numbered(QueueOrderPlaced, 1))
	msg := receive(t, messages)
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	<-s.closing
	select {
	case <-closed:
		t.Error("Close returned with a message in flight")
	case <-time.After(100 * time.Millisecond):
	}
	msg.Ack()
	// Ten milliseconds may be too short to end in order, and the error says so.
	<-closed
}

func TestStockSubscriptionEndsWithItsContext(t *testing.T) {
	b := newBroker(t)
	s := stockSubscriber(t, b.URL)
	ctx, cancel := context.WithCancel(t.Context())
	messages, err := s.Subscribe(ctx, QueueOrderPlaced)
	if err != nil {
		t.Fatal(err)
	}
	publishAll(t, b.publisher(t), numbered(QueueOrderPlaced, 2))
	msg := receive(t, messages)
	cancel()
	if err := msg.Context().Err(); err != nil {
		t.Errorf("a message in flight was cancelled with its subscription: %v", err)
	}
	msg.Ack()
	if extra, more := <-messages; more {
		t.Errorf("message %s after the subscription ended", extra.UUID)
	}
	b.awaitDepth(t, QueueOrderPlaced, 1)
}

func TestStockSubscriberNeedsABroker(t *testing.T) {
	b := newStub(t, script{})
	b.shut()
	if s, err := NewStockSubscriber(StockConfig{URL: b.url()}); err == nil {
		closeNow(t, "stock subscriber", s.Close)
		t.Error("started without a broker")
	}
}

// A relay that was asked to stop hands nothing out, however ready everybody is.
func TestStoppedStockRelayHandsNothingOut(t *testing.T) {
	stopped := make(chan struct{})
	close(stopped)
	for _, asked := range []struct {
		name          string
		closing, stop chan struct{}
	}{{"closing", stopped, make(chan struct{})}, {"context", make(chan struct{}), stopped}} {
		for range 100 { // a select takes either of two
			in := make(chan *message.Message, 1)
			in <- message.NewMessage("m", nil)
			r := &stockRelay{in: in, out: make(chan *message.Message, 1), stop: asked.stop}
			if r.pass(asked.closing, time.Second) || len(r.out) > 0 {
				t.Fatalf("%s: a message was handed out", asked.name)
			}
		}
	}
}
