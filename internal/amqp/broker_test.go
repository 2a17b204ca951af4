package amqp

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"couponlease/internal/testkit"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"
	amqp091 "github.com/rabbitmq/amqp091-go"
)

// tally records which messages were processed, and how often.
type tally struct {
	mu    sync.Mutex
	times map[string]int
	empty int
}

func newTally() *tally { return &tally{times: map[string]int{}} }

func (y *tally) add(msg *message.Message) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if msg.UUID == "" || len(msg.Payload) == 0 {
		y.empty++
	}
	y.times[msg.UUID]++
}

func (y *tally) distinct() int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return len(y.times)
}

// repeats lists messages processed more than once.
func (y *tally) repeats() []string {
	y.mu.Lock()
	defer y.mu.Unlock()
	var ids []string
	for id, times := range y.times {
		if times > 1 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// await waits until so many different messages were processed.
func (y *tally) await(t testing.TB, count int) {
	t.Helper()
	testkit.Eventually(t, patience, "messages are processed", func() (bool, string) {
		n := y.distinct()
		return n >= count, fmt.Sprintf("%d of %d", n, count)
	})
}

// awaitEmpty waits until a queue holds nothing, delivered or not.
func (b broker) awaitDepth(t testing.TB, queue string, want int) {
	t.Helper()
	testkit.Eventually(t, patience, "depth of "+queue, func() (bool, string) {
		depth := b.QueueDepth(t, queue)
		return depth == want, fmt.Sprintf("%d, want %d", depth, want)
	})
}

// exactCounts makes a subscriber that never changes its window. Each change
// cancels the consumer, and the broker takes back, and counts, what is on its way.
func exactCounts(t testing.TB, b broker) *Subscriber {
	t.Helper()
	return b.subscriber(t, SubscriberConfig{CarefulAfter: -1})
}

// T52: headers of every type are read at the first delivery from a quorum queue and at
// each that follows.
func TestT52EveryHeaderTypeIsReadableOnEveryDelivery(t *testing.T) {
	b := newBroker(t)
	ch, err := b.conn.Channel(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	err = ch.PublishWithContext(testContext(t), "", QueueOrderPlaced, false, false, amqp091.Publishing{
		Headers: everyHeaderType(), MessageId: "typed", Body: []byte("{}"),
	})
	if err != nil {
		t.Fatal(err)
	}
	messages := subscribe(t, exactCounts(t, b), QueueOrderPlaced)
	for _, want := range []struct{ redelivered, count string }{{"false", "0"}, {"true", "1"}, {"true", "2"}} {
		msg := receive(t, messages)
		got := map[string]string{}
		for name := range wantHeaderTexts() {
			got[name] = msg.Metadata[name]
		}
		if diff := cmp.Diff(wantHeaderTexts(), got); diff != "" {
			t.Errorf("headers at delivery count %s (-want +got):\n%s", want.count, diff)
		}
		if msg.Metadata[MetaRedelivered] != want.redelivered || msg.Metadata[MetaDeliveryCount] != want.count {
			t.Errorf("redelivered %s, count %s; want %s, %s",
				msg.Metadata[MetaRedelivered], msg.Metadata[MetaDeliveryCount], want.redelivered, want.count)
		}
		if msg.UUID != "typed" || msg.Metadata[MetaQueue] != QueueOrderPlaced {
			t.Errorf("message %q from %q", msg.UUID, msg.Metadata[MetaQueue])
		}
		msg.Nack()
	}
	receive(t, messages).Ack()
}

func TestDeliveryLimitLeadsToTheDeadLetters(t *testing.T) {
	b := broker{Broker: testkit.RabbitMQ(t)}
	b.conn = connect(t, b.URL)
	const limit = 3
	if err := Apply(testContext(t), b.conn, DefaultLayout(Options{DeliveryLimit: limit})); err != nil {
		t.Fatal(err)
	}
	s := exactCounts(t, b)
	poisoned, dead := subscribe(t, s, QueueOrderPlaced), subscribe(t, s, QueueDead)
	publishAll(t, b.publisher(t), numbered(QueueOrderPlaced, 1))
	for range limit + 1 {
		receive(t, poisoned).Nack()
	}
	msg := receive(t, dead)
	msg.Ack()
	if msg.UUID != "m-0" || msg.Metadata["x-first-death-reason"] != "delivery_limit" {
		t.Errorf("dead letter %q, first reason %q; want m-0, delivery_limit", msg.UUID, msg.Metadata["x-first-death-reason"])
	}
}

func TestConnectionsClosedUnderLoad(t *testing.T) {
	b := newBroker(t)
	const count = 20_000
	publishAll(t, b.publisher(t), numbered(QueueOrderPlaced, count))
	s := b.subscriber(t, SubscriberConfig{Prefetch: 256})
	processed := newTally()
	messages := subscribe(t, s, QueueOrderPlaced)
	go func() {
		for msg := range messages {
			processed.add(msg)
			msg.Ack()
		}
	}()
	for cut := 1; cut <= 5; cut++ {
		processed.await(t, cut*count/8)
		b.CloseConnections(t)
	}
	processed.await(t, count)
	if processed.empty > 0 {
		t.Errorf("%d messages without id or body", processed.empty)
	}
	if got := s.Stats()[0].Resubscriptions; got < 5 {
		t.Errorf("%d resubscriptions: the connections were not closed under load", got)
	}
	closeNow(t, "subscriber", s.Close)
	b.awaitDepth(t, QueueOrderPlaced, 0)
}

// committer stands for group commit: handlers wait until the batch they fell
// into is done.
type committer struct{ queue chan chan struct{} }

func (c *committer) run() {
	for first := range c.queue {
		batch := []chan struct{}{first}
		for len(c.queue) > 0 {
			batch = append(batch, <-c.queue)
		}
		for _, done := range batch {
			close(done)
		}
	}
}

func (c *committer) commit() {
	done := make(chan struct{})
	c.queue <- done
	<-done
}

// TestRouterCloseUnderLoad closes a Watermill router while messages stream in:
// what was processed is acknowledged, and nothing processed comes again.
func TestRouterCloseUnderLoad(t *testing.T) {
	b := newBroker(t)
	const count = 20_000
	publishAll(t, b.publisher(t), numbered(QueueOrderPlaced, count))
	processed := newTally()
	commits := &committer{queue: make(chan chan struct{}, 10_000)}
	go commits.run()
	defer close(commits.queue)
	for round := 1; processed.distinct() < count; round++ {
		router, err := message.NewRouter(message.RouterConfig{CloseTimeout: patience}, watermill.NopLogger{})
		if err != nil {
			t.Fatal(err)
		}
		s := b.subscriber(t, SubscriberConfig{})
		router.AddConsumerHandler("handler", QueueOrderPlaced, s, func(msg *message.Message) error {
			commits.commit()
			processed.add(msg)
			return msg.Context().Err()
		})
		finished := make(chan error, 1)
		go func() { finished <- router.Run(t.Context()) }()
		processed.await(t, min(round*count/4, count))
		if err := router.Close(); err != nil {
			t.Fatalf("close router: %v", err)
		}
		if err := <-finished; err != nil {
			t.Fatalf("run router: %v", err)
		}
	}
	if repeats := processed.repeats(); len(repeats) > 0 {
		t.Errorf("%d messages were processed again after a close, among them %s", len(repeats), repeats[0])
	}
	b.awaitDepth(t, QueueOrderPlaced, 0)
	b.awaitDepth(t, QueueDead, 0)
}

func TestQueueRecreatedUnderALiveConsumer(t *testing.T) {
	b := newBroker(t)
	s := b.subscriber(t, SubscriberConfig{})
	p := b.publisher(t)
	processed := newTally()
	messages := subscribe(t, s, QueueOrderPlaced)
	go func() {
		for msg := range messages {
			processed.add(msg)
			msg.Ack()
		}
	}()
	for round := range 50 {
		// The broker confirms publications to a queue that is just being replaced,
		// and loses them; so more than one may be needed.
		attempt := 0
		testkit.Eventually(t, patience, "consumption resumes", func() (bool, string) {
			publications := numbered(QueueOrderPlaced, 1)
			publications[0].ID = fmt.Sprintf("round-%d-%d", round, attempt)
			attempt++
			publishAll(t, p, publications)
			return processed.distinct() > round, fmt.Sprintf("round %d: %+v", round, s.Stats()[0])
		})
		b.DeleteQueue(t, QueueOrderPlaced)
		if err := Apply(testContext(t), b.conn, DefaultLayout(Options{})); err != nil {
			t.Fatal(err)
		}
	}
	if processed.empty > 0 {
		t.Errorf("%d messages without id or body reached the handler", processed.empty)
	}
}

func TestUnroutablePublication(t *testing.T) {
	b := newBroker(t)
	p := b.publisher(t)
	publications := numbered(QueueClaims, 3)
	publications[1].Exchange, publications[1].Key = ExchangeEvents, "nobody.listens"
	got := p.PublishBatch(testContext(t), publications)
	expect(t, got, nil, ErrReturned, nil)
	var returned *ReturnedError
	if !errors.As(got[1], &returned) || returned.Code != amqp091.NoRoute {
		t.Errorf("unroutable: %v, want code %d", got[1], amqp091.NoRoute)
	}
	publications[1].Mandatory = false
	expect(t, p.PublishBatch(testContext(t), publications[1:2]), nil)
	// One bad destination does not take the others with it.
	publications[1].Exchange = "no.such.exchange"
	got = p.PublishBatch(testContext(t), publications)
	expect(t, got, nil, ErrReturned, nil)
	if !errors.As(got[1], &returned) || returned.Code != amqp091.NotFound {
		t.Errorf("missing exchange: %v, want code %d", got[1], amqp091.NotFound)
	}
	if connects := p.conn.State().Connects; connects != 1 {
		t.Errorf("%d connections: bad destinations cost some", connects)
	}
}

// TestExchangeDeletedUnderAPublisher loses the channel with publications on it;
// the outcome names the reason, and publishing goes on.
func TestExchangeDeletedUnderAPublisher(t *testing.T) {
	b := newBroker(t)
	p := b.publisher(t)
	publication := Publication{Exchange: ExchangeEvents, Key: "coupon.locked.v1", ID: "1"}
	expect(t, p.PublishBatch(testContext(t), []Publication{publication}), nil)
	ch, err := b.conn.Channel(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := ch.ExchangeDelete(ExchangeEvents, false, false); err != nil {
		t.Fatal(err)
	}
	got := p.PublishBatch(testContext(t), []Publication{publication})
	expect(t, got, ErrUnconfirmed)
	if !isCode(got[0], amqp091.NotFound) {
		t.Errorf("the outcome %q lacks the broker's reason", got[0])
	}
	expect(t, p.PublishBatch(testContext(t), []Publication{publication}), ErrReturned)
	if err := Apply(testContext(t), b.conn, DefaultLayout(Options{})); err != nil {
		t.Fatal(err)
	}
	expect(t, p.PublishBatch(testContext(t), []Publication{publication}), nil)
}

func TestQueueThatComesLater(t *testing.T) {
	b := newBroker(t)
	b.DeleteQueue(t, QueueClaims)
	s := b.subscriber(t, SubscriberConfig{})
	messages := subscribe(t, s, QueueClaims)
	testkit.Eventually(t, patience, "the missing queue is reported", func() (bool, string) {
		stats := s.Stats()[0]
		return isCode(stats.LastError, amqp091.NotFound) && !stats.Consuming, fmt.Sprintf("%+v", stats)
	})
	if err := Apply(testContext(t), b.conn, DefaultLayout(Options{})); err != nil {
		t.Fatal(err)
	}
	publishAll(t, b.publisher(t), numbered(QueueClaims, 1))
	receive(t, messages).Ack()
}

// TestBrokerKilledUnderLoad crashes the broker while messages are published and
// consumed: every confirmed publication is processed.
func TestBrokerKilledUnderLoad(t *testing.T) {
	stack := testkit.PrivateStack(t, testkit.ServiceRabbitMQ)
	b := broker{Broker: testkit.Broker{URL: stack.AMQPURL, ManagementURL: stack.ManagementURL, VHost: "/"}}
	b.conn = connect(t, b.URL)
	if err := Apply(testContext(t), b.conn, DefaultLayout(Options{})); err != nil {
		t.Fatal(err)
	}
	p := b.publisher(t)
	processed := newTally()
	messages := subscribe(t, b.subscriber(t, SubscriberConfig{}), QueueOrderPlaced)
	go func() {
		for msg := range messages {
			processed.add(msg)
			msg.Ack()
		}
	}()
	const count = 10_000
	published := make(chan struct{})
	go func() {
		defer close(published)
		publishUntilConfirmed(t, p, numbered(QueueOrderPlaced, count))
	}()
	processed.await(t, count/4)
	stack.Kill(t, testkit.ServiceRabbitMQ)
	stack.Start(t, testkit.ServiceRabbitMQ)
	<-published
	processed.await(t, count)
}

// publishUntilConfirmed does what the outbox relay does: whatever is not a
// success is published again.
func publishUntilConfirmed(t testing.TB, p *Publisher, publications []Publication) {
	deadline := time.Now().Add(patience)
	for chunk := range slices.Chunk(publications, 200) {
		for len(chunk) > 0 {
			if time.Now().After(deadline) {
				t.Errorf("%d publications unconfirmed after %v", len(chunk), patience)
				return
			}
			var failed []Publication
			for i, err := range p.PublishBatch(t.Context(), chunk) {
				if err != nil {
					failed = append(failed, chunk[i])
				}
			}
			chunk = failed
		}
	}
}
