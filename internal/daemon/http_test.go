package daemon_test

import (
	"bufio"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/telemetry"
	"couponlease/internal/testkit"
	"couponlease/messages"
)

// TestEveryMetricOfTheTableIsServed: after some traffic, what the table promises
// is there, and nothing else of ours.
func TestEveryMetricOfTheTableIsServed(t *testing.T) {
	s := newShop(t)
	s.issue(0, 1)
	cfg := s.config()
	cfg.SweepInterval = time.Second
	cfg.RedisURL, cfg.RedisPrefix = testkit.Redis(t)
	d := start(t, cfg)
	events := s.listen()
	s.publish(placed(0, 0))
	events.eventually(t, messages.TypeCouponLocked, 1)
	d.eventuallyReady(true)
	// This is counted some time after the start.
	testkit.Eventually(t, patience, "what waits was looked at", func() (bool, string) {
		_, body := d.get("/metrics")
		return strings.Contains(body, "\n"+telemetry.Undeliverable+" ") && strings.Contains(body, "\n"+telemetry.InboxRows+" "), body
	})

	want := map[string]string{}
	for _, m := range telemetry.Table() {
		want[m.Name] = string(m.Kind)
	}
	got := map[string]string{}
	_, body := d.get("/metrics")
	for scanner := bufio.NewScanner(strings.NewReader(body)); scanner.Scan(); {
		var name, kind string
		if n, _ := fmt.Sscanf(scanner.Text(), "# TYPE %s %s", &name, &kind); n == 2 && strings.HasPrefix(name, "couponlease_") {
			got[name] = kind
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-table +served):\n%s", diff)
	}
	for name, labels := range map[string][]string{
		telemetry.Ready:             {},
		telemetry.Build:             {`version="v1.2.3"`},
		telemetry.RequestsCommitted: {},
		telemetry.OutboxOwned:       {`shard="0"`},
		telemetry.MessagesSettled:   {`queue="coupon-order-placed"`, `type="order.placed.v1"`, `action="ACK"`, `code="OK"`},
		telemetry.BrokerConnected:   {`connection="consume"`},
	} {
		if value := d.metric(name, labels...); value != 1 {
			t.Errorf("%s%v is %v, want 1", name, labels, value)
		}
	}
}

func TestReadinessNamesEveryComponent(t *testing.T) {
	s := newShop(t)
	d := start(t, s.config())
	readiness := d.readiness()
	var names []string
	for _, component := range readiness.Components {
		names = append(names, component.Name)
	}
	if diff := cmp.Diff([]string{"postgres", "consumer", "publisher", "engine", "relay"}, names); diff != "" {
		t.Errorf("components (-want +got):\n%s", diff)
	}
	if readiness.State != "running" || len(readiness.Missing) > 0 {
		t.Errorf("readiness is %+v", readiness)
	}
	for _, want := range []string{`"queue": "coupon-payment-succeeded"`, `"state": "consuming"`, `"owned": true`} {
		testkit.Eventually(t, patience, "/readyz says "+want, func() (bool, string) {
			_, body := d.get("/readyz")
			return strings.Contains(body, want), body
		})
	}
}

func TestHTTPServesNothingElse(t *testing.T) {
	s := newShop(t)
	d := launch(t, s.config(), quiet())
	tests := []struct {
		method, path string
		want         int
	}{
		{http.MethodGet, "/healthz", http.StatusOK},
		{http.MethodGet, "/", http.StatusNotFound},
		{http.MethodGet, "/debug/pprof/", http.StatusNotFound},
		{http.MethodPost, "/healthz", http.StatusMethodNotAllowed},
		{http.MethodDelete, "/readyz", http.StatusMethodNotAllowed},
	}
	for _, test := range tests {
		request, err := http.NewRequestWithContext(t.Context(), test.method, "http://"+d.address+test.path, nil)
		must(t, err, "make request")
		reply, err := http.DefaultClient.Do(request)
		must(t, err, "ask")
		must(t, reply.Body.Close(), "close answer")
		if reply.StatusCode != test.want {
			t.Errorf("%s %s answers %d, want %d", test.method, test.path, reply.StatusCode, test.want)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+d.address+"/healthz", nil)
	must(t, err, "make request")
	request.Header.Set("X-Long", strings.Repeat("x", 64<<10))
	reply, err := http.DefaultClient.Do(request)
	must(t, err, "ask")
	must(t, reply.Body.Close(), "close answer")
	if reply.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a huge header answers %d", reply.StatusCode)
	}
}

// While work in flight is finished, nobody should send more.
func TestDrainingIsNotReady(t *testing.T) {
	s := newShop(t)
	d := start(t, s.config())
	answers := make(chan []int, 1)
	go func() {
		var seen []int
		for {
			reply, err := http.Get("http://" + d.address + "/readyz")
			if err != nil { // the server has gone
				answers <- seen
				return
			}
			reply.Body.Close()
			seen = append(seen, reply.StatusCode)
		}
	}()
	must(t, d.stop(), "stop")
	seen := <-answers
	draining := slices.Index(seen, http.StatusServiceUnavailable)
	if draining < 0 || slices.Contains(seen[draining:], http.StatusOK) {
		t.Errorf("answers of /readyz while stopping: %v, want 200 first, then 503 until the end", seen)
	}
}
