package main

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"couponlease/handlers"
	"couponlease/internal/amqp"
	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
	"couponlease/internal/engine"
	"couponlease/internal/store"
	"couponlease/internal/testkit"
	"couponlease/messages"
)

// The sizes that the product runs with by default.
const (
	batchSize  = 256
	writers    = 2
	submitters = 1024
)

func newEngine(s *store.Store, encode engine.Encode) *engine.Engine {
	return engine.New(s, encode, engine.Options{
		Limits: batcher.Limits{Batch: batchSize, Workers: writers}, Classify: store.Classify,
	})
}

// databaseOnly measures the engine and PostgreSQL without a broker.
func databaseOnly(t testing.TB, j *job) Measurement {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), drainLimit)
	defer cancel()
	g := prepare(t, ctx, j.traffic())
	g.fill(t, ctx)
	all, err := requests(g.traffic.messages)
	must(t, err, "prepare requests")
	before, err := g.db.commits(ctx)
	must(t, err, "count transactions")

	e := newEngine(g.Store, func(c *coupon.Changes) ([]coupon.OutboxRow, error) { return handlers.Outbox(c, 1) })
	submit(t, ctx, e, all[:j.warm])
	from, err := g.meter.read(ctx)
	must(t, err, "begin to measure")
	submit(t, ctx, e, all[j.warm:])
	to, err := g.meter.read(ctx)
	must(t, err, "end of the measurement")
	stats := e.Stats()
	must(t, e.Close(ctx), "close the engine")

	m := Measurement{MeanBatch: stats.MeanSize()}
	m.between(from, to, len(all)-j.warm)
	after, err := g.db.commits(ctx)
	must(t, err, "count transactions")
	m.Commits = (after - before) / float64(len(all))
	m.HOT, err = g.db.hotShare(ctx)
	must(t, err, "count updates")
	answered, err := g.db.answered(ctx)
	must(t, err, "count answers")
	if want := g.traffic.distinct + len(g.traffic.placed); answered != want {
		m.fault("%d messages answered instead of %d", answered, want)
	}
	m.check(ctx, g.Store)
	return m
}

// submit lets many goroutines ask, as handlers do.
func submit(t testing.TB, ctx context.Context, e *engine.Engine, all []coupon.Request) {
	t.Helper()
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var asking sync.WaitGroup
	for range submitters {
		asking.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(all) {
					return
				}
				if _, err := e.Submit(ctx, all[i]); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	asking.Wait()
	if err := failed.Load(); err != nil {
		t.Fatalf("submit: %v", *err)
	}
}

// brokerOnly measures the broker and the way through it without a database: every
// message goes through subscriber and router and is acknowledged, and one event
// is confirmed for it.
func brokerOnly(t testing.TB, j *job) Measurement {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), drainLimit)
	defer cancel()
	g := prepare(t, ctx, j.traffic())
	g.Publish(t, g.traffic.messages)
	total := len(g.traffic.messages)

	conn, err := amqp.Connect(amqp.ConnConfig{URL: g.Broker.URL, Name: "bench"})
	must(t, err, "connect to the broker")
	defer func() { must(t, conn.Close(), "close the broker connection") }()
	subscriber := amqp.NewSubscriber(conn, amqp.SubscriberConfig{})
	var handled atomic.Int64
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NewSlogLogger(slog.New(slog.DiscardHandler)))
	must(t, err, "make a router")
	for _, queue := range g.traffic.queues() {
		router.AddConsumerHandler(queue, queue, subscriber, func(*message.Message) error {
			handled.Add(1)
			return nil
		})
	}
	var running sync.WaitGroup
	running.Go(func() {
		if err := router.Run(ctx); err != nil {
			t.Errorf("run the router: %v", err)
		}
	})
	from, to, warm := g.passThrough(t, ctx, j, &handled)
	must(t, router.Close(), "close the router")
	running.Wait()

	var m Measurement
	m.between(from, to, total-warm)
	m.Events = depthOfEvents(t, g.gauge, total)
	if m.Events != total {
		m.fault("%d events instead of %d", m.Events, total)
	}
	waiting, err := g.gauge.depth(g.traffic.queues()...)
	must(t, err, "count what was given back")
	if waiting > 0 {
		m.fault("%d messages were not acknowledged", waiting)
	}
	return m
}

// passThrough publishes an event for each message handled, as many at a time as
// have been handled meanwhile, and says when the warm-up ended, with how many
// messages, and when all was done.
func (g *ground) passThrough(
	t testing.TB, ctx context.Context, j *job, handled *atomic.Int64,
) (from, to reading, warm int) {
	t.Helper()
	total, announced := len(g.traffic.messages), 0
	page := typicalEvents(t)
	testkit.Eventually(t, drainLimit, "everything is handled and announced", func() (bool, string) {
		for announced < int(handled.Load()) {
			part := page[:min(len(page), int(handled.Load())-announced)]
			for _, err := range g.Publisher.PublishBatch(ctx, part) {
				must(t, err, "publish an event")
			}
			announced += len(part)
			if warm == 0 && announced >= j.warm {
				var err error
				from, err = g.meter.read(ctx)
				must(t, err, "begin to measure")
				warm = announced
			}
		}
		return announced == total, ""
	})
	var err error
	to, err = g.meter.read(ctx)
	must(t, err, "end of the measurement")
	return from, to, warm
}

// typicalEvents are of the size that the product's have.
func typicalEvents(t testing.TB) []amqp.Publication {
	t.Helper()
	const id = "01890f3c-7b1a-7cc0-98c4-dc0c0c07398f"
	now := time.Now().UTC()
	body, properties, err := messages.Encode(id, "", messages.CouponLocked{
		Change: messages.Change{
			CouponID: "code-000000", OrderID: "order-000000", StateVersion: 2, OperationID: id, LeaseID: id,
			CausationID: "order-000000/placed", OccurredAt: now,
		},
		State: "LOCKED", Purpose: "ORDER", Deadline: now.Add(15 * time.Minute),
	})
	must(t, err, "encode an event")
	const page = 4096 // more than the publisher's window, which it then keeps full
	events := make([]amqp.Publication, page)
	for i := range events {
		events[i] = amqp.Publication{
			Exchange: messages.ExchangeEvents, Key: properties.Type, ID: id, Type: properties.Type,
			ContentType: properties.ContentType, Timestamp: properties.Timestamp, Headers: properties.Headers(),
			Body: body,
		}
	}
	return events
}
