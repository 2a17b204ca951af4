package batcher_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"couponlease/internal/batcher"
)

// BenchmarkSubmit is what group commit itself costs an item, with 512 submitters:
// on top of a run that does nothing, and of one that waits as a commit does. The
// second shows the batch size that comes by itself.
func BenchmarkSubmit(b *testing.B) {
	const submitters = 512
	key := func(item int) string { return "0123456789abcdef"[item&15:][:1] }
	for _, bench := range []struct {
		name    string
		options batcher.Options[int]
		commit  time.Duration
	}{
		{"shared", batcher.Options[int]{}, 0},
		{"keyed", batcher.Options[int]{Key: key}, 0},
		{"shared with 5ms commits", batcher.Options[int]{}, 5 * time.Millisecond},
		{"keyed with 5ms commits", batcher.Options[int]{Key: key}, 5 * time.Millisecond},
	} {
		b.Run(bench.name, func(b *testing.B) {
			batches := batcher.New(func(_ context.Context, items []int) ([]int, error) {
				if bench.commit > 0 {
					<-time.After(bench.commit)
				}
				return items, nil
			}, bench.options)
			b.SetParallelism(submitters / runtime.GOMAXPROCS(0))
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for item := 0; pb.Next(); item++ {
					if out, err := batches.Submit(context.Background(), item); err != nil || out != item {
						b.Errorf("Submit(%d) = %d, %v", item, out, err)
					}
				}
			})
			b.ReportMetric(batches.Stats().MeanSize(), "items/batch")
			if err := batches.Close(context.Background()); err != nil {
				b.Error(err)
			}
		})
	}
}
