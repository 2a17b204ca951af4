package quota_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"couponlease/internal/quota"
)

func TestOpenRefusesWithoutShowingTheURL(t *testing.T) {
	for name, url := range map[string]string{
		"no URL": "sesame", "another service": "amqp://u:sesame@mq", "no number": "redis://:sesame@cache/zero",
	} {
		t.Run(name, func(t *testing.T) {
			const want = "open Redis: the URL is not of the form redis:// or rediss://user:password@host:port/number"
			if _, err := quota.Open(url, quota.ClientOptions{}); err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

// Nothing is printed past the log, and no password in it.
func TestTheLibraryLogsWhereWeDo(t *testing.T) {
	out := &bytes.Buffer{}
	logger := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	client, err := quota.Open("redis://u:sesame@127.0.0.1:1", quota.ClientOptions{Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	if quota.NewRequests(client, quota.RequestsOptions{Timeout: patience, Logger: logger}).Seen(t.Context(), "RD1") {
		t.Error("no Redis has seen something")
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "level=DEBUG msg=\"redis: ") || strings.Contains(out.String(), "sesame") {
		t.Errorf("the log says %q", out)
	}
}
