package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"couponlease/internal/amqp"
	"couponlease/internal/config"
	"couponlease/internal/coupon"
	"couponlease/internal/daemon"
	"couponlease/internal/testkit"
	"couponlease/messages"
)

// log is a log that can be read while it is written.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// The services may come up later than the daemon.
func TestStartWaitsForTheServices(t *testing.T) {
	s := newShop(t)
	s.issue(0, 1)
	postgres, rabbitmq := testkit.NewProxy(t, s.postgres), testkit.NewProxy(t, s.broker.URL)
	postgres.Cut()
	rabbitmq.Cut()
	cfg := s.config()
	cfg.PostgresURL, cfg.AMQPURL = postgres.URL, rabbitmq.URL
	out := &log{}
	d := launch(t, cfg, slog.New(slog.NewTextHandler(out, nil)))

	waits := func(service string) {
		t.Helper()
		testkit.Eventually(t, patience, "waiting for "+service, func() (bool, string) {
			readiness := d.readiness()
			return strings.HasPrefix(readiness.Waiting, service) && readiness.State == "starting", readiness.Waiting
		})
		if !strings.Contains(out.String(), "waiting for "+service) {
			t.Errorf("the log does not say that %s is waited for:\n%s", service, out)
		}
		if status, _ := d.get("/healthz"); status != http.StatusOK {
			t.Errorf("/healthz answers %d while waiting", status)
		}
	}
	waits("PostgreSQL")
	postgres.Restore()
	waits("RabbitMQ")
	rabbitmq.Restore()
	d.eventuallyReady(true)
	if password := "couponlease:couponlease"; strings.Contains(out.String(), password) {
		t.Error("the log shows a password")
	}
	events := s.listen()
	s.publish(placed(0, 0))
	events.eventually(t, messages.TypeCouponLocked, 1)
}

// A daemon that waits can be told to stop.
func TestStopWhileWaiting(t *testing.T) {
	s := newShop(t)
	proxy := testkit.NewProxy(t, s.postgres)
	proxy.Cut()
	cfg := s.config()
	cfg.PostgresURL = proxy.URL
	d := launch(t, cfg, quiet())
	testkit.Eventually(t, patience, "the daemon waits", func() (bool, string) {
		waiting := d.readiness().Waiting
		return waiting != "", waiting
	})
	must(t, d.stop(), "stop")
}

// What waiting does not mend ends the start with an error that says what to do.
func TestStartRefuses(t *testing.T) {
	s := newShop(t)
	edit := func(address string, change func(*url.URL)) string {
		u, err := url.Parse(address)
		must(t, err, "parse URL")
		change(u)
		return u.String()
	}
	tests := []struct {
		name   string
		change func(*config.Daemon)
		want   string
	}{
		{"an unknown database", func(cfg *config.Daemon) {
			cfg.PostgresURL = edit(s.postgres, func(u *url.URL) { u.Path = "/nobody" })
		}, "PostgreSQL refuses the connection; check its URL, user and password"},
		{"an unknown database user", func(cfg *config.Daemon) {
			cfg.PostgresURL = edit(s.postgres, func(u *url.URL) { u.User = url.UserPassword("nobody", "secret") })
		}, "PostgreSQL refuses the connection; check its URL, user and password"},
		{"a wrong broker password", func(cfg *config.Daemon) {
			cfg.AMQPURL = edit(s.broker.URL, func(u *url.URL) { u.User = url.UserPassword(s.broker.VHost, "secret") })
		}, "RabbitMQ refuses the connection; check its URL, user and password"},
		{"an unknown virtual host", func(cfg *config.Daemon) {
			cfg.AMQPURL = edit(s.broker.URL, func(u *url.URL) { u.Path = "/nobody" })
		}, "RabbitMQ refuses the connection; check its URL, user and password"},
		{"a schema that is not migrated", func(cfg *config.Daemon) {
			cfg.PostgresURL = testkit.Postgres(t)
		}, "run couponctl migrate up"},
		{"a broker that is not in shape", func(cfg *config.Daemon) {
			cfg.Topology = string(amqp.ModeVerify)
		}, "bring the broker into shape (--topology=verify)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := s.config()
			test.change(&cfg)
			err := daemon.Run(t.Context(), cfg, "v1", quiet())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error that says %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows a password: %v", err)
			}
		})
	}
}

func TestWrongSettingsAreAllNamed(t *testing.T) {
	cfg := config.Default()
	cfg.Batch = 0
	_, err := daemon.New(cfg, "v1", quiet())
	var wrong *config.Error
	if !errors.As(err, &wrong) || len(wrong.Mistakes) != 3 {
		t.Errorf("got %v, want three mistakes: two URLs and the batch", err)
	}
}

func TestAddressInUse(t *testing.T) {
	s := newShop(t)
	cfg := s.config()
	d := launch(t, cfg, quiet())
	cfg.HTTPAddr = d.address
	if err := daemon.Run(context.Background(), cfg, "v1", quiet()); err == nil ||
		!strings.Contains(err.Error(), "take the HTTP address") {
		t.Errorf("got %v, want an error about the address", err)
	}
}

// An operator may own the broker: verify accepts what topology apply has made.
func TestVerifiedTopology(t *testing.T) {
	s := newShop(t)
	must(t, amqp.Apply(t.Context(), s.conn, amqp.DefaultLayout(amqp.Options{})), "apply layout")
	cfg := s.config()
	cfg.Topology = string(amqp.ModeVerify)
	must(t, start(t, cfg).stop(), "stop")
}

// A daemon that has stopped has let go of everything. It has the process for
// itself, because others' goroutines look alike.
func TestStopLeavesNothingBehind(t *testing.T) {
	for _, transport := range []string{config.TransportWindowed, config.TransportStock} {
		t.Run(transport, func(t *testing.T) {
			s := openShop(t)
			s.issue(0, 1)
			must(t, amqp.Apply(t.Context(), s.conn, amqp.DefaultLayout(amqp.Options{})), "apply layout")
			before := goleak.IgnoreCurrent()
			cfg := s.config()
			cfg.Transport, cfg.SweepInterval = transport, time.Second
			d := start(t, cfg)
			s.publish(placed(0, 0))
			s.eventuallyInState(0, coupon.Locked)
			must(t, d.stop(), "stop")
			testkit.Eventually(t, patience, "no goroutine of the daemon is left", func() (bool, string) {
				err := goleak.Find(before)
				return err == nil, fmt.Sprint(err)
			})
		})
	}
}
