package quota_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"couponlease/internal/claims"
	"couponlease/internal/quota"
	"couponlease/internal/testkit"
)

// content is all that Redis holds below a prefix: keys, and what is in them.
func content(t *testing.T, client *redis.Client, prefix string) map[string]string {
	t.Helper()
	held := map[string]string{}
	keys := client.Scan(t.Context(), 0, prefix+"*", 1000).Iterator()
	for keys.Next(t.Context()) {
		key := keys.Val()
		switch client.Type(t.Context(), key).Val() {
		case "hash":
			held[key] = fmt.Sprint(client.HGetAll(t.Context(), key).Val())
		case "set":
			held[key] = fmt.Sprint(client.SMembers(t.Context(), key).Val())
		default:
			held[key] = client.Get(t.Context(), key).Val()
		}
	}
	if err := keys.Err(); err != nil {
		t.Fatal(err)
	}
	return held
}

// keyLike is the only key that contains a part.
func keyLike(t *testing.T, client *redis.Client, prefix, part string) string {
	t.Helper()
	var found []string
	for key := range content(t, client, prefix) {
		if strings.Contains(key, part) {
			found = append(found, key)
		}
	}
	if len(found) != 1 {
		t.Fatalf("keys with %s: %q, want one", part, found)
	}
	return found[0]
}

func TestPoolHoldsNoPersonsAndNoRequests(t *testing.T) {
	url, prefix := testkit.Redis(t)
	pool := openPool(t, url, quota.PoolOptions{Prefix: prefix})
	load(t, pool, stock(1, 10))
	says(t, pool, claims.Granted, 1, "request-4711")
	held := content(t, rawClient(t, url), prefix)
	if len(held) != 5 {
		t.Errorf("it holds %q, want a stock, a marker, persons, a day and who was seen", held)
	}
	for key, value := range held {
		if !strings.HasPrefix(key, prefix+"{"+campaign+"}:") {
			t.Errorf("the key %q is not of the campaign", key)
		}
		for _, secret := range []string{"ann", "example", "4711"} {
			if strings.Contains(key, secret) || strings.Contains(value, secret) {
				t.Errorf("%q holds %q, which shows %q", key, value, secret)
			}
		}
	}
}

func TestPoolForgetsInTime(t *testing.T) {
	url, prefix := testkit.Redis(t)
	pool := openPool(t, url, quota.PoolOptions{Prefix: prefix})
	client := rawClient(t, url)
	ends := func(part string) time.Time {
		t.Helper()
		at := client.PExpireTime(t.Context(), keyLike(t, client, prefix, part)).Val()
		if at <= 0 {
			t.Fatalf("%s never ends", part)
		}
		return time.UnixMilli(at.Milliseconds())
	}
	until := time.Now().Add(48 * time.Hour).Truncate(time.Millisecond)
	dayEnds := time.Now().Add(5 * time.Hour).Truncate(time.Millisecond)
	s := stock(1, 10)
	s.Until = until
	load(t, pool, s)
	takeOn := func(request, person string, dayEnds time.Time) {
		t.Helper()
		a := ask(1, request)
		a.Person, a.DayEnds = person, dayEnds
		if got := pool.Take(t.Context(), []claims.Ask{a})[0]; got.Err != nil {
			t.Fatal(got.Err)
		}
	}
	takeOn("r1", "ann", dayEnds)
	marker := ends(":r:")
	if rest := time.Until(marker); rest <= 0 || rest > 24*time.Hour {
		t.Errorf("the request is forgotten in %s, want a day", rest)
	}
	// Neither a repeated request nor another person moves the end of what is there.
	takeOn("r1", "ann", dayEnds)
	if got := ends(":r:"); !got.Equal(marker) {
		t.Errorf("the request is forgotten at %s, and was to be at %s", got, marker)
	}
	takeOn("r2", "bob", dayEnds.Add(time.Hour))
	takeOn("r3", "ann", dayEnds.Add(time.Hour))
	got := []time.Time{ends(":stock"), ends(":persons"), ends(":day:")}
	want := []time.Time{until.Add(24 * time.Hour), until.Add(24 * time.Hour), dayEnds.Add(6 * time.Hour)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ends of stock, persons and day (-want +got):\n%s", diff)
	}
	// A campaign may be prolonged.
	s.Until = until.Add(time.Hour)
	load(t, pool, s)
	got = []time.Time{ends(":stock"), ends(":persons")}
	if diff := cmp.Diff([]time.Time{until.Add(25 * time.Hour), until.Add(25 * time.Hour)}, got); diff != "" {
		t.Errorf("ends of stock and persons later (-want +got):\n%s", diff)
	}
	s.Until = time.Time{}
	load(t, pool, s)
	if rest := time.Until(ends(":stock")); rest <= 399*24*time.Hour || rest > 400*24*time.Hour {
		t.Errorf("a campaign without an end is forgotten in %s, want 400 days", rest)
	}
}

// Counts that a return creates end like those that a claim creates.
func TestPoolForgetsWhatAReturnCreated(t *testing.T) {
	url, prefix := testkit.Redis(t)
	pool := openPool(t, url, quota.PoolOptions{Prefix: prefix})
	client := rawClient(t, url)
	s := stock(1, 10)
	s.PerPerson, s.PerDay = 5, 5
	load(t, pool, s)
	for _, why := range []claims.Verdict{claims.UserLimit, claims.DayLimit} {
		says(t, pool, claims.Granted, 1, "r1")
		for _, part := range []string{":persons", ":day:"} {
			if err := client.Del(t.Context(), keyLike(t, client, prefix, part)).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if err := pool.GiveBack(t.Context(), []claims.Return{{Ask: ask(1, "r1"), Why: why}}); err != nil {
			t.Fatal(err)
		}
		part := map[claims.Verdict]string{claims.UserLimit: ":persons", claims.DayLimit: ":day:"}[why]
		key := keyLike(t, client, prefix, part)
		if rest := client.TTL(t.Context(), key).Val(); rest <= 0 {
			t.Errorf("%s never ends", key)
		}
		if err := client.Del(t.Context(), key).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPoolDeletesPersonsOfTheGenerationBefore(t *testing.T) {
	url, prefix := testkit.Redis(t)
	pool := openPool(t, url, quota.PoolOptions{Prefix: prefix})
	client := rawClient(t, url)
	load(t, pool, stock(1, 10))
	says(t, pool, claims.Granted, 1, "r1")
	load(t, pool, stock(7, 10))
	says(t, pool, claims.Granted, 7, "r2")
	if key := keyLike(t, client, prefix, ":persons"); !strings.HasSuffix(key, ":7:persons") {
		t.Errorf("persons are in %s, want those of generation 7 only", key)
	}
}

// Whatever else is found in a key, it is an error and no verdict.
func TestPoolRefusesForeignKeys(t *testing.T) {
	url, prefix := testkit.Redis(t)
	pool := openPool(t, url, quota.PoolOptions{Prefix: prefix})
	client := rawClient(t, url)
	key := prefix + "{" + campaign + "}:stock"
	for _, foreign := range [][]any{{"SET", key, "1"}, {"HSET", key, "generation", "1"}, {"HSET", key, "generation", "x", "left", "y"}} {
		if err := client.Do(t.Context(), slices.Concat([]any{"DEL"}, []any{key})...).Err(); err != nil {
			t.Fatal(err)
		}
		if err := client.Do(t.Context(), foreign...).Err(); err != nil {
			t.Fatal(err)
		}
		got := take(t, pool, 1, "r1")
		if got.Verdict == claims.Granted || (got.Err == nil && got.Verdict != claims.NotLoaded) {
			t.Errorf("%v: %+v", foreign[2:], got)
		}
		_, err := pool.Level(t.Context(), campaign)
		if err == nil {
			t.Errorf("%v: there is a level", foreign[2:])
			continue
		}
		discreet(t, err)
	}
	if pool.Stats().Away {
		t.Error("a Redis that answers is left alone")
	}
}
