package fleet

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"couponlease/internal/testkit"
)

// binaryVariable names a coupond that was built before.
const binaryVariable = "COUPONLEASE_TEST_COUPOND"

// Binary builds coupond, unless WithBinary did, and returns its path.
func Binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(binaryVariable); path != "" {
		return path
	}
	path := filepath.Join(t.TempDir(), "coupond")
	must(t, build(path), "build coupond")
	return path
}

func build(path string) error {
	command := exec.Command("go", "build", "-o", path, "couponlease/cmd/coupond")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// WithBinary builds coupond once for all tests of a package, as its TestMain.
func WithBinary(run func() int) (code int, err error) {
	dir, err := os.MkdirTemp("", "coupond")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "coupond")
	if err := build(path); err != nil {
		return 1, fmt.Errorf("build coupond: %w", err)
	}
	if err := os.Setenv(binaryVariable, path); err != nil {
		return 1, err
	}
	return run(), nil
}

// Process is one running coupond.
type Process struct {
	command *exec.Cmd
	address string
	done    chan struct{}
	err     error

	mutex sync.Mutex
	log   bytes.Buffer
}

// Start runs coupond on a space with more arguments, and waits until it is
// ready. The process is killed when the test ends, if it is still there.
func Start(t testing.TB, binary string, space *Space, args ...string) *Process {
	t.Helper()
	p := Launch(t, binary, space, args...)
	testkit.Eventually(t, time.Minute, "coupond becomes ready", func() (bool, string) {
		if p.Exited() {
			t.Fatalf("coupond ended: %v\n%s", p.err, p.Log())
		}
		return p.Ready(), p.Log()
	})
	return p
}

// Launch is Start without waiting.
func Launch(t testing.TB, binary string, space *Space, args ...string) *Process {
	t.Helper()
	p := &Process{address: freeAddress(t), done: make(chan struct{})}
	p.command = exec.Command(binary, append([]string{"--http-addr", p.address}, args...)...)
	p.command.Env = append(os.Environ(),
		"COUPONLEASE_POSTGRES_URL="+space.PostgresURL,
		"COUPONLEASE_AMQP_URL="+space.Broker.URL,
		"COUPONLEASE_AMQP_MANAGEMENT_URL="+space.Broker.ManagementURL,
		"COUPONLEASE_REDIS_PREFIX="+space.RedisPrefix,
		"COUPONLEASE_TOKEN_KEYS="+space.TokenKeys, "COUPONLEASE_TOKEN_KEYS_FILE=")
	if space.RedisURL != "" {
		p.command.Env = append(p.command.Env, "COUPONLEASE_REDIS_URL="+space.RedisURL)
	}
	p.command.Stdout, p.command.Stderr = p, p
	must(t, p.command.Start(), "start coupond")
	go func() {
		p.err = p.command.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		if !p.Exited() {
			must(t, p.command.Process.Kill(), "kill coupond")
		}
		<-p.done
		if t.Failed() {
			t.Logf("the end of the log of coupond %d:\n%s", p.command.Process.Pid, p.tail())
		}
	})
	return p
}

func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err, "find a free port")
	defer listener.Close()
	return listener.Addr().String()
}

// maxLog bounds the log kept of one process, in bytes.
const maxLog = 1 << 20

// Write collects the log.
func (p *Process) Write(text []byte) (int, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.log.Len() < maxLog {
		p.log.Write(text)
	}
	return len(text), nil
}

// Log is what the process has written so far.
func (p *Process) Log() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.log.String()
}

// tail is the end of the log.
func (p *Process) tail() string {
	const most = 8 << 10
	text := p.Log()
	return text[max(0, len(text)-most):]
}

// Exited says whether the process has ended.
func (p *Process) Exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Signal sends a signal to the process alone.
func (p *Process) Signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	must(t, p.command.Process.Signal(signal), "send "+signal.String())
}

// Wait waits for the end and gives the exit code, -1 after a signal.
func (p *Process) Wait(t testing.TB, limit time.Duration) int {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(limit):
		t.Fatalf("coupond still runs after %s\n%s", limit, p.Log())
	}
	var exit *exec.ExitError
	if p.err != nil && !errors.As(p.err, &exit) {
		t.Fatalf("wait for coupond: %v", p.err)
	}
	return p.command.ProcessState.ExitCode()
}

// URL is where the process serves its endpoints.
func (p *Process) URL() string { return "http://" + p.address }

// Ready asks the readiness endpoint.
func (p *Process) Ready() bool {
	reply, err := http.Get("http://" + p.address + "/readyz")
	if err != nil {
		return false
	}
	defer reply.Body.Close()
	return reply.StatusCode == http.StatusOK
}

// Metric sums the samples of one metric over its labels.
func (p *Process) Metric(name string) (float64, error) {
	reply, err := http.Get("http://" + p.address + "/metrics")
	if err != nil {
		return 0, fmt.Errorf("read metrics: %w", err)
	}
	defer reply.Body.Close()
	return sumSamples(reply.Body, name)
}

func sumSamples(text io.Reader, name string) (float64, error) {
	scanner := bufio.NewScanner(text)
	var sum float64
	var found bool
	for scanner.Scan() {
		line := scanner.Text()
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest == "" || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("metric %s: %w", name, err)
		}
		sum, found = sum+value, true
	}
	if !found && scanner.Err() == nil {
		return 0, fmt.Errorf("metric %s is not there", name)
	}
	return sum, scanner.Err()
}

// Memory is the resident memory of the process now, in bytes.
func (p *Process) Memory(t testing.TB) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	must(t, err, "read the memory of coupond")
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			must(t, err, "read the memory of coupond")
			return kib << 10
		}
	}
	t.Fatal("the kernel does not tell the memory of coupond")
	return 0
}
