package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"couponlease/internal/amqp"
	"couponlease/internal/config"
	"couponlease/internal/coupon"
	"couponlease/internal/telemetry"
	"couponlease/internal/testkit"
	"couponlease/messages"
)

// till asks for coupons at a counter and listens to the answers.
type till struct {
	shop    *shop
	queue   string
	answers chan string
	asked   int
}

func (s *shop) openTill(queue string) *till {
	s.t.Helper()
	must(s.t, amqp.Apply(s.t.Context(), s.conn, amqp.Layout{
		Queues: []amqp.Queue{{Name: queue, Args: map[string]any{"x-queue-type": "quorum"}}},
	}), "declare the till's queue")
	subscriber := amqp.NewSubscriber(s.conn, amqp.SubscriberConfig{})
	s.t.Cleanup(func() { must(s.t, subscriber.Close(), "close subscriber") })
	incoming, err := subscriber.Subscribe(context.Background(), queue)
	must(s.t, err, "subscribe")
	w := &till{shop: s, queue: queue, answers: make(chan string, 16)}
	go func() {
		for msg := range incoming {
			w.answers <- msg.Metadata.Get(amqp.MetaCorrelationID) + " " + string(msg.Payload)
			msg.Ack()
		}
	}()
	return w
}

// ask has a request answered, and gives the answer.
func (w *till) ask(request string, number int) string {
	w.shop.t.Helper()
	return w.answer(w.send(request, number), request)
}

// send asks and does not wait: it gives what the answer will be known by.
func (w *till) send(request string, number int) string {
	w.shop.t.Helper()
	w.asked++
	id := fmt.Sprintf("%s-%d", w.queue, w.asked)
	body, err := json.Marshal(map[string]any{"requestId": request, "code": code(number)})
	must(w.shop.t, err, "encode request")
	errs := w.shop.publisher.PublishBatch(w.shop.t.Context(), []amqp.Publication{{
		Exchange: messages.ExchangeCommands, Key: messages.TypeRedeemRequested, Type: messages.TypeRedeemRequested,
		ID: id, CorrelationID: id, ReplyTo: w.queue, ContentType: "application/json", Mandatory: true,
		Timestamp: time.Now(), Body: body,
	}})
	must(w.shop.t, errs[0], "publish request")
	return id
}

func (w *till) answer(id, request string) string {
	w.shop.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		select {
		case answer := <-w.answers:
			if body, ok := strings.CutPrefix(answer, id+" "); ok {
				return body
			}
		case <-limit.C:
			w.shop.t.Fatalf("request %s was not answered", id)
		}
	}
}

// A till that asks again gets its answer again, token and all: from what was kept
// while Redis remembers the request, and from the engine while Redis is away.
func TestTillsAskAgain(t *testing.T) {
	s := newShop(t)
	s.issue(0, 1)
	url, unique := testkit.Redis(t)
	redis := testkit.NewProxy(t, url)
	cfg := s.config()
	cfg.RedisURL, cfg.RedisPrefix = redis.URL, unique
	d := start(t, cfg)
	w := s.openTill("reply.till")
	request := "1"

	first := w.ask(request, 0)
	var reply messages.CommandReply
	must(t, json.Unmarshal([]byte(first), &reply), "read the answer")
	if reply.Outcome != messages.OutcomeOK || len(reply.LeaseToken) < 43 {
		t.Fatalf("answered %+v with a token of %d characters", reply, len(reply.LeaseToken))
	}
	again := func(when string) {
		t.Helper()
		if got := w.ask(request, 0); got != first {
			t.Errorf("%s: answered\n%s\nand at first\n%s", when, got, first)
		}
	}
	again("Redis is there")
	testkit.Eventually(t, patience, "a request was answered without a transaction", func() (bool, string) {
		again("Redis is there")
		n := d.metric(telemetry.RequestsRepeated)
		return n >= 1, fmt.Sprint(n)
	})
	redis.Cut()
	testkit.Eventually(t, patience, "Redis is given up", func() (bool, string) {
		again("Redis is gone")
		return d.metric(telemetry.RedisAway) == 1, fmt.Sprint(d.metric(telemetry.RequestsRemembered, `result="failed"`))
	})
	repeated, committed := d.metric(telemetry.RequestsRepeated), d.metric(telemetry.RequestsCommitted)
	again("Redis is given up")
	if d.metric(telemetry.RequestsRepeated) != repeated || d.metric(telemetry.RequestsCommitted) != committed+1 {
		t.Error("with Redis gone somebody else than the engine has answered")
	}
	redis.Restore()
	testkit.Eventually(t, patience, "Redis is asked again", func() (bool, string) {
		again("Redis is back")
		n := d.metric(telemetry.RequestsRepeated)
		return n > repeated, fmt.Sprint(n)
	})
	history, _, err := s.store.History(t.Context(), "code-00000")
	must(t, err, "read history")
	if n := len(history.Operations); n != 2 {
		t.Errorf("%d operations, want ISSUE and LOCK", n)
	}
	if err := d.stop(); err != nil {
		t.Error(err)
	}
}

// A replica without the key of a token leaves a repeated request to the engine, whose
// answer is published by whoever has the shard, and perhaps the key.
func TestARepeatedRequestIsNeverAnsweredInPart(t *testing.T) {
	s := newShop(t)
	s.issue(0, 1)
	url, unique := testkit.Redis(t)
	first, second := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
	cfg := s.config()
	cfg.RedisURL, cfg.RedisPrefix, cfg.TokenKeys = url, unique, first
	d := start(t, cfg)
	w := s.openTill("reply.till")
	request := unique + "1"
	granted := w.ask(request, 0)
	testkit.Eventually(t, patience, "Redis remembers the request", func() (bool, string) {
		if got := w.ask(request, 0); got != granted {
			t.Errorf("answered\n%s\nand at first\n%s", got, granted)
		}
		n := d.metric(telemetry.RequestsRepeated)
		return n >= 1, fmt.Sprint(n)
	})
	must(t, d.stop(), "stop the first replica")

	// It has the request from the broker and another key; the outbox is somebody else's.
	cfg.TokenKeys, cfg.Relay = second, config.Off
	taker := start(t, cfg)
	committed := taker.metric(telemetry.RequestsCommitted)
	id := w.send(request, 0)
	testkit.Eventually(t, patience, "the engine was asked", func() (bool, string) {
		n := taker.metric(telemetry.RequestsCommitted)
		return n > committed, fmt.Sprint(n)
	})
	if n := taker.metric(telemetry.RequestsRepeated); n != 0 {
		t.Errorf("%v requests were answered without the engine", n)
	}
	must(t, taker.stop(), "stop the second replica")
	cfg.TokenKeys, cfg.Relay = first, config.On
	start(t, cfg)
	if got := w.answer(id, request); got != granted {
		t.Errorf("answered\n%s\nand at first\n%s", got, granted)
	}
}

// A command that has its answer written to somebody else's queue is not carried out.
func TestAnswersAreNotWrittenToAnyQueue(t *testing.T) {
	s := newShop(t)
	s.issue(0, 1)
	d := start(t, s.config())
	w := s.openTill("invoices")
	w.send("1", 0)
	testkit.Eventually(t, patience, "the command is a dead letter", func() (bool, string) {
		n := s.deadLetters()
		return n == 1, fmt.Sprint(n)
	})
	must(t, d.stop(), "stop")
	if len(w.answers) > 0 || s.state(0) != coupon.Available {
		t.Errorf("%d answers, and the coupon is %s", len(w.answers), s.state(0))
	}
}
