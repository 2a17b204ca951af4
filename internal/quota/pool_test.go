package quota_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/claims"
	"couponlease/internal/claims/pooltest"
	"couponlease/internal/coupon"
	"couponlease/internal/quota"
	"couponlease/internal/testkit"
)

// openPool makes a pool on a server that is expected to answer, however busy the machine
// is, unless the options say otherwise.
func openPool(t testing.TB, url string, o quota.PoolOptions) *quota.Pool {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = patience
	}
	return quota.NewPool(connect(t, url), o)
}

func TestPoolConforms(t *testing.T) {
	pooltest.Run(t, func(t testing.TB) claims.Pool {
		url, prefix := testkit.Redis(t)
		return openPool(t, url, quota.PoolOptions{Prefix: prefix})
	})
}

// A cluster refuses scripts whose keys are not in one slot.
func TestPoolConformsInACluster(t *testing.T) {
	cluster := testkit.NewRedisCluster(t)
	pooltest.Run(t, func(t testing.TB) claims.Pool {
		return openPool(t, cluster.URL, quota.PoolOptions{Prefix: strings.ReplaceAll(t.Name(), "/", ":") + ":"})
	})
}

const campaign = "SPRING"

// stock is one of the campaign without limits of persons.
func stock(generation, left int64) claims.Stock {
	return claims.Stock{
		Template: campaign, Generation: generation, Left: left, PerPerson: coupon.NoLimit, PerDay: coupon.NoLimit, Fresh: true,
	}
}

func ask(generation int64, request string) claims.Ask {
	return claims.Ask{
		Template: campaign, Generation: generation, Request: request, Person: "ann@example.com",
		Day: "2026-03-01", DayEnds: time.Now().Add(time.Hour),
	}
}

func load(t testing.TB, pool *quota.Pool, s claims.Stock) {
	t.Helper()
	if err := pool.Load(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

// take asks once in a generation.
func take(t testing.TB, pool *quota.Pool, generation int64, request string) claims.Taken {
	t.Helper()
	return pool.Take(t.Context(), []claims.Ask{ask(generation, request)})[0]
}

// says wants an answer of a pool that is at the generation of the ask.
func says(t testing.TB, pool *quota.Pool, want claims.Verdict, generation int64, request string) {
	t.Helper()
	if got := take(t, pool, generation, request); got.Verdict != want || got.Err != nil {
		t.Errorf("%s in generation %d: %+v, want %s", request, generation, got, want)
	}
}

func left(t testing.TB, pool *quota.Pool) int64 {
	t.Helper()
	level, err := pool.Level(t.Context(), campaign)
	if err != nil {
		t.Fatal(err)
	}
	return level.Left
}

// An error may tell nothing of who asked for what, and where.
func discreet(t testing.TB, err error) {
	t.Helper()
	for _, secret := range []string{"ann@", "example", campaign, "127.0.0.1", "redis:", "request"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error shows %q: %v", secret, err)
		}
	}
}

func TestPoolCountsWhatItDoes(t *testing.T) {
	url, prefix := testkit.Redis(t)
	pool := openPool(t, url, quota.PoolOptions{Prefix: prefix})
	says(t, pool, claims.NotLoaded, 1, "r1")
	s := stock(1, 3)
	s.PerPerson, s.PerDay = 2, 1
	load(t, pool, s)
	says(t, pool, claims.Granted, 1, "r1")
	says(t, pool, claims.Already, 1, "r1")
	says(t, pool, claims.DayLimit, 1, "r2")
	s.PerPerson = 1
	load(t, pool, s)
	says(t, pool, claims.UserLimit, 1, "r2")
	s.Left = 0
	load(t, pool, s)
	says(t, pool, claims.SoldOut, 1, "r2")
	for range 2 {
		if err := pool.GiveBack(t.Context(), []claims.Return{{Ask: ask(1, "r1")}}); err != nil {
			t.Fatal(err)
		}
	}
	want := quota.PoolStats{Granted: 1, Already: 1, SoldOut: 1, UserLimit: 1, DayLimit: 1, NotLoaded: 1, GivenBack: 1}
	if diff := cmp.Diff(want, pool.Stats()); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

func TestPoolWhoseCallerGivesUpDoesNotBlameRedis(t *testing.T) {
	url, prefix := testkit.Redis(t)
	pool := openPool(t, url, quota.PoolOptions{Prefix: prefix})
	stops := errors.New("the daemon stops")
	gone, leave := context.WithCancelCause(t.Context())
	leave(stops)
	for range 10 {
		if got := pool.Take(gone, []claims.Ask{ask(1, "r1")})[0]; !errors.Is(got.Err, stops) || got.Verdict != "" {
			t.Errorf("got %+v, want %v", got, stops)
		}
		if _, err := pool.Level(gone, campaign); !errors.Is(err, stops) {
			t.Errorf("level: %v, want %v", err, stops)
		}
	}
	if got := pool.Stats(); got != (quota.PoolStats{}) {
		t.Errorf("figures %+v, want none", got)
	}
}
