package outbox_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"couponlease/internal/outbox"
)

// countingPublisher confirms everything at once and closes done after a number
// of messages.
type countingPublisher struct {
	left atomic.Int64
	done chan struct{}
}

func (p *countingPublisher) PublishBatch(_ context.Context, messages []outbox.Message, _ time.Time) []error {
	if p.left.Add(-int64(len(messages))) == 0 {
		close(p.done)
	}
	return make([]error, len(messages))
}

// BenchmarkRelay is what the relay itself costs: decoding, judging and keeping
// count, with a store and a publisher that cost nearly nothing. One operation is a
// row of 100 messages.
func BenchmarkRelay(b *testing.B) {
	const size = 100
	payload, err := outbox.EncodeRow(benchMessages(size))
	if err != nil {
		b.Fatal(err)
	}
	store := outbox.NewMemory(time.Now)
	for range b.N {
		store.Commit(0, store.Draw(), payload)
	}
	publisher := &countingPublisher{done: make(chan struct{})}
	publisher.left.Store(int64(b.N) * size)
	relay, err := outbox.NewRelay(store, publisher, outbox.Options{Owner: "bench", Shards: 1})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	b.ReportAllocs()
	b.ResetTimer()
	go func() { defer close(stopped); relay.Run(ctx) }()
	<-publisher.done
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/size, "ns/message")
	cancel()
	<-stopped
}
