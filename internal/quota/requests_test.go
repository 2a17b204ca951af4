package quota_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"couponlease/internal/quota"
	"couponlease/internal/testkit"
)

// patience bounds every wait; a healthy one is over at once.
const patience = 30 * time.Second

// open makes a memory of requests on a server that is expected to answer, however
// busy the machine is, unless the options say otherwise.
func open(t *testing.T, url string, o quota.RequestsOptions) *quota.Requests {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = patience
	}
	return quota.NewRequests(connect(t, url), o)
}

// connect gives a client for the time of the test.
func connect(t testing.TB, url string) *quota.Client {
	t.Helper()
	client, err := quota.Open(url, quota.ClientOptions{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

func TestARequestIsSeenTheSecondTime(t *testing.T) {
	url, prefix := testkit.Redis(t)
	ctx := t.Context()
	here := open(t, url, quota.RequestsOptions{Prefix: prefix})
	there := open(t, url, quota.RequestsOptions{Prefix: prefix})
	elsewhere := open(t, url, quota.RequestsOptions{Prefix: prefix + "other:"})
	for i, step := range []struct {
		requests *quota.Requests
		key      string
		want     bool
	}{
		{here, "RD1", false}, {here, "RD1", true}, {there, "RD1", true}, {here, "RD1 ", false}, {there, "RD2", false},
		{here, "RD2", true}, {elsewhere, "RD1", false},
	} {
		if got := step.requests.Seen(ctx, step.key); got != step.want {
			t.Errorf("step %d, %q: seen %t, want %t", i, step.key, got, step.want)
		}
	}
	if got, want := here.Stats(), (quota.RequestsStats{First: 2, Seen: 2}); got != want {
		t.Errorf("figures %+v, want %+v", got, want)
	}
}

func TestOfManyAtOnceOneIsTheFirst(t *testing.T) {
	url, prefix := testkit.Redis(t)
	requests := open(t, url, quota.RequestsOptions{Prefix: prefix})
	var first atomic.Int64
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() {
			if !requests.Seen(t.Context(), "RD1") {
				first.Add(1)
			}
		})
	}
	group.Wait()
	if n := first.Load(); n != 1 {
		t.Errorf("%d were the first", n)
	}
}

func TestRequestsAreForgottenAfterAWhile(t *testing.T) {
	url, prefix := testkit.Redis(t)
	requests := open(t, url, quota.RequestsOptions{Prefix: prefix, TTL: time.Minute})
	requests.Seen(t.Context(), "RD1")
	client := rawClient(t, url)
	if left := client.TTL(t.Context(), prefix+"RD1").Val(); left <= 0 || left > time.Minute {
		t.Errorf("it is forgotten after %s, want a minute at most", left)
	}
	// A flushed Redis has forgotten everything.
	if err := client.Del(t.Context(), prefix+"RD1").Err(); err != nil {
		t.Fatal(err)
	}
	if requests.Seen(t.Context(), "RD1") {
		t.Error("a request that Redis has forgotten is seen")
	}
}

func rawClient(t *testing.T, url string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal("the URL of Redis cannot be read")
	}
	client := redis.NewClient(options)
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

func TestARedisThatIsGoneCostsNothingAndComesBack(t *testing.T) {
	url, prefix := testkit.Redis(t)
	proxy := testkit.NewProxy(t, url)
	requests := open(t, proxy.URL, quota.RequestsOptions{Prefix: prefix, RestFirst: time.Millisecond, RestMost: 20 * time.Millisecond})
	if requests.Seen(t.Context(), "RD1") {
		t.Fatal("a new request is seen")
	}
	proxy.Cut()
	testkit.Eventually(t, patience, "Redis is left alone", func() (bool, string) {
		if requests.Seen(t.Context(), "RD1") {
			t.Fatal("a Redis that is gone has seen something")
		}
		stats := requests.Stats()
		return stats.Away && stats.Skipped > 0 && stats.Failed >= 3, fmt.Sprintf("%+v", stats)
	})
	proxy.Restore()
	testkit.Eventually(t, patience, "Redis remembers again", func() (bool, string) {
		return requests.Seen(t.Context(), "RD1"), fmt.Sprintf("%+v", requests.Stats())
	})
	if requests.Stats().Away {
		t.Error("a Redis that answers is left alone")
	}
}

// A server that accepts connections and says nothing is worse than none.
func TestARedisThatHangsIsGivenUp(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var accepted []net.Conn
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted = append(accepted, conn)
		}
	}()
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		<-done
		for _, conn := range accepted {
			_ = conn.Close() // the client may have closed it
		}
	})
	requests := open(t, "redis://"+listener.Addr().String(), quota.RequestsOptions{
		Timeout: 10 * time.Millisecond, RestFirst: time.Hour,
	})
	for range 10 {
		if requests.Seen(t.Context(), "RD1") {
			t.Fatal("a Redis that says nothing has seen something")
		}
	}
	if got, want := requests.Stats(), (quota.RequestsStats{Failed: 3, Skipped: 7, Away: true}); got != want {
		t.Errorf("figures %+v, want %+v", got, want)
	}
}

func TestWhoeverGivesUpDoesNotBlameRedis(t *testing.T) {
	url, prefix := testkit.Redis(t)
	requests := open(t, url, quota.RequestsOptions{Prefix: prefix})
	gone, leave := context.WithCancelCause(t.Context())
	leave(errors.New("the daemon stops"))
	for range 10 {
		if requests.Seen(gone, "RD1") {
			t.Error("an answer that nobody waits for")
		}
	}
	if got := requests.Stats(); got != (quota.RequestsStats{}) {
		t.Errorf("figures %+v, want none", got)
	}
}

func BenchmarkSeen(b *testing.B) {
	url, prefix := testkit.Redis(b)
	client, err := quota.Open(url, quota.ClientOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	requests := quota.NewRequests(client, quota.RequestsOptions{Prefix: prefix})
	requests.Seen(b.Context(), "RD1")
	for b.Loop() {
		if !requests.Seen(b.Context(), "RD1") {
			b.Fatal("a request is not seen again")
		}
	}
}

func BenchmarkSeenWithoutRedis(b *testing.B) {
	client, err := quota.Open("redis://127.0.0.1:1", quota.ClientOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	requests := quota.NewRequests(client, quota.RequestsOptions{RestFirst: time.Hour})
	for b.Loop() {
		requests.Seen(b.Context(), "RD1")
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
