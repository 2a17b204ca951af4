package quota_test

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"couponlease/internal/claims"
	"couponlease/internal/coupon"
	"couponlease/internal/quota"
	"couponlease/internal/testkit"
)

// benchBatch is a usual batch of claims.
const benchBatch = 128

// BenchmarkTake asks for coupons in batches of 128, each for another person and request,
// with limits of persons and days, and from several goroutines.
func BenchmarkTake(b *testing.B) {
	for _, bench := range []struct {
		name string
		left int64
		want claims.Verdict
	}{{"granted", 1 << 40, claims.Granted}, {"sold out", 0, claims.SoldOut}} {
		b.Run(bench.name, func(b *testing.B) {
			url, prefix := testkit.Redis(b)
			pool := openPool(b, url, quota.PoolOptions{Prefix: prefix})
			load(b, pool, claims.Stock{
				Template: campaign, Generation: 1, Left: bench.left, PerPerson: 1, PerDay: coupon.NoLimit, Fresh: true,
			})
			var number atomic.Int64
			ends := time.Now().Add(time.Hour)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				asks := make([]claims.Ask, benchBatch)
				for pb.Next() {
					for i := range asks {
						id := strconv.FormatInt(number.Add(1), 10)
						asks[i] = claims.Ask{
							Template: campaign, Request: "request" + id, Generation: 1, Person: "person" + id,
							Day: "2026-03-01", DayEnds: ends,
						}
					}
					for _, taken := range pool.Take(b.Context(), asks) {
						if taken.Verdict != bench.want {
							b.Errorf("got %+v, want %s", taken, bench.want)
							return
						}
					}
				}
			})
			b.ReportMetric(float64(number.Load())/b.Elapsed().Seconds(), "asks/s")
		})
	}
}
