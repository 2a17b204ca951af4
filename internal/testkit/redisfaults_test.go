package testkit

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
)

func set(t *testing.T, s *RedisServer, value string) (failure error) {
	t.Helper()
	withRedis(t, s.URL, func(ctx context.Context, client *redis.Client) {
		failure = client.Set(ctx, "key", value, 0).Err()
	})
	return failure
}

func get(t *testing.T, s *RedisServer) (value string) {
	t.Helper()
	withRedis(t, s.URL, func(ctx context.Context, client *redis.Client) {
		value = client.Get(ctx, "key").Val()
	})
	return value
}

func TestRedisServerStartsWithWhatItSaved(t *testing.T) {
	server := NewRedisServer(t)
	for _, value := range []string{"saved", "later"} {
		if err := set(t, server, value); err != nil {
			t.Fatal(err)
		}
		if value == "saved" {
			server.Save(t)
		}
	}
	server.Kill(t)
	server.Start(t)
	if got := get(t, server); got != "saved" {
		t.Errorf("it holds %q, want what was saved", got)
	}
	server.Flush(t)
	if got := get(t, server); got != "" {
		t.Errorf("it holds %q after a flush", got)
	}
}

func TestDemotedRedisServerTakesNoWrites(t *testing.T) {
	server := NewRedisServer(t)
	if err := set(t, server, "before"); err != nil {
		t.Fatal(err)
	}
	server.Demote(t)
	if err := set(t, server, "meanwhile"); !redis.HasErrorPrefix(err, "READONLY") {
		t.Errorf("got %v, want READONLY", err)
	}
	if got := get(t, server); got != "before" {
		t.Errorf("it shows %q, want what it had", got)
	}
	server.Promote(t)
	if err := set(t, server, "after"); err != nil {
		t.Errorf("after the promotion: %v", err)
	}
}

func TestRedisServerForgetsScripts(t *testing.T) {
	server := NewRedisServer(t)
	withRedis(t, server.URL, func(ctx context.Context, client *redis.Client) {
		sha, err := client.ScriptLoad(ctx, "return 1").Result()
		if err != nil {
			t.Fatal(err)
		}
		server.ForgetScripts(t)
		if err := client.EvalSha(ctx, sha, nil).Err(); !redis.HasErrorPrefix(err, "NOSCRIPT") {
			t.Errorf("got %v, want NOSCRIPT", err)
		}
	})
}
