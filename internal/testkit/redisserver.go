package testkit

import (
	"bytes"
	"context"
	"net"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
)

// clusterSlots is how many slots a cluster has.
const clusterSlots = 16384

// RedisServer is a server that belongs to one test, which may therefore empty, freeze and kill it. It keeps nothing
// over a restart but what Save kept.
type RedisServer struct {
	// URL stays the same over restarts.
	URL string
	// Port is where it listens on 127.0.0.1.
	Port string

	arguments []string
	process   *exec.Cmd
	output    *bytes.Buffer
}

// NewRedisServer starts a server with arguments in addition to those of a test. It ends with the test.
func NewRedisServer(t testing.TB, arguments ...string) *RedisServer {
	t.Helper()
	port := freePort(t)
	s := &RedisServer{URL: "redis://127.0.0.1:" + port + "/0", Port: port, arguments: append([]string{
		"--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", "", "--appendonly", "no",
	}, arguments...)}
	t.Cleanup(func() {
		if s.process != nil {
			s.Kill(t)
		}
	})
	s.Start(t)
	return s
}

// NewRedisCluster starts a server that is a cluster of one node and holds all slots.
func NewRedisCluster(t testing.TB) *RedisServer {
	t.Helper()
	// The port of the cluster's own traffic, which nobody uses here, would be 10000 above and may not exist.
	s := NewRedisServer(t, "--cluster-enabled", "yes", "--cluster-port", freePort(t))
	withRedis(t, s.URL, func(ctx context.Context, client *redis.Client) {
		if err := client.ClusterAddSlotsRange(ctx, 0, clusterSlots-1).Err(); err != nil {
			t.Fatalf("give the cluster its slots: %v", err)
		}
		Eventually(t, setupLimit, "the cluster serves", func() (bool, string) {
			err := client.Exists(ctx, "anything").Err()
			if err != nil {
				return false, err.Error()
			}
			return true, ""
		})
	})
	return s
}

// Start starts a server that was killed, with what Save kept last.
func (s *RedisServer) Start(t testing.TB) {
	t.Helper()
	s.output = &bytes.Buffer{}
	s.process = exec.Command("redis-server", s.arguments...)
	s.process.Stdout, s.process.Stderr = s.output, s.output
	if err := s.process.Start(); err != nil {
		s.process = nil
		t.Fatalf("start redis-server: %v; it has to be installed", err)
	}
	Eventually(t, setupLimit, "redis-server answers", func() (bool, string) {
		return s.answers(), "nothing"
	})
}

func (s *RedisServer) answers() bool {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + s.Port, MaxRetries: -1})
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), setupLimit)
	defer cancel()
	return client.Ping(ctx).Err() == nil
}

// Kill ends the server as a crash would.
func (s *RedisServer) Kill(t testing.TB) {
	t.Helper()
	if err := s.process.Process.Kill(); err != nil {
		t.Fatalf("kill redis-server: %v", err)
	}
	_ = s.process.Wait() // it was killed, which is an error to Wait
	s.process = nil
	if t.Failed() {
		t.Logf("redis-server said:\n%s", s.output)
	}
}

// Freeze makes the server stop answering, with its connections open; what it is sent it does after Thaw.
func (s *RedisServer) Freeze(t testing.TB) { s.signal(t, syscall.SIGSTOP) }

// Thaw lets a frozen server go on.
func (s *RedisServer) Thaw(t testing.TB) { s.signal(t, syscall.SIGCONT) }

func (s *RedisServer) signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	if err := s.process.Process.Signal(signal); err != nil {
		t.Fatalf("send %v to redis-server: %v", signal, err)
	}
}

// freePort is a port on which nobody listens now.
func freePort(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("find a free port: %v", err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		t.Fatalf("find a free port: %v", err)
	}
	return strconv.Itoa(port)
}
