package amqp

import (
	"context"
	"fmt"
	"testing"
	"time"

	"couponlease/internal/testkit"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.uber.org/goleak"
)

// patience is how long a test waits for something that must happen.
const patience = 60 * time.Second

// testContext ends with the test, and at the latest when patience is over.
func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	return ctx
}

// noLeaks fails the test when goroutines are left once everything else that was
// registered after it has been cleaned up.
func noLeaks(t *testing.T) {
	t.Helper()
	existing := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, existing) })
}

// connect keeps a connection open for the test.
func connect(t testing.TB, url string) *Conn {
	t.Helper()
	conn, err := Connect(ConnConfig{
		URL: url, Name: t.Name(), MinBackoff: 10 * time.Millisecond, MaxBackoff: 100 * time.Millisecond,
		CloseTimeout: 2 * time.Second,
	})
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { closeNow(t, "connection", conn.Close) })
	return conn
}

func closeNow(t testing.TB, what string, closing func() error) {
	t.Helper()
	if err := closing(); err != nil {
		t.Errorf("close %s: %v", what, err)
	}
}

// broker is a virtual host with the product's layout in place.
type broker struct {
	testkit.Broker
	conn *Conn
}

func newBroker(t testing.TB) broker {
	t.Helper()
	b := broker{Broker: testkit.RabbitMQ(t)}
	b.conn = connect(t, b.URL)
	if err := Apply(testContext(t), b.conn, DefaultLayout(Options{})); err != nil {
		t.Fatalf("apply layout: %v", err)
	}
	return b
}

func (b broker) publisher(t testing.TB) *Publisher {
	t.Helper()
	p := NewPublisher(connect(t, b.URL), PublisherConfig{ConfirmTimeout: 20 * time.Second})
	t.Cleanup(func() { closeNow(t, "publisher", p.Close) })
	return p
}

// subscriber uses quick waits, so that interruptions are over soon.
func (b broker) subscriber(t testing.TB, cfg SubscriberConfig) *Subscriber {
	t.Helper()
	cfg.MinBackoff, cfg.MaxBackoff = 10*time.Millisecond, 100*time.Millisecond
	cfg.DrainTimeout = orDefault(cfg.DrainTimeout, 20*time.Second)
	cfg.ProbeInterval = 200 * time.Millisecond
	s := NewSubscriber(connect(t, b.URL), cfg)
	t.Cleanup(func() { closeNow(t, "subscriber", s.Close) })
	return s
}

func subscribe(t testing.TB, s message.Subscriber, queue string) <-chan *message.Message {
	t.Helper()
	messages, err := s.Subscribe(t.Context(), queue)
	if err != nil {
		t.Fatalf("subscribe to %s: %v", queue, err)
	}
	return messages
}

// publishAll sends publications and fails the test unless all succeed.
func publishAll(t testing.TB, p *Publisher, publications []Publication) {
	t.Helper()
	for i, err := range p.PublishBatch(testContext(t), publications) {
		if err != nil {
			t.Fatalf("publish %d of %d: %v", i, len(publications), err)
		}
	}
}

// numbered makes n publications to a queue with ids 0 to n-1.
func numbered(queue string, n int) []Publication {
	publications := make([]Publication, n)
	for i := range publications {
		publications[i] = Publication{
			Key: queue, ID: fmt.Sprintf("m-%d", i), Type: "order.placed.v1",
			ContentType: "application/json", Mandatory: true, Body: []byte(`{"orderId":"A"}`),
			Headers: map[string]string{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
		}
	}
	return publications
}

// receive waits for the next message.
func receive(t testing.TB, messages <-chan *message.Message) *message.Message {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case msg, ok := <-messages:
		if !ok {
			t.Fatal("subscription ended")
		}
		return msg
	case <-timer.C:
		t.Fatalf("no message within %v", patience)
	}
	return nil
}

func benchName(what string, n int) string { return fmt.Sprintf("%s=%d", what, n) }
