package testkit

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Save keeps what the server holds now: after a kill it starts with that.
func (s *RedisServer) Save(t testing.TB) {
	t.Helper()
	s.do(t, "save what it holds", "SAVE")
}

// Flush deletes everything.
func (s *RedisServer) Flush(t testing.TB) {
	t.Helper()
	s.do(t, "delete everything", "FLUSHALL")
}

// ForgetScripts empties the cache of scripts.
func (s *RedisServer) ForgetScripts(t testing.TB) {
	t.Helper()
	s.do(t, "forget all scripts", "SCRIPT", "FLUSH")
}

// Demote makes the server a replica that has lost its master: it shows what it has and takes
// no writes.
func (s *RedisServer) Demote(t testing.TB) {
	t.Helper()
	s.do(t, "become a replica", "REPLICAOF", "127.0.0.1", freePort(t))
}

// Promote makes a replica a master.
func (s *RedisServer) Promote(t testing.TB) {
	t.Helper()
	s.do(t, "become a master", "REPLICAOF", "NO", "ONE")
}

func (s *RedisServer) do(t testing.TB, what string, command ...any) {
	t.Helper()
	withRedis(t, s.URL, func(ctx context.Context, client *redis.Client) {
		if err := client.Do(ctx, command...).Err(); err != nil {
			t.Fatalf("have redis-server %s: %v", what, err)
		}
	})
}
