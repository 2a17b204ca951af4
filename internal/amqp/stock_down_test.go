//go:build !race

package amqp

import "testing"

// TestStockSubscriberClosesWhileTheBrokerIsAway is not part of the race build:
// watermill-amqp shares its connection state without a lock, which the detector
// reports whenever a connection is lost.
func TestStockSubscriberClosesWhileTheBrokerIsAway(t *testing.T) {
	b := newStub(t, script{})
	s, err := NewStockSubscriber(StockConfig{URL: b.url()})
	if err != nil {
		t.Fatal(err)
	}
	messages := subscribe(t, s, QueueOrderPlaced)
	consumer := b.await(methodConsume)
	consumer.conn.deliver(consumer.channel, consumer.consumer, 1)
	receive(t, messages).Ack()
	b.await(methodAck)
	b.shut()
	closeNow(t, "stock subscriber", s.Close)
	if _, more := <-messages; more {
		t.Error("a message after Close")
	}
}
