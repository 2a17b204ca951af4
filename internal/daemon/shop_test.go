package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"couponlease/internal/amqp"
	"couponlease/internal/batcher"
	"couponlease/internal/config"
	"couponlease/internal/coupon"
	"couponlease/internal/deadletter"
	"couponlease/internal/engine"
	"couponlease/internal/leasetoken"
	"couponlease/internal/store"
	"couponlease/internal/testkit"
	"couponlease/messages"
)

// patience bounds every wait of these tests; a healthy one takes a second or two.
const patience = time.Minute

// shop is a migrated database and a virtual host with an upstream side.
type shop struct {
	t         *testing.T
	postgres  string
	broker    testkit.Broker
	store     *store.Store
	conn      *amqp.Conn
	publisher *amqp.Publisher
}

// newShop makes the test parallel to others: most of its time it waits.
func newShop(t *testing.T) *shop {
	t.Helper()
	t.Parallel()
	return openShop(t)
}

func openShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{t: t, postgres: testkit.Postgres(t), broker: testkit.RabbitMQ(t)}
	ctx := t.Context()
	var err error
	s.store, err = store.Open(ctx, s.postgres, store.Options{Rules: coupon.DefaultRules(), Source: engine.NewSource(leasetoken.Random())})
	must(t, err, "open store")
	t.Cleanup(s.store.Close)
	must(t, s.store.MigrateUp(ctx), "migrate")
	s.conn, err = amqp.Connect(amqp.ConnConfig{URL: s.broker.URL, Name: "shop"})
	must(t, err, "connect")
	s.publisher = amqp.NewPublisher(s.conn, amqp.PublisherConfig{})
	t.Cleanup(func() {
		must(t, s.publisher.Close(), "close publisher")
		must(t, s.conn.Close(), "close connection")
	})
	return s
}

func must(t *testing.T, err error, what string) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// config is that of a daemon of this shop.
func (s *shop) config() config.Daemon {
	cfg := config.Default()
	cfg.PostgresURL, cfg.AMQPURL, cfg.AMQPManagementURL = s.postgres, s.broker.URL, s.broker.ManagementURL
	cfg.HTTPAddr = "127.0.0.1:0"
	cfg.SweepInterval = 0
	return cfg
}

// deadLetters is how many messages could not be applied, filed or not.
func (s *shop) deadLetters() int64 {
	s.t.Helper()
	counts, err := s.store.LetterCounts(context.Background(), deadletter.Filter{})
	must(s.t, err, "count dead letters")
	total := int64(s.broker.QueueDepth(s.t, amqp.QueueDead))
	for _, count := range counts {
		total += count.Letters
	}
	return total
}

func code(i int) string { return fmt.Sprintf("CODE-%05d", i) }

// issue makes coupons that are valid for ever, as an import does.
func (s *shop) issue(first, count int) {
	s.t.Helper()
	facts := make([]coupon.Fact, count)
	for i := range facts {
		facts[i] = coupon.ImportCoupon{Code: code(first + i), Template: "T1"}
	}
	s.ask(facts...)
}

func (s *shop) issueUntil(i int, until time.Time) {
	s.t.Helper()
	s.ask(coupon.ImportCoupon{Code: code(i), Template: "T1", ValidUntil: until})
}

// ask has the engine do something in this process.
func (s *shop) ask(facts ...coupon.Fact) {
	s.t.Helper()
	e := engine.New(s.store, func(*coupon.Changes) ([]coupon.OutboxRow, error) { return nil, nil },
		engine.Options{Limits: batcher.Limits{Batch: 256}})
	template := coupon.DefineTemplate{Template: coupon.Template{
		ID: "T1",
		Terms: coupon.Terms{
			Status: coupon.TemplateActive, Budget: coupon.NoLimit, UsesPerPerson: coupon.NoLimit, PolicyVersion: 1,
		},
	}}
	// The template has to be there before its coupons, and batches are concurrent.
	for _, list := range [][]coupon.Fact{{template}, facts} {
		requests := make([]coupon.Request, len(list))
		for i, f := range list {
			requests[i] = coupon.Request{At: time.Now(), Actor: "test", Fact: f}
		}
		_, errs := e.SubmitAll(s.t.Context(), requests)
		for _, err := range errs {
			must(s.t, err, "ask the engine")
		}
	}
	must(s.t, e.Close(s.t.Context()), "close engine")
}

// publish sends facts as upstream services would, all at once.
func (s *shop) publish(facts ...fact) {
	s.t.Helper()
	publications := make([]amqp.Publication, len(facts))
	for i, f := range facts {
		body, err := json.Marshal(f.content)
		must(s.t, err, "encode fact")
		publications[i] = amqp.Publication{
			Exchange: amqp.ExchangeCommerce, Key: f.kind, Type: f.kind, ID: f.id, Mandatory: true,
			ContentType: "application/json", Timestamp: time.Now(), Body: body,
		}
	}
	for _, err := range s.publisher.PublishBatch(s.t.Context(), publications) {
		must(s.t, err, "publish fact")
	}
}

// fact is one message from upstream.
type fact struct {
	kind, id string
	content  any
}

func order(i int) string { return fmt.Sprintf("order-%05d", i) }

// placed is the order of coupon i; lease is in seconds, 0 takes the default.
func placed(i int, lease int64) fact {
	content := map[string]any{
		"orderId": order(i), "customerId": "u1", "coupons": []map[string]any{{"code": code(i)}},
		"payable": map[string]any{"amount": 1999, "currency": "EUR"}, "occurredAt": time.Now(),
	}
	if lease > 0 {
		content["leaseSeconds"] = lease
	}
	return fact{messages.TypeOrderPlaced, "placed-" + order(i), content}
}

func paid(i int) fact {
	return fact{messages.TypePaymentSucceeded, "paid-" + order(i), map[string]any{
		"orderId": order(i), "paymentId": "pay-" + order(i),
		"amount": map[string]any{"amount": 1999, "currency": "EUR"}, "occurredAt": time.Now(),
	}}
}

// listener collects what the world is told.
type listener struct {
	mu     sync.Mutex
	byType map[string]int
	ids    map[string]bool
	// contexts are the traceparents of events, by the coupon they are about.
	contexts map[string]string
}

// listen binds a queue to the events from now on.
func (s *shop) listen() *listener {
	s.t.Helper()
	const queue = "shop-events"
	must(s.t, amqp.Apply(s.t.Context(), s.conn, amqp.Layout{
		Exchanges: []amqp.Exchange{{Name: amqp.ExchangeEvents, Kind: "topic"}},
		Queues:    []amqp.Queue{{Name: queue, Args: map[string]any{"x-queue-type": "quorum"}}},
		Bindings:  []amqp.Binding{{Source: amqp.ExchangeEvents, Key: "#", Destination: queue}},
	}), "declare event queue")
	subscriber := amqp.NewSubscriber(s.conn, amqp.SubscriberConfig{})
	s.t.Cleanup(func() { must(s.t, subscriber.Close(), "close subscriber") })
	incoming, err := subscriber.Subscribe(context.Background(), queue)
	must(s.t, err, "subscribe")
	testkit.Eventually(s.t, patience, "events are listened to", func() (bool, string) {
		stats := subscriber.Stats()
		return stats[0].Consuming, fmt.Sprintf("%+v", stats)
	})
	l := &listener{byType: map[string]int{}, ids: map[string]bool{}, contexts: map[string]string{}}
	go func() {
		for msg := range incoming {
			l.mu.Lock()
			if !l.ids[msg.UUID] {
				l.ids[msg.UUID] = true
				l.byType[msg.Metadata.Get(amqp.MetaType)]++
				l.contexts[msg.Metadata.Get("cloudEvents:subject")] = msg.Metadata.Get("traceparent")
			}
			l.mu.Unlock()
			msg.Ack()
		}
	}()
	return l
}

// seen counts distinct events by type.
func (l *listener) seen() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.byType)
}

// eventually waits for a number of distinct events of a type.
func (l *listener) eventually(t *testing.T, kind string, count int) {
	t.Helper()
	testkit.Eventually(t, patience, fmt.Sprintf("%d events %s", count, kind), func() (bool, string) {
		seen := l.seen()
		return seen[kind] >= count, fmt.Sprint(seen)
	})
}

// state is that of coupon i.
func (s *shop) state(i int) coupon.State {
	s.t.Helper()
	history, found, err := s.store.History(s.t.Context(), coupon.Fold(code(i)))
	must(s.t, err, "read history")
	if !found {
		s.t.Fatalf("coupon %s is not there", code(i))
	}
	return history.Coupon.State
}

// eventuallyInState waits for a coupon to get into a state.
func (s *shop) eventuallyInState(i int, want coupon.State) {
	s.t.Helper()
	testkit.Eventually(s.t, patience, fmt.Sprintf("%s is %s", code(i), want), func() (bool, string) {
		got := s.state(i)
		return got == want, string(got)
	})
}

// eventuallyPublished waits until the outbox is empty.
func (s *shop) eventuallyPublished() {
	s.t.Helper()
	testkit.Eventually(s.t, patience, "the outbox is empty", func() (bool, string) {
		backlog, err := s.store.Backlog(s.t.Context())
		must(s.t, err, "read backlog")
		return backlog.OutboxRows == 0 && backlog.ParkedRows == 0, fmt.Sprintf("%+v", backlog)
	})
}

// quiet is where a daemon logs to when its log is not what the test is about.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
