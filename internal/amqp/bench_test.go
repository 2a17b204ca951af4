package amqp

import (
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/ThreeDotsLabs/watermill/message"
)

func sampleDelivery() amqp091.Delivery {
	return amqp091.Delivery{
		Acknowledger: nowhere{},
		Headers: amqp091.Table{
			"cloudEvents:id": "0198f1d2-1111-7000-8000-000000000001", "cloudEvents:type": "order.placed.v1",
			"cloudEvents:source": "/orders", "cloudEvents:specversion": "1.0",
			"traceparent":      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
			"x-delivery-count": int64(3),
		},
		MessageId: "0198f1d2-1111-7000-8000-000000000001", Type: "order.placed.v1",
		ContentType: "application/json", Timestamp: time.Unix(1_700_000_000, 0),
		Exchange: "commerce", RoutingKey: "order.placed.v1", Body: make([]byte, 512),
	}
}

// nowhere stands for the channel a delivery came from.
type nowhere struct{}

func (nowhere) Ack(uint64, bool) error        { return nil }
func (nowhere) Nack(uint64, bool, bool) error { return nil }
func (nowhere) Reject(uint64, bool) error     { return nil }

func BenchmarkUnmarshal(b *testing.B) {
	d := sampleDelivery()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Marshaler{}).Unmarshal(d); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMarshal(b *testing.B) {
	msg, err := Marshaler{}.Unmarshal(sampleDelivery())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Marshaler{}).Marshal(msg); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWindow settles 512 messages in reverse within each round, the worst
// order there is.
func BenchmarkWindow(b *testing.B) {
	const inFlight = 512
	w := newWindow(SubscriberConfig{}.withDefaults().windowLimits())
	now := time.Unix(0, 0)
	next := uint64(1)
	orders := 0
	b.ReportAllocs()
	for b.Loop() {
		for i := range uint64(inFlight) {
			w.deliver(next + i)
		}
		for i := range uint64(inFlight) {
			w.settle(next+inFlight-1-i, acked, now)
			if i%32 == 0 {
				told, _ := w.plan(now, false)
				orders += len(told)
			}
		}
		next += inFlight
		now = now.Add(2 * time.Millisecond)
		told, _ := w.plan(now, false)
		orders += len(told)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/inFlight, "ns/message")
	b.ReportMetric(float64(orders)/float64(b.N)/inFlight, "orders/message")
}

// BenchmarkPublish measures confirmed persistent publications to a quorum queue.
func BenchmarkPublish(b *testing.B) {
	for _, size := range []int{1, 32, 256, 1024} {
		b.Run(benchName("batch", size), func(b *testing.B) {
			broker := newBroker(b)
			p := broker.publisher(b)
			batch := numbered(QueueOrderPlaced, size)
			publishAll(b, p, batch)
			published := 0
			b.ResetTimer()
			for published < b.N {
				part := batch[:min(size, b.N-published)]
				publishAll(b, p, part)
				published += len(part)
			}
			b.ReportMetric(float64(published)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}

// BenchmarkPublishConcurrent keeps two batches on their way at once, as two
// relay workers do.
func BenchmarkPublishConcurrent(b *testing.B) {
	broker := newBroker(b)
	p := broker.publisher(b)
	batch := numbered(QueueOrderPlaced, 256)
	publishAll(b, p, batch)
	b.ResetTimer()
	done := make(chan struct{})
	half := b.N / 2
	go func() {
		defer close(done)
		publishCount(b, p, batch, half)
	}()
	publishCount(b, p, batch, b.N-half)
	<-done
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
}

func publishCount(b *testing.B, p *Publisher, batch []Publication, n int) {
	for n > 0 {
		part := batch[:min(len(batch), n)]
		for _, err := range p.PublishBatch(b.Context(), part) {
			if err != nil {
				b.Errorf("publish: %v", err)
				return
			}
		}
		n -= len(part)
	}
}

// BenchmarkSubscribe measures messages taken from a filled quorum queue by a
// handler that does nothing.
func BenchmarkSubscribe(b *testing.B) {
	for _, prefetch := range []int{64, 256, 512} {
		b.Run(benchName("prefetch", prefetch), func(b *testing.B) {
			broker := newBroker(b)
			s := broker.subscriber(b, SubscriberConfig{Prefetch: prefetch})
			benchmarkSubscriber(b, broker, s, 1)
		})
	}
}

// BenchmarkSubscribeStock is the same with watermill-amqp's subscriber.
func BenchmarkSubscribeStock(b *testing.B) {
	for _, subscriptions := range []int{1, 16, 256} {
		b.Run(benchName("subscriptions", subscriptions), func(b *testing.B) {
			broker := newBroker(b)
			s, err := NewStockSubscriber(StockConfig{URL: broker.URL})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { closeNow(b, "stock subscriber", s.Close) }()
			benchmarkSubscriber(b, broker, s, subscriptions)
		})
	}
}

func benchmarkSubscriber(b *testing.B, broker broker, s message.Subscriber, subscriptions int) {
	p := broker.publisher(b)
	publishCount(b, p, numbered(QueueOrderPlaced, 512), b.N)
	counted := make(chan struct{}, 1024)
	b.ResetTimer()
	for range subscriptions {
		messages := subscribe(b, s, QueueOrderPlaced)
		go func() {
			for msg := range messages {
				msg.Ack()
				counted <- struct{}{}
			}
		}()
	}
	for range b.N {
		<-counted
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
}
