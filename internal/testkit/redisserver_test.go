package testkit

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestRedisServerStartsAgainEmpty(t *testing.T) {
	server := NewRedisServer(t)
	withRedis(t, server.URL, func(ctx context.Context, client *redis.Client) {
		if err := client.Set(ctx, "key", "value", 0).Err(); err != nil {
			t.Fatal(err)
		}
	})
	server.Kill(t)
	if server.answers() {
		t.Error("a server that was killed answers")
	}
	server.Start(t)
	withRedis(t, server.URL, func(ctx context.Context, client *redis.Client) {
		if keys, err := client.DBSize(ctx).Result(); err != nil || keys != 0 {
			t.Errorf("%d keys, %v, want none", keys, err)
		}
	})
}

func TestFrozenRedisServerDoesWhatItWasSentLater(t *testing.T) {
	server := NewRedisServer(t)
	options, err := redis.ParseURL(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	options.ContextTimeoutEnabled, options.MaxRetries = true, -1
	client := redis.NewClient(options)
	defer client.Close()
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	server.Freeze(t)
	brief, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := client.Set(brief, "key", "value", 0).Err(); err == nil {
		t.Error("a frozen server answers")
	}
	server.Thaw(t)
	Eventually(t, setupLimit, "the key is there", func() (bool, string) {
		value := client.Get(t.Context(), "key").Val()
		return value == "value", value
	})
}

func TestRedisClusterWantsKeysInOneSlot(t *testing.T) {
	cluster := NewRedisCluster(t)
	withRedis(t, cluster.URL, func(ctx context.Context, client *redis.Client) {
		if err := client.MSet(ctx, "{a}1", 1, "{a}2", 1).Err(); err != nil {
			t.Error(err)
		}
		if err := client.MSet(ctx, "{a}1", 1, "{b}2", 1).Err(); !redis.HasErrorPrefix(err, "CROSSSLOT") {
			t.Errorf("got %v, want CROSSSLOT", err)
		}
	})
}
