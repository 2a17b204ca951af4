package testkit

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
)

// scanPage is how many keys one step of the clean-up looks at and deletes at once.
const scanPage = 1000

// Redis returns the server's URL and a key prefix, ending in a colon, that no other test has. Keys that begin with it,
// or with a brace and it, are deleted when the test ends.
func Redis(t testing.TB) (url, prefix string) {
	t.Helper()
	server := serviceURL(t, redisVariable).String()
	prefix = uniqueName(t) + ":"
	withRedis(t, server, func(context.Context, *redis.Client) {})
	t.Cleanup(func() {
		withRedis(t, server, func(ctx context.Context, client *redis.Client) {
			deleteMatching(ctx, t, client, prefix+"*")
			// A prefix inside a hash tag, {prefix...}, belongs to the test as well.
			deleteMatching(ctx, t, client, "{"+prefix+"*")
		})
	})
	return server, prefix
}

// withRedis calls do with a client that has reached the server, and closes it: none outlives the call, so a test that
// looks for leaked goroutines does not find ours.
func withRedis(t testing.TB, server string, do func(context.Context, *redis.Client)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setupLimit)
	defer cancel()
	options, err := redis.ParseURL(server)
	if err != nil {
		t.Fatalf("%s does not hold a Redis URL", redisVariable)
	}
	client := redis.NewClient(options)
	defer client.Close()
	if err := client.Ping(ctx).Err(); err != nil {
		t.Fatalf("Redis at %s does not answer: %v; %s", options.Addr, err, howToStart)
	}
	do(ctx, client)
}

func deleteMatching(ctx context.Context, t testing.TB, client *redis.Client, pattern string) {
	t.Helper()
	var cursor uint64
	for {
		keys, next, err := client.Scan(ctx, cursor, pattern, scanPage).Result()
		if err != nil {
			t.Fatalf("find keys like %s: %v", pattern, err)
		}
		if len(keys) > 0 {
			if err := client.Unlink(ctx, keys...).Err(); err != nil {
				t.Fatalf("delete keys like %s: %v", pattern, err)
			}
		}
		if cursor = next; cursor == 0 {
			return
		}
	}
}
