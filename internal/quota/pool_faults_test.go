package quota_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"couponlease/internal/claims"
	"couponlease/internal/quota"
	"couponlease/internal/testkit"
)

// briefly are options with which a Redis that went is soon missed and soon found again.
func briefly() quota.PoolOptions {
	return quota.PoolOptions{Timeout: 100 * time.Millisecond, RestFirst: time.Millisecond, RestMost: 20 * time.Millisecond}
}

// comes waits until a pool answers a request, new or not.
func comes(t *testing.T, pool *quota.Pool, generation int64, request string) claims.Taken {
	t.Helper()
	var taken claims.Taken
	testkit.Eventually(t, patience, "Redis answers", func() (bool, string) {
		taken = take(t, pool, generation, request)
		return taken.Err == nil, fmt.Sprint(taken.Err)
	})
	return taken
}

// goes waits until a pool leaves Redis alone, and gives the errors until then.
func goes(t *testing.T, pool *quota.Pool) (errs string) {
	t.Helper()
	testkit.Eventually(t, patience, "Redis is left alone", func() (bool, string) {
		taken := take(t, pool, 1, "request-while-away")
		if taken.Err == nil {
			return false, fmt.Sprintf("%+v", taken)
		}
		discreet(t, taken.Err)
		errs += taken.Err.Error() + "\n"
		return errors.Is(taken.Err, quota.ErrAway), errs
	})
	if stats := pool.Stats(); stats.Failed < 4 || stats.Skipped < 1 {
		t.Errorf("figures %+v", stats)
	}
	return errs
}

func TestPoolIsGivenBackItsScripts(t *testing.T) {
	server := testkit.NewRedisServer(t)
	pool := openPool(t, server.URL, quota.PoolOptions{})
	client := rawClient(t, server.URL)
	flush := func() {
		t.Helper()
		if err := client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	load(t, pool, stock(1, 10))
	flush()
	answers := pool.Take(t.Context(), []claims.Ask{ask(1, "r1"), ask(1, "r1"), ask(1, "r2"), ask(2, "r3")})
	for i, want := range []claims.Verdict{claims.Granted, claims.Already, claims.Granted, claims.NotLoaded} {
		if answers[i].Verdict != want || answers[i].Err != nil {
			t.Errorf("answer %d: %+v, want %s", i, answers[i], want)
		}
	}
	flush()
	if err := pool.GiveBack(t.Context(), []claims.Return{{Ask: ask(1, "r1")}, {Ask: ask(1, "r1")}}); err != nil {
		t.Error(err)
	}
	if got := left(t, pool); got != 9 {
		t.Errorf("%d are left, want 9", got)
	}
	flush()
	load(t, pool, stock(2, 5))
	if got := left(t, pool); got != 5 {
		t.Errorf("%d are left, want 5", got)
	}
}

// Redis keeps nothing over a restart here: what it answers then is that it knows nothing.
func TestPoolOfARedisThatDiedComesBack(t *testing.T) {
	server := testkit.NewRedisServer(t)
	options := briefly()
	var pool *quota.Pool
	var told atomic.Int64
	options.OnBack = func() {
		// Whoever is told may load at once.
		told.Add(1)
		if err := pool.Load(context.Background(), stock(2, 10)); err != nil {
			t.Logf("Redis went again: %v", err)
		}
	}
	pool = openPool(t, server.URL, options)
	comes(t, pool, 1, "r0")
	load(t, pool, stock(1, 10))
	says(t, pool, claims.Granted, 1, "r1")
	server.Kill(t)
	if errs := goes(t, pool); !strings.Contains(errs, "Redis cannot be reached") {
		t.Errorf("the errors were\n%s", errs)
	}
	if err := pool.Load(t.Context(), stock(1, 10)); err == nil {
		t.Error("a Redis that is gone was loaded")
	}
	if told.Load() != 0 {
		t.Error("Redis is said to be back and is not")
	}
	server.Start(t)
	comes(t, pool, 2, "r2")
	testkit.Eventually(t, patience, "the stock is loaded again", func() (bool, string) {
		level, err := pool.Level(t.Context(), campaign)
		return err == nil && level.Generation == 2, fmt.Sprintf("%+v, %v, told %d times", level, err, told.Load())
	})
	if pool.Stats().Away {
		t.Error("a Redis that answers is left alone")
	}
}

// A server that was started again while nobody asked may hold an old copy of its data.
func TestPoolTellsThatRedisWasStartedAgain(t *testing.T) {
	server := testkit.NewRedisServer(t)
	var told atomic.Int64
	pool := openPool(t, server.URL, quota.PoolOptions{OnBack: func() { told.Add(1) }})
	load(t, pool, stock(1, 10))
	says(t, pool, claims.Granted, 1, "r1")
	if got := told.Load(); got != 0 {
		t.Fatalf("told %d times of a Redis that was never away", got)
	}
	server.Kill(t)
	server.Start(t)
	says(t, pool, claims.NotLoaded, 1, "r2")
	says(t, pool, claims.NotLoaded, 1, "r2")
	if got := told.Load(); got != 1 {
		t.Errorf("told %d times, want once", got)
	}
}

func TestPoolOfAFlushedRedisKnowsNothing(t *testing.T) {
	server := testkit.NewRedisServer(t)
	pool := openPool(t, server.URL, quota.PoolOptions{})
	load(t, pool, stock(4, 10))
	says(t, pool, claims.Granted, 4, "r1")
	if err := rawClient(t, server.URL).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if got, want := take(t, pool, 4, "r1"), (claims.Taken{Verdict: claims.NotLoaded}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	load(t, pool, stock(5, 9))
	says(t, pool, claims.Granted, 5, "r1")
}

func TestPoolOnAReplicaGrantsNothingUntilItIsTheMaster(t *testing.T) {
	master, replica := testkit.NewRedisServer(t, "--repl-diskless-sync-delay", "0"), testkit.NewRedisServer(t)
	onMaster := openPool(t, master.URL, quota.PoolOptions{})
	load(t, onMaster, stock(1, 3))
	says(t, onMaster, claims.Granted, 1, "r1")
	operator := rawClient(t, replica.URL)
	if err := operator.SlaveOf(t.Context(), "127.0.0.1", master.Port).Err(); err != nil {
		t.Fatal(err)
	}
	options := briefly()
	options.Timeout = patience
	var told atomic.Int64
	options.OnBack = func() { told.Add(1) }
	pool := openPool(t, replica.URL, options)
	testkit.Eventually(t, patience, "the replica has what the master has", func() (bool, string) {
		level, err := pool.Level(t.Context(), campaign)
		return err == nil && level.Left == 2, fmt.Sprintf("%+v, %v", level, err)
	})
	before := told.Load()
	if errs := goes(t, pool); !strings.Contains(errs, "the Redis that answers is a replica and takes no writes") {
		t.Errorf("the errors were\n%s", errs)
	}
	if got := left(t, onMaster); got != 2 {
		t.Errorf("%d are left on the master, want 2", got)
	}
	if err := operator.SlaveOf(t.Context(), "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
	for request, want := range map[string]claims.Verdict{"r1": claims.Already, "r2": claims.Granted} {
		if got := comes(t, pool, 1, request); got.Verdict != want {
			t.Errorf("%s: %+v, want %s", request, got, want)
		}
	}
	if got := left(t, pool); got != 1 {
		t.Errorf("%d are left, want 1", got)
	}
	if told.Load() == before {
		t.Error("nobody was told that Redis is back")
	}
}

// Braces in the prefix come before those of the campaign, and scatter its keys.
func TestPoolTellsAMistakeAboutSlots(t *testing.T) {
	cluster := testkit.NewRedisCluster(t)
	pool := openPool(t, cluster.URL, quota.PoolOptions{Prefix: "wrong{}:"})
	const want = "keys of one campaign are in different slots: this is a mistake of the program"
	for range 5 {
		taken := take(t, pool, 1, "r1")
		for what, err := range map[string]error{
			"take": taken.Err, "give back": pool.GiveBack(t.Context(), []claims.Return{{Ask: ask(1, "r1")}}),
			"load": pool.Load(t.Context(), stock(1, 10)),
		} {
			if err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s: %v, want %s", what, err, want)
				continue
			}
			discreet(t, err)
		}
		if taken.Verdict != "" {
			t.Errorf("and yet %s", taken.Verdict)
		}
	}
	if got, want := pool.Stats(), (quota.PoolStats{Failed: 15}); got != want {
		t.Errorf("figures %+v, want %+v", got, want)
	}
}

// A Redis that answers too late does what it was asked all the same.
func TestPoolOfARedisThatIsSlow(t *testing.T) {
	server := testkit.NewRedisServer(t)
	patient := openPool(t, server.URL, quota.PoolOptions{})
	pool := openPool(t, server.URL, briefly())
	load(t, patient, stock(1, 100))
	server.Freeze(t)
	requests := []string{"request-while-away"}
	if errs := goes(t, pool); !strings.Contains(errs, "Redis did not answer in time") {
		t.Errorf("the errors were\n%s", errs)
	}
	for i := range 50 {
		requests = append(requests, fmt.Sprint("r", i))
		take(t, pool, 1, requests[i+1])
	}
	server.Thaw(t)
	for _, request := range requests {
		if got := comes(t, pool, 1, request); got.Verdict != claims.Granted && got.Verdict != claims.Already {
			t.Errorf("%s: %+v", request, got)
		}
	}
	if got, want := left(t, patient), int64(100-len(requests)); got != want {
		t.Errorf("%d are left, want %d", got, want)
	}
	for _, request := range requests {
		says(t, patient, claims.Already, 1, request)
	}
}

func TestPoolWithoutRedisCostsNothing(t *testing.T) {
	pool := openPool(t, "redis://127.0.0.1:1", quota.PoolOptions{RestFirst: time.Hour})
	for range 10 {
		answers := pool.Take(t.Context(), []claims.Ask{ask(1, "r1"), ask(1, "r2")})
		if len(answers) != 2 || answers[0].Err == nil || answers[1].Err == nil {
			t.Fatalf("answers %+v, want two errors", answers)
		}
	}
	for what, err := range map[string]error{
		"take": take(t, pool, 1, "r1").Err, "load": pool.Load(t.Context(), stock(1, 1)),
		"give back": pool.GiveBack(t.Context(), []claims.Return{{Ask: ask(1, "r1")}}),
	} {
		if !errors.Is(err, quota.ErrAway) {
			t.Errorf("%s: %v, want %v", what, err, quota.ErrAway)
		}
	}
	if got, want := pool.Stats(), (quota.PoolStats{Failed: 23, Skipped: 17, Away: true}); got != want {
		t.Errorf("figures %+v, want %+v", got, want)
	}
}
