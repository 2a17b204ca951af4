package store

import (
	"context"
	"strings"
	"testing"
	"time"

	"couponlease/internal/batcher"
	"couponlease/internal/testkit"
)

func TestConnectionsAreLimited(t *testing.T) {
	s := open(t, func(o *Options) {
		o.StatementTimeout, o.LockTimeout, o.IdleTimeout = 7*time.Second, 3*time.Second, 9*time.Second
	})
	for setting, want := range map[string]string{
		"statement_timeout": "7s", "lock_timeout": "3s", "idle_in_transaction_session_timeout": "9s",
		"application_name": t.Name(), "timezone": "UTC", "jit": "off",
	} {
		if got := scalar[string](t, s, `select current_setting($1)`, setting); got != want {
			t.Errorf("%s is %s, want %s", setting, got, want)
		}
	}
}

func TestOpenRefusesModesWithoutArrays(t *testing.T) {
	for _, mode := range []string{"exec", "simple_protocol"} {
		_, err := Open(t.Context(), "postgres://u:secret@localhost/d?default_query_exec_mode="+mode, Options{})
		if err == nil || !strings.Contains(err.Error(), "default_query_exec_mode") {
			t.Errorf("%s: %v", mode, err)
		}
	}
	if _, err := Open(t.Context(), "postgres://u:secret@local host/d", Options{}); err == nil ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v, want an error without the password", err)
	}
}

// TestPoolersModes: the whole transaction works without named statements too.
func TestPoolersModes(t *testing.T) {
	for _, mode := range []string{"cache_describe", "describe_exec"} {
		t.Run(mode, func(t *testing.T) {
			s := openAt(t, testkit.Postgres(t)+"&default_query_exec_mode="+mode)
			if err := s.MigrateUp(t.Context()); err != nil {
				t.Fatal(err)
			}
			redeemed(t, s, 2)
		})
	}
}

func TestPing(t *testing.T) {
	url := testkit.Postgres(t)
	at := now(t, openAt(t, url))
	if at.IsZero() || at.Location() != time.UTC {
		t.Errorf("got %s", at)
	}
	readOnly := openAt(t, strings.Replace(url, "options=", "options=-cdefault_transaction_read_only%3Don+", 1))
	if _, err := readOnly.Ping(t.Context()); err == nil {
		t.Error("a database that cannot be written to is ready")
	}
	down := openAt(t, "postgres://u@127.0.0.1:1/d")
	if _, err := down.Ping(t.Context()); Classify(err) != batcher.Transient {
		t.Errorf("got %s: %v", Classify(err), err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := openAt(t, url).Ping(over); Classify(err) != batcher.Transient {
		t.Errorf("got %s: %v", Classify(err), err)
	}
}

func TestClosedStoreIsTransient(t *testing.T) {
	s := openAt(t, testkit.Postgres(t))
	s.Close()
	if _, err := s.Ping(t.Context()); Classify(err) != batcher.Transient {
		t.Errorf("got %s: %v", Classify(err), err)
	}
}
