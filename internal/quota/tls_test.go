package quota_test

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"strings"
	"testing"
	"time"

	"couponlease/internal/quota"
	"couponlease/internal/testkit"
)

func TestRedisOverTLS(t *testing.T) {
	plain, prefix := testkit.Redis(t)
	authority, stranger := testkit.NewAuthority(t), testkit.NewAuthority(t)
	server := authority.Server(t, "127.0.0.1", "localhost")
	behind := func(config *tls.Config, certificate testkit.Certificate) string {
		config.Certificates = []tls.Certificate{certificate.TLS}
		return testkit.NewTLSProxy(t, plain, config).URL
	}
	url := behind(&tls.Config{}, server)
	demanding := behind(&tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority.Pool}, server)
	trust := &tls.Config{RootCAs: authority.Pool}
	known := trust.Clone()
	known.Certificates = []tls.Certificate{authority.Client(t, "coupond").TLS}
	tests := []struct {
		name, url string
		trust     *tls.Config
		wrong     string // "" when it works
	}{
		{"by address", url, trust, ""},
		{"by name", strings.Replace(url, "127.0.0.1", "localhost", 1), trust, ""},
		{"a certificate to show", demanding, known, ""},
		{"without encryption the configuration has no effect", plain, trust, ""},
		{"no certificate to show", demanding, trust, "certificate required"},
		{"the authorities of the system", url, nil, "unknown authority"},
		{"another authority", behind(&tls.Config{}, stranger.Server(t, "127.0.0.1")), trust, "unknown authority"},
		{"another server", behind(&tls.Config{}, authority.Server(t, "192.0.2.1")), trust, "valid for 192.0.2.1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			shown := &bytes.Buffer{}
			client, err := quota.Open(test.url, quota.ClientOptions{TLS: test.trust})
			if err != nil {
				t.Fatal(err)
			}
			requests := quota.NewRequests(client, quota.RequestsOptions{
				Prefix: prefix + test.name + ":", Timeout: patience, RestFirst: time.Hour,
				Logger: slog.New(slog.NewTextHandler(shown, nil)),
			})
			var seen []bool
			for range 3 {
				seen = append(seen, requests.Seen(t.Context(), "RD1"))
			}
			if works := !seen[0] && seen[1] && seen[2]; works != (test.wrong == "") || !strings.Contains(shown.String(), test.wrong) {
				t.Errorf("seen %t, the log says %q, want %q", seen, shown, test.wrong)
			}
			if err := client.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if trust.ServerName != "" {
		t.Errorf("the caller's configuration was changed: it names %s", trust.ServerName)
	}
}
