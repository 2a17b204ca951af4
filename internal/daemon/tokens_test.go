package daemon_test

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"couponlease/internal/config"
	"couponlease/internal/daemon"
)

// A daemon with a key of its own says what that costs, once, and no daemon says what
// its key is.
func TestMissingTokenKeysAreToldOnce(t *testing.T) {
	key := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for name, keys := range map[string]string{"none": "", "one": key} {
		t.Run(name, func(t *testing.T) {
			cfg := config.Default()
			cfg.PostgresURL, cfg.AMQPURL, cfg.HTTPAddr = "postgres://nowhere/c", "amqp://nowhere", "127.0.0.1:0"
			cfg.TokenKeys = keys
			out := &log{}
			logger := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug}))
			if err := daemon.Run(stopped, cfg, "test", logger); err != nil {
				t.Fatal(err)
			}
			want := 0
			if keys == "" {
				want = 1
			}
			if got := strings.Count(out.String(), "openssl rand -base64 32"); got != want {
				t.Errorf("%d hints, want %d:\n%s", got, want, out)
			}
			if strings.Contains(out.String(), key[:8]) {
				t.Errorf("the log shows the key:\n%s", out)
			}
		})
	}
}

func TestWrongTokenKeysEndTheStart(t *testing.T) {
	cfg := config.Default()
	cfg.PostgresURL, cfg.AMQPURL, cfg.HTTPAddr = "postgres://nowhere/c", "amqp://nowhere", "127.0.0.1:0"
	// Not empty, as a file has to be for the check of the settings, and no keys either.
	cfg.TokenKeysFile = "tokens_test.go"
	_, err := daemon.New(cfg, "test", quiet())
	var wrong *config.Error
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "--token-keys-file") {
		t.Errorf("got %v, want an *Error about --token-keys-file", err)
	}
}
