package claims_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"couponlease/internal/claims"
	"couponlease/internal/coupon"
	"couponlease/internal/quota"
	"couponlease/internal/testkit"
)

// exchangeable is a pool that can be exchanged for another one.
type exchangeable struct{ atomic.Pointer[quota.Pool] }

func (e *exchangeable) Take(ctx context.Context, asks []claims.Ask) []claims.Taken {
	return e.Pointer.Load().Take(ctx, asks)
}

func (e *exchangeable) GiveBack(ctx context.Context, returns []claims.Return) error {
	return e.Pointer.Load().GiveBack(ctx, returns)
}

func (e *exchangeable) Load(ctx context.Context, stock claims.Stock) error {
	return e.Pointer.Load().Load(ctx, stock)
}

func (e *exchangeable) Recall(ctx context.Context, template string, generation int64, persons []string, last bool) error {
	return e.Pointer.Load().Recall(ctx, template, generation, persons, last)
}

func (e *exchangeable) Level(ctx context.Context, template string) (claims.Level, error) {
	return e.Pointer.Load().Level(ctx, template)
}

// A mistake about keys, which scatters those of a campaign over a cluster: the log says what
// it is, once; the books hand out what there is; and the desk is well as soon as the pool is.
func TestKeysInDifferentSlots(t *testing.T) {
	cluster := testkit.NewRedisCluster(t)
	client, err := quota.Open(cluster.URL, quota.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	w := newWorld(t, of(10, 1))
	wrong := quota.NewPool(client, quota.PoolOptions{Prefix: "wrong{}:"})
	right := quota.NewPool(client, quota.PoolOptions{Prefix: "right:"})
	var log bytes.Buffer
	pool := &exchangeable{}
	pool.Store(wrong)
	w.desk = claims.New(w, pool, w, w, claims.Options{Now: w.clock, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	defer func() {
		if err := w.desk.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	granted := 0
	for i := range 8 {
		if w.gets(coupon.OK, fmt.Sprint("person ", i), fmt.Sprint("key ", i)) != "" {
			granted++
		}
	}
	w.gets(coupon.LimitReached, "person 0", "another key")
	if told := log.String(); strings.Count(told, "are in different slots") != 1 {
		t.Errorf("the log says %s", told)
	}
	if stats := w.desk.Stats(); stats.Bypassed != 9 || granted != 8 {
		t.Errorf("%d granted, %+v", granted, stats)
	}
	pool.Store(right)
	w.gets(coupon.OK, "person 8", "key 8")
	level, err := right.Level(t.Context(), campaign)
	if err != nil || level.Left != 1 {
		t.Errorf("the pool has %+v, %v", level, err)
	}
	w.gets(coupon.OK, "person 9", "key 9")
	w.gets(coupon.QuotaExhausted, "person 10", "key 10")
	if stats := w.desk.Stats(); stats.Bypassed != 9 || stats.Refused != 1 {
		t.Errorf("afterwards %+v", stats)
	}
}
