package quota_test

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"strings"
	"testing"

	"couponlease/internal/quota"
)

func TestOpenRefusesWithoutShowingTheURL(t *testing.T) {
	tests := []struct {
		name, url string
		tls       *tls.Config
		want      string
	}{
		{"no URL", "sesame", nil, "open Redis: the URL is not of the form redis:// or rediss://"},
		{"another service", "amqp://u:sesame@mq", nil, "open Redis: the URL is not of the form redis:// or rediss://"},
		{"no number", "redis://:sesame@cache/zero", nil, "open Redis: the URL is not of the form redis:// or rediss://"},
		{"TLS for a URL without", "redis://:sesame@cache", &tls.Config{MinVersion: tls.VersionTLS12},
			"open Redis: a TLS configuration needs a URL of the form rediss://"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := quota.Open(test.url, quota.ClientOptions{TLS: test.tls})
			if err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "sesame") {
				t.Errorf("got %v, want %s", err, test.want)
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
