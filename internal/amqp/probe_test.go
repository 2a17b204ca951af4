package amqp

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"couponlease/internal/testkit"
)

func TestSubscriberFindsThatItWasForgotten(t *testing.T) {
	for name, says := range map[string]script{
		"queue has no consumers":         {consumers: 0},
		"messages wait and are not sent": {consumers: 3, messages: 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newStub(t, says)
			s, messages, first := stubSubscriber(t, b, SubscriberConfig{ProbeInterval: time.Millisecond})
			second := b.await(methodConsume)
			if second.channel == first.channel && second.conn == first.conn {
				t.Error("consumed again on the channel that was forgotten")
			}
			testkit.Eventually(t, patience, "the reason is shown", func() (bool, string) {
				stats := s.Stats()[0]
				return errors.Is(stats.LastError, errConsumerForgotten), fmt.Sprintf("%+v", stats)
			})
			b.change(func(s *script) { s.consumers, s.messages = 1, 0 })
			testkit.Eventually(t, patience, "consumption goes on", func() (bool, string) {
				for _, h := range b.seen() {
					if h.method == methodConsume {
						second = h
					}
				}
				second.conn.deliver(second.channel, second.consumer, 1)
				select {
				case msg := <-messages:
					return msg.Ack(), ""
				default:
					return false, "no message"
				}
			})
		})
	}
}

// TestProbeWantsTwoSigns has messages wait at every other look, which happens to
// a live consumer whenever it is a little late.
func TestProbeWantsTwoSigns(t *testing.T) {
	b := newStub(t, script{consumers: 1, mute: map[stubMethod]bool{methodQueueDeclare: true}})
	s, _, _ := stubSubscriber(t, b, SubscriberConfig{ProbeInterval: time.Millisecond})
	for look := range uint32(6) {
		asked := b.await(methodQueueDeclare)
		b.change(func(s *script) { s.messages = look % 2 })
		asked.conn.answer(asked)
	}
	if stats := s.Stats()[0]; stats.Resubscriptions != 0 || !stats.Consuming {
		t.Errorf("a live consumer was replaced: %+v", stats)
	}
}

func TestProbeLeavesLiveConsumersAlone(t *testing.T) {
	for name, says := range map[string]script{
		"nothing waits":                        {consumers: 1},
		"messages wait but some are in flight": {consumers: 1, messages: 9},
		"no consumer but some are in flight":   {},
	} {
		t.Run(name, func(t *testing.T) {
			b := newStub(t, script{consumers: 1})
			s, messages, consumer := stubSubscriber(t, b, SubscriberConfig{ProbeInterval: time.Millisecond})
			consumer.conn.deliver(consumer.channel, consumer.consumer, 1)
			msg := receive(t, messages)
			b.change(func(s *script) { *s = says })
			deadline := time.After(50 * time.Millisecond)
			for done := false; !done; {
				select {
				case h := <-b.happened:
					if h.method == methodConsume {
						t.Fatalf("a live consumer was replaced: %+v", s.Stats()[0])
					}
				case <-deadline:
					done = true
				}
			}
			msg.Ack()
		})
	}
}
