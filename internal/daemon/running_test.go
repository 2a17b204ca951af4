package daemon_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"couponlease/internal/config"
	"couponlease/internal/daemon"
	"couponlease/internal/testkit"
)

// running is a daemon in this process.
type running struct {
	t       *testing.T
	address string
	stopped chan struct{}
	err     error
	cancel  context.CancelFunc
}

// launch starts a daemon and does not wait for it. It is stopped with the test.
func launch(t *testing.T, cfg config.Daemon, logger *slog.Logger) *running {
	t.Helper()
	d, err := daemon.New(cfg, "v1.2.3", logger)
	must(t, err, "make daemon")
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, address: d.Address(), stopped: make(chan struct{}), cancel: cancel}
	go func() {
		r.err = d.Run(ctx)
		close(r.stopped)
	}()
	t.Cleanup(func() {
		cancel()
		<-r.stopped
	})
	return r
}

// start is launch, and waits until the daemon is ready.
func start(t *testing.T, cfg config.Daemon) *running {
	t.Helper()
	r := launch(t, cfg, quiet())
	r.eventuallyReady(true)
	return r
}

// stop stops the daemon and gives its error.
func (r *running) stop() error {
	r.cancel()
	<-r.stopped
	return r.err
}

func (r *running) get(path string) (int, string) {
	r.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	reply, err := client.Get("http://" + r.address + path)
	if err != nil {
		return 0, err.Error()
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(io.LimitReader(reply.Body, 1<<20))
	must(r.t, err, "read answer")
	return reply.StatusCode, string(body)
}

// readiness asks /readyz, and sees to it that status and body agree.
func (r *running) readiness() daemon.Readiness {
	r.t.Helper()
	status, body := r.get("/readyz")
	var readiness daemon.Readiness
	if err := json.Unmarshal([]byte(body), &readiness); err != nil {
		r.t.Fatalf("/readyz: %d: %s", status, body)
	}
	if readiness.Ready != (status == http.StatusOK) {
		r.t.Errorf("/readyz answers %d and says ready: %v", status, readiness.Ready)
	}
	return readiness
}

func (r *running) eventuallyReady(want bool) daemon.Readiness {
	r.t.Helper()
	var last daemon.Readiness
	what := "the daemon is ready"
	if !want {
		what = "the daemon is not ready"
	}
	testkit.Eventually(r.t, patience, what, func() (bool, string) {
		select {
		case <-r.stopped:
			r.t.Fatalf("the daemon has ended: %v", r.err)
		default:
		}
		last = r.readiness()
		_, body := r.get("/readyz")
		return last.Ready == want, body
	})
	return last
}

// metric sums the samples of a metric whose labels contain all of the given texts.
func (r *running) metric(name string, labels ...string) float64 {
	r.t.Helper()
	_, body := r.get("/metrics")
	var sum float64
	for line := range strings.Lines(body) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		bare, _, _ := strings.Cut(series, "{")
		fits := bare == name
		for _, label := range labels {
			fits = fits && strings.Contains(series, label)
		}
		if fits {
			// The value follows the last space: label values may hold some.
			number, err := strconv.ParseFloat(value[strings.LastIndexByte(value, ' ')+1:], 64)
			must(r.t, err, "read "+name)
			sum += number
		}
	}
	return sum
}
