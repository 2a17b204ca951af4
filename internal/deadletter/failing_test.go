package deadletter_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"couponlease/internal/amqp"
	"couponlease/internal/coupon"
	"couponlease/internal/deadletter"
	"couponlease/internal/fleet"
	"couponlease/internal/store"
	"couponlease/internal/testkit"
	"couponlease/router"
)

// broken is an engine that has a defect: it never answers.
type broken struct {
	calls *atomic.Int64
	text  string
}

func (b broken) SubmitAll(_ context.Context, requests []coupon.Request) ([]coupon.Outcome, []error) {
	b.calls.Add(1)
	errs := make([]error, len(requests))
	for i := range errs {
		errs[i] = errors.New(b.text)
	}
	return make([]coupon.Outcome, len(requests)), errs
}

// run starts a worker with a broken engine; it ends with the test. Without a desk its dead
// letters go to their queue.
func run(t *testing.T, space *fleet.Space, queue string, engine broken, desk *deadletter.Desk) {
	t.Helper()
	subscriber := amqp.NewSubscriber(space.Conn, amqp.SubscriberConfig{})
	config := router.Config{
		Subscriber: subscriber, Publisher: space.Publisher, Engine: engine, Queues: []string{queue},
		Tiers: []time.Duration{time.Second}, CloseTimeout: patience, Host: "h1", Version: "v1",
		Logger: slog.New(slog.DiscardHandler),
	}
	if desk != nil {
		config.Desk = desk
	}
	r, err := router.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.Run(context.Background()) }()
	t.Cleanup(func() {
		if err := errors.Join(r.Close(), <-ended); err != nil {
			t.Errorf("stop the worker: %v", err)
		}
	})
}

// T58: six workers share the attempts of a message, and count no more than those that are
// configured. T53: the error is 300 KiB of text: what travels in headers is cut, what is
// filed is not.
func TestT53T58LongErrorsOfSixWorkers(t *testing.T) {
	t.Parallel()
	space := fleet.NewSpace(t)
	desk := deadletter.NewDesk(space.Store, space.Store, deadletter.Options{Classify: store.Classify})
	t.Cleanup(func() {
		if err := desk.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	var filing, burying atomic.Int64
	text := strings.Repeat("goroutine 1 [running]: main.go:12\n", 9200)
	for range 6 {
		run(t, space, amqp.QueuePaymentSucceeded, broken{&filing, text}, desk)
	}
	run(t, space, amqp.QueueOrderPlaced, broken{&burying, text}, nil)
	facts := fleet.BoughtOrders(1)[0].Facts(time.Now().Add(-time.Hour))
	space.Publish(t, facts)

	letter := filed(t, space, 1)[0]
	if !strings.HasSuffix(letter.Error, text) || letter.Reason != router.ReasonHandlerError || letter.Attempts != 2 ||
		letter.Order == "" || letter.Host != "h1" || !letter.First.Before(letter.Last) {
		t.Errorf("error of %d bytes, want %d; %s after %d attempts, order %q, host %q, first %s, last %s", len(letter.Error),
			len(text), letter.Reason, letter.Attempts, letter.Order, letter.Host, letter.First, letter.Last)
	}
	if filing.Load() != 2 {
		t.Errorf("the message was tried %d times, want 2", filing.Load())
	}
	dead := get(t, space, amqp.QueueDead)
	header, _ := dead.Headers[deadletter.HeaderError].(string)
	if len(header) == 0 || len(header) > 8<<10 || dead.MessageId != facts[0].ID {
		t.Errorf("dead letter %q has an error header of %d bytes", dead.MessageId, len(header))
	}
	if burying.Load() != 2 {
		t.Errorf("the other message was tried %d times, want 2", burying.Load())
	}
}

// get waits for a message and takes it.
func get(t *testing.T, space *fleet.Space, queue string) (delivery amqp091.Delivery) {
	t.Helper()
	conn, err := amqp091.Dial(space.Broker.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	channel, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, patience, "a message comes", func() (bool, string) {
		var found bool
		if delivery, found, err = channel.Get(queue, true); err != nil {
			t.Fatal(err)
		}
		return found, "none"
	})
	return delivery
}
