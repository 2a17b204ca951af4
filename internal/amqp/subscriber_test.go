package amqp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"couponlease/internal/testkit"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"
)

// stubSubscriber subscribes to a stub and returns once it consumes.
func stubSubscriber(t *testing.T, b *stub, cfg SubscriberConfig) (*Subscriber, <-chan *message.Message, happening) {
	t.Helper()
	cfg.MinBackoff, cfg.MaxBackoff = time.Millisecond, 10*time.Millisecond
	cfg.DrainTimeout = orDefault(cfg.DrainTimeout, 20*time.Second)
	cfg.CarefulAfter = orDefault(cfg.CarefulAfter, -1)
	s := NewSubscriber(connect(t, b.url()), cfg)
	t.Cleanup(func() { closeNow(t, "subscriber", s.Close) })
	messages := subscribe(t, s, QueueOrderPlaced)
	return s, messages, b.await(methodConsume)
}

func tags(from, to uint64) []uint64 {
	var all []uint64
	for tag := from; tag <= to; tag++ {
		all = append(all, tag)
	}
	return all
}

// settledTags gathers what a client told until every tag wanted is covered.
// Multiple acknowledgements cover all lower tags, as with a real broker.
func settledTags(t *testing.T, b *stub, channel uint16, wanted int) map[uint64]stubMethod {
	t.Helper()
	told := map[uint64]stubMethod{}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for len(told) < wanted {
		select {
		case h := <-b.happened:
			if h.channel != channel || h.tag == 0 {
				continue
			}
			first := h.tag
			if h.multiple {
				first = 1
			}
			for tag := first; tag <= h.tag; tag++ {
				if _, before := told[tag]; !before {
					told[tag] = h.method
				}
			}
		case <-timer.C:
			t.Fatalf("%d of %d tags settled: %v", len(told), wanted, told)
		}
	}
	return told
}

func TestSubscriberHandsOutAWindowAtOnce(t *testing.T) {
	b := newStub(t, script{})
	s, messages, consumer := stubSubscriber(t, b, SubscriberConfig{Prefetch: 100})
	consumer.conn.deliver(consumer.channel, consumer.consumer, tags(1, 100)...)
	held := make([]*message.Message, 0, 100)
	for range 100 {
		held = append(held, receive(t, messages))
	}
	if got := s.Stats()[0].InFlight; got != 100 {
		t.Errorf("%d messages in flight, want 100", got)
	}
	// The slowest first: everything else is stuck behind it and acknowledged alone.
	for _, msg := range slices.Backward(held[1:]) {
		msg.Ack()
	}
	told := settledTags(t, b, consumer.channel, 99)
	if _, early := told[1]; early {
		t.Fatal("the message still being handled was acknowledged")
	}
	held[0].Nack()
	if h := b.await(methodReject); h.tag != 1 || !h.requeue {
		t.Errorf("a refused message was told as %+v, want reject of 1 with requeue", h)
	}
}

func TestSubscriberAcknowledgesManyWithOneFrame(t *testing.T) {
	b := newStub(t, script{})
	_, messages, consumer := stubSubscriber(t, b, SubscriberConfig{Prefetch: 320, AckDelay: time.Hour})
	consumer.conn.deliver(consumer.channel, consumer.consumer, tags(1, 20)...)
	for range 20 {
		receive(t, messages).Ack()
	}
	if h := b.await(methodAck); h.tag != 20 || !h.multiple {
		t.Errorf("20 messages, a sixteenth of the window, were told as %+v; want one multiple ack of 20", h)
	}
}

func TestSubscriberMessageContext(t *testing.T) {
	b := newStub(t, script{})
	s := NewSubscriber(connect(t, b.url()), SubscriberConfig{DrainTimeout: 20 * time.Second})
	t.Cleanup(func() { closeNow(t, "subscriber", s.Close) })
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	defer cancel()
	messages, err := s.Subscribe(ctx, QueueOrderPlaced)
	if err != nil {
		t.Fatalf("subscribe: %v", err)
	}
	consumer := b.await(methodConsume)
	consumer.conn.deliver(consumer.channel, consumer.consumer, 1)
	msg := receive(t, messages)
	if msg.Context().Value(key{}) != "value" {
		t.Error("the message context does not carry the values of the subscription's")
	}
	cancel()
	b.await(methodCancel)
	if err := msg.Context().Err(); err != nil {
		t.Errorf("a message in flight was cancelled by the end of its subscription: %v", err)
	}
	msg.Ack()
	if h := b.await(methodAck); h.tag != 1 {
		t.Errorf("acknowledged %d, want 1", h.tag)
	}
	<-msg.Context().Done()
	if _, more := <-messages; more {
		t.Error("a message after the subscription ended")
	}
}

func TestSubscriberSurvivesConsumerCancel(t *testing.T) {
	b := newStub(t, script{})
	s, messages, consumer := stubSubscriber(t, b, SubscriberConfig{})
	for round := range 20 {
		consumer.conn.deliver(consumer.channel, consumer.consumer, 1)
		consumer.conn.cancelConsumer(consumer.channel, consumer.consumer)
		msg := receive(t, messages)
		if msg.UUID != stubID(1) {
			t.Fatalf("round %d: received a message with id %q and body %q", round, msg.UUID, msg.Payload)
		}
		msg.Ack()
		consumer = b.await(methodConsume)
	}
	if got := s.Stats()[0].Resubscriptions; got != 20 {
		t.Errorf("%d resubscriptions, want 20", got)
	}
}

func TestSubscriberDropsOutcomesOfDeadChannels(t *testing.T) {
	for name, kill := range map[string]func(happening){
		"channel closed":  func(h happening) { h.conn.closeChannel(h.channel, 406, "PRECONDITION_FAILED - timeout") },
		"connection lost": func(h happening) { h.conn.drop() },
	} {
		t.Run(name, func(t *testing.T) {
			b := newStub(t, script{})
			s, messages, first := stubSubscriber(t, b, SubscriberConfig{})
			first.conn.deliver(first.channel, first.consumer, 1, 2)
			old := []*message.Message{receive(t, messages), receive(t, messages)}
			kill(first)
			second := b.await(methodConsume)
			second.conn.deliver(second.channel, second.consumer, 1)
			fresh := receive(t, messages)
			for _, msg := range old {
				if err := msg.Context().Err(); err != nil {
					t.Errorf("work in flight was cancelled by the loss of its channel: %v", err)
				}
				msg.Ack()
			}
			testkit.Eventually(t, patience, "old outcomes are dropped", func() (bool, string) {
				stats := s.Stats()[0]
				return stats.Dropped == 2, fmt.Sprintf("%+v", stats)
			})
			fresh.Nack()
			if h := b.await(methodReject); h.tag != 1 || h.conn != second.conn || h.channel != second.channel {
				t.Errorf("the new message was told as %+v", h)
			}
			for _, h := range b.seen() {
				if h.method == methodAck {
					t.Errorf("an outcome of the dead channel reached the broker: %+v", h)
				}
			}
		})
	}
}

func TestSubscriberBoundsWorkOverSessions(t *testing.T) {
	b := newStub(t, script{})
	s, messages, consumer := stubSubscriber(t, b, SubscriberConfig{Prefetch: 2})
	var held []*message.Message
	for range 2 {
		consumer.conn.deliver(consumer.channel, consumer.consumer, 1, 2)
		held = append(held, receive(t, messages), receive(t, messages))
		consumer.conn.drop()
		consumer = b.await(methodConsume)
	}
	consumer.conn.deliver(consumer.channel, consumer.consumer, 1)
	testkit.Eventually(t, patience, "fifth message is delivered", func() (bool, string) {
		stats := s.Stats()[0]
		return stats.Delivered == 5, fmt.Sprintf("%+v", stats)
	})
	select {
	case msg := <-messages:
		t.Fatalf("message %s was handed out though four are at work, twice the window", msg.UUID)
	default:
	}
	held[0].Ack()
	receive(t, messages).Ack()
	for _, msg := range held[1:] {
		msg.Ack()
	}
}

func TestSubscriberPause(t *testing.T) {
	b := newStub(t, script{mute: map[stubMethod]bool{methodCancel: true}})
	s, messages, consumer := stubSubscriber(t, b, SubscriberConfig{})
	consumer.conn.deliver(consumer.channel, consumer.consumer, 1)
	first := receive(t, messages)
	s.Pause("database away")
	cancelled := b.await(methodCancel)
	if cancelled.consumer != consumer.consumer {
		t.Fatalf("cancelled consumer %q, want %q", cancelled.consumer, consumer.consumer)
	}
	// This one was on its way when the consumer was cancelled.
	consumer.conn.deliver(consumer.channel, consumer.consumer, 2)
	b.change(func(s *script) { s.mute = nil })
	consumer.conn.answer(cancelled)
	second := receive(t, messages)
	if got := s.Paused(); got != "database away" {
		t.Errorf("paused for %q", got)
	}
	if stats := s.Stats()[0]; stats.Consuming || stats.InFlight != 2 || stats.Requeued != 0 {
		t.Errorf("while paused: %+v; want not consuming, 2 in flight, none given back", stats)
	}
	s.Resume()
	again := b.await(methodConsume)
	if again.channel != consumer.channel {
		t.Errorf("resumed on channel %d, want the same %d", again.channel, consumer.channel)
	}
	again.conn.deliver(again.channel, again.consumer, 3)
	for _, msg := range []*message.Message{first, second, receive(t, messages)} {
		msg.Ack()
	}
	told := settledTags(t, b, consumer.channel, 3)
	want := map[uint64]stubMethod{1: methodAck, 2: methodAck, 3: methodAck}
	if diff := cmp.Diff(want, told, cmp.AllowUnexported(stubMethod{})); diff != "" {
		t.Errorf("told the broker (-want +got):\n%s", diff)
	}
}

func TestSubscriberPausedAtTheStart(t *testing.T) {
	b := newStub(t, script{})
	s := NewSubscriber(connect(t, b.url()), SubscriberConfig{})
	t.Cleanup(func() { closeNow(t, "subscriber", s.Close) })
	s.Pause("")
	subscribe(t, s, QueueOrderPlaced)
	b.await(methodQos)
	s.Resume()
	b.await(methodConsume)
}

func TestSubscriberDrain(t *testing.T) {
	b := newStub(t, script{})
	s, messages, consumer := stubSubscriber(t, b, SubscriberConfig{})
	consumer.conn.deliver(consumer.channel, consumer.consumer, tags(1, 5)...)
	inFlight := []*message.Message{receive(t, messages), receive(t, messages)}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	testkit.Eventually(t, patience, "what was never handed out is given back", func() (bool, string) {
		stats := s.Stats()[0]
		return stats.Requeued == 3 && !stats.Consuming, fmt.Sprintf("%+v", stats)
	})
	for _, msg := range inFlight {
		if err := msg.Context().Err(); err != nil {
			t.Errorf("message %s was cancelled while Close waited for it: %v", msg.UUID, err)
		}
		msg.Ack()
	}
	if err := <-closed; err != nil {
		t.Errorf("close: %v", err)
	}
	told := settledTags(t, b, consumer.channel, 5)
	acks := slices.Sorted(maps.Keys(told))
	acks = slices.DeleteFunc(acks, func(tag uint64) bool { return told[tag] != methodAck })
	if diff := cmp.Diff([]uint64{1, 2}, acks); diff != "" {
		t.Errorf("acknowledged (-want +got):\n%s", diff)
	}
	if _, err := s.Subscribe(t.Context(), QueueClaims); err == nil {
		t.Error("subscribing after Close succeeded")
	}
}

func TestSubscriberDrainTimeout(t *testing.T) {
	noLeaks(t)
	b := newStub(t, script{})
	s, messages, consumer := stubSubscriber(t, b, SubscriberConfig{DrainTimeout: 20 * time.Millisecond})
	consumer.conn.deliver(consumer.channel, consumer.consumer, 1)
	msg := receive(t, messages)
	closeNow(t, "subscriber", s.Close)
	if h := b.await(methodNack); h.tag != 1 || !h.requeue {
		t.Errorf("unfinished message was told as %+v, want nack of 1 with requeue", h)
	}
	select {
	case <-msg.Context().Done():
	default:
		t.Error("the handler was not told that its time is over")
	}
	msg.Ack()
}
