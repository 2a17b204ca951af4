package store

import (
	"context"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"couponlease/internal/coupon"
)

// BenchmarkApply measures what one request costs from decision to commit, on fresh
// orders and coupons, by batch size and number of writers. Half of the requests place
// an order, the others pay it in a later batch. Its figures are requests per second,
// bytes of WAL per request and the share of HOT updates.
func BenchmarkApply(b *testing.B) {
	for _, writers := range []int{1, 2} {
		for _, batch := range []int{1, 16, 64, 256} {
			b.Run(fmt.Sprintf("writers=%d/batch=%d", writers, batch), func(b *testing.B) {
				benchmarkApply(b, writers, batch)
			})
		}
	}
}

// cycle is how many requests a writer works on between two issues of fresh coupons,
// which are not measured.
const cycle = 4096

func benchmarkApply(b *testing.B, writers, batch int) {
	s := open(b)
	at := now(b, s)
	issue(b, s, unlimited("summer"))
	b.ResetTimer()
	var requests int
	var walBytes int64
	for round := 0; requests < b.N; round++ {
		b.StopTimer()
		work := make([][]coupon.Request, writers)
		for w := range work {
			work[w] = freshOrders(b, s, at, fmt.Sprintf("r%d-w%d", round, w))
		}
		before := scalar[int64](b, s, `select pg_current_wal_lsn() - '0/0'::pg_lsn`)
		b.StartTimer()
		requests += drain(b, s, work, batch, b.N-requests)
		b.StopTimer()
		walBytes += scalar[int64](b, s, `select pg_current_wal_lsn() - '0/0'::pg_lsn`) - before
		b.StartTimer()
	}
	b.StopTimer()
	b.ReportMetric(float64(requests)/b.Elapsed().Seconds(), "requests/s")
	b.ReportMetric(float64(walBytes)/float64(requests), "WAL-B/request")
	hot := scalar[float64](b, s, `select coalesce(sum(n_tup_hot_upd)::float8 / nullif(sum(n_tup_upd), 0), 0)
		from pg_stat_user_tables where schemaname = current_schema()`)
	b.ReportMetric(hot, "HOT")
}

// freshOrders issues coupons and returns the requests to place and pay their orders.
func freshOrders(b *testing.B, s *Store, at time.Time, prefix string) []coupon.Request {
	b.Helper()
	var imports, places, pays []coupon.Request
	for i := range cycle / 2 {
		id := name(prefix, i)
		imports = append(imports, coupon.Request{Fact: coupon.ImportCoupon{Code: "C-" + id, Template: "summer", Owner: "ann"}})
		places = append(places, request("place-"+id, at, placed("order-"+id, "c-"+id)))
		pays = append(pays, request("pay-"+id, at, paid("order-"+id)))
	}
	for len(imports) > 0 {
		n := min(512, len(imports))
		apply(b, s, imports[:n]...)
		imports = imports[n:]
	}
	// Wallets are not in the order of issue, and payments not in that of the orders.
	shuffle := mathrand.New(mathrand.NewPCG(1, 2)).Shuffle
	shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	shuffle(len(pays), func(i, j int) { pays[i], pays[j] = pays[j], pays[i] })
	return append(places, pays...)
}

// drain lets each writer work its requests off in batches, at most limit in all.
func drain(b *testing.B, s *Store, work [][]coupon.Request, batch, limit int) int {
	var (
		writers sync.WaitGroup
		done    atomic.Int64
	)
	for _, requests := range work {
		writers.Go(func() {
			var outcomes []coupon.Outcome
			for len(requests) > 0 && done.Load() < int64(limit) {
				part := requests[:min(batch, len(requests))]
				requests = requests[len(part):]
				if err := s.Apply(context.Background(), part, decideAll(part, &outcomes)); err != nil {
					b.Error(err)
					return
				}
				for _, o := range outcomes {
					if o.Status != coupon.Applied {
						b.Errorf("got %s %s", o.Status, o.Code)
					}
				}
				done.Add(int64(len(part)))
			}
		})
	}
	writers.Wait()
	return int(done.Load())
}
