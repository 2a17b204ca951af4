package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"couponlease/messages"
)

const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// received reads a message as the product does.
func received(t testing.TB, d amqp091.Delivery) messages.Envelope {
	t.Helper()
	headers := map[string]string{}
	for name, value := range d.Headers {
		headers[name] = fmt.Sprint(value)
	}
	e, err := messages.Parse(messages.Delivery{
		Body: d.Body, ContentType: d.ContentType, MessageID: d.MessageId, Type: d.Type, RoutingKey: d.RoutingKey,
		Timestamp: d.Timestamp, Headers: headers, CorrelationID: d.CorrelationId, ReplyTo: d.ReplyTo,
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestPublishBringsEveryFact(t *testing.T) {
	s := newShop(t, nil)
	c := s.client(func(o *Options) { o.TraceParent = func(context.Context) string { return trace } })
	at := time.Date(2026, 3, 1, 9, 0, 0, 250_000_000, time.UTC)
	amount := messages.Money{Amount: 1999, Currency: "EUR"}
	for id, fact := range map[string]messages.Fact{
		"id-1": messages.OrderPlaced{OrderID: "o1", CustomerID: "u1", Payable: amount, OccurredAt: at},
		"id-2": messages.PaymentSucceeded{OrderID: "o1", PaymentID: "p1", Amount: amount, OccurredAt: at},
		"id-3": messages.OrderClosed{OrderID: "o1", Reason: "timeout", OccurredAt: at},
		"id-4": messages.RefundApproved{OrderID: "o1", RefundID: "r1", Amount: amount, Reason: "customer", OccurredAt: at},
	} {
		s.must(c.Publish(patient(t), id, fact))
		d := s.take(factQueue)
		e := received(t, d)
		got := []any{e.ID, e.Type, d.Type, d.RoutingKey, e.Source, e.Subject, e.Time, e.TraceParent, d.DeliveryMode, d.ReplyTo}
		want := []any{
			id, fact.MessageType(), fact.MessageType(), fact.MessageType(), "checkout", "o1", at, trace,
			uint8(amqp091.Persistent), "",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%T (-want +got):\n%s", fact, diff)
		}
	}
}

func TestPublishDrawsAnID(t *testing.T) {
	s := newShop(t, nil)
	c := s.client(nil)
	s.must(c.Publish(patient(t), "", closed))
	s.must(c.Publish(context.Background(), "", closed)) // the options bound it
	one, other := received(t, s.take(factQueue)), received(t, s.take(factQueue))
	if one.ID == other.ID || len(one.ID) != 36 || one.ID[14] != '7' || one.ID >= other.ID {
		t.Errorf("got the ids %s and %s, want two of version 7, in order", one.ID, other.ID)
	}
}

// failure checks that an error is an *Error about a message.
func failure(t testing.TB, err error, cause error, sent bool, key string) *Error {
	t.Helper()
	var failed *Error
	if !errors.As(err, &failed) {
		t.Fatalf("got %v, want an *Error", err)
	}
	if !errors.Is(err, cause) || failed.Sent != sent || failed.Key != key {
		t.Errorf("got %+v (%v), want it sent %t under %s because: %v", failed, err, sent, key, cause)
	}
	if !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), failed.Type) {
		t.Errorf("the error does not say which message: %v", err)
	}
	return failed
}

func TestPublishFailsWhenNoQueueTakesIt(t *testing.T) {
	s := newShop(t, nil)
	s.must(s.channel.QueueUnbind(factQueue, "#", messages.ExchangeCommerce, nil))
	failure(t, s.client(nil).Publish(patient(t), "id-1", closed), ErrUnroutable, true, "id-1")
}

func TestPublishRefusesWhatBreaksTheContract(t *testing.T) {
	s := newShop(t, nil)
	c := s.client(nil)
	for _, id := range []string{"id-1", strings.Repeat("x", messages.MaxID+1)} {
		fact := closed
		if id == "id-1" {
			fact.OrderID = ""
		}
		var fault *messages.Malformed
		err := c.Publish(patient(t), id, fact)
		if !errors.As(err, &fault) {
			t.Fatalf("got %v, want a *messages.Malformed", err)
		}
		failure(t, err, fault, false, id)
	}
	if err := c.Publish(patient(t), "id-1", &closed); err == nil {
		t.Error("a pointer to a fact was published")
	}
	s.depth(factQueue, 0)
}

func TestPublishTriesAgainWhatTheBrokerCouldNotStore(t *testing.T) {
	s := newShop(t, amqp091.Table{"x-max-length": 1, "x-overflow": "reject-publish"})
	c := s.client(nil)
	s.must(c.Publish(patient(t), "id-1", closed))
	err := c.Publish(hasty(t), "id-2", closed)
	failure(t, err, context.DeadlineExceeded, true, "id-2")
	if !strings.Contains(err.Error(), "could not store it") {
		t.Errorf("the error does not say why: %v", err)
	}
	published := make(chan error, 1)
	go func() { published <- c.Publish(patient(t), "id-3", closed) }()
	for s.take(factQueue).MessageId != "id-3" {
	}
	s.must(<-published)
}

// TestPublishSurvivesLostConnections: every fact arrives, under its own id, while
// the broker closes connections.
func TestPublishSurvivesLostConnections(t *testing.T) {
	s := newShop(t, nil)
	c := s.client(nil)
	const facts, losses = 300, 5
	want := map[string]bool{}
	var publishing sync.WaitGroup
	errs := make(chan error, facts)
	start := make(chan struct{}, facts)
	for i := range facts {
		id := fmt.Sprintf("id-%03d", i)
		want[id] = true
		publishing.Go(func() {
			<-start
			errs <- c.Publish(patient(t), id, closed)
		})
	}
	for loss := range losses {
		for range facts / losses {
			start <- struct{}{}
		}
		if loss > 0 {
			s.broker.CloseConnections(t)
		}
	}
	publishing.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	s.connect()
	for {
		d, ok, err := s.channel.Get(factQueue, true)
		s.must(err)
		if !ok {
			break
		}
		delete(want, d.MessageId)
	}
	if len(want) > 0 {
		t.Errorf("%d facts are missing, such as %v", len(want), want)
	}
}
