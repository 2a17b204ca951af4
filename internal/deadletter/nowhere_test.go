package deadletter_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"couponlease/internal/amqp"
	"couponlease/internal/coupon"
	"couponlease/internal/deadletter"
	"couponlease/internal/fleet"
	"couponlease/internal/store"
	"couponlease/internal/testkit"
	"couponlease/router"
)

// cutOff is a worker that takes messages, and can reach neither the database nor publish.
type cutOff struct {
	subscriber *amqp.Subscriber
	stop       func()
}

func startCutOff(t *testing.T, space *fleet.Space, database, broker *testkit.Proxy, engine router.Engine) *cutOff {
	t.Helper()
	s, err := store.Open(t.Context(), database.URL, store.Options{Rules: coupon.DefaultRules(), StatementTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := amqp.Connect(amqp.ConnConfig{URL: broker.URL, Name: "cut off"})
	if err != nil {
		t.Fatal(err)
	}
	desk := deadletter.NewDesk(s, s, deadletter.Options{Classify: store.Classify})
	publisher := amqp.NewPublisher(conn, amqp.PublisherConfig{})
	w := &cutOff{subscriber: amqp.NewSubscriber(space.Conn, amqp.SubscriberConfig{DrainTimeout: time.Second})}
	r, err := router.New(router.Config{
		Subscriber: w.subscriber, Publisher: publisher, Desk: desk, Engine: engine,
		Queues: []string{amqp.QueuePaymentSucceeded}, Tiers: []time.Duration{time.Second}, CloseTimeout: patience,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.Run(context.Background()) }()
	w.stop = func() {
		t.Helper()
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // what is on the desk cannot be finished
		err := errors.Join(r.Close(), <-ended, publisher.Close(), conn.Close())
		if err != nil {
			t.Errorf("stop the worker: %v", err)
		}
		if desk.Close(ctx) == nil {
			t.Error("the desk had nothing left to do")
		}
		s.Close()
	}
	return w
}

// T54: neither the database nor the broker takes dead letters, one that is published and
// one that is filed at once. Both messages stay in their queue.
func TestT54NeitherDatabaseNorBrokerTakesTheLetter(t *testing.T) {
	t.Parallel()
	space := fleet.NewSpace(t)
	database, broker := testkit.NewProxy(t, space.PostgresURL), testkit.NewProxy(t, space.Broker.URL)
	database.Cut()
	broker.Cut()
	w := startCutOff(t, space, database, broker, broken{&atomic.Int64{}, strings.Repeat("long ", 10_000)})
	facts := payments(2)
	facts[0].Body = []byte(`{"orderId":`)
	facts[1].Headers = map[string]string{deadletter.HeaderAttempt: "9"}
	space.Publish(t, facts)
	testkit.Eventually(t, patience, "both messages are with the worker", func() (bool, string) {
		stats := w.subscriber.Stats()
		return len(stats) == 1 && stats[0].InFlight == 2, fmt.Sprintf("%+v", stats)
	})
	w.stop()
	testkit.Eventually(t, patience, "both messages are in their queue again", func() (bool, string) {
		depth := space.Broker.QueueDepth(t, amqp.QueuePaymentSucceeded)
		return depth == 2, fmt.Sprint(depth)
	})
	if n := space.Broker.QueueDepth(t, amqp.QueueDead); n > 0 {
		t.Errorf("%d dead letters", n)
	}
	fleet.Start(t, program("coupond"), space)
	if l := filed(t, space, 1)[0]; l.MessageID != facts[0].ID || l.Reason != "BAD_JSON" {
		t.Errorf("filed as %+v", l)
	}
	space.WaitForReceipts(t, 1)
}
