package store

import (
	"crypto/tls"
	"net/url"
	"strings"
	"testing"

	"couponlease/internal/batcher"
	"couponlease/internal/testkit"
)

// encrypted gives the URL of the database behind TLS, with more parameters.
func encrypted(t *testing.T, config *tls.Config, certificate testkit.Certificate, parameters map[string]string) string {
	t.Helper()
	config = config.Clone()
	config.Certificates = []tls.Certificate{certificate.TLS}
	u, err := url.Parse(testkit.NewTLSProxy(t, testkit.Postgres(t), config).URL)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("sslmode", "verify-full")
	for name, value := range parameters {
		query.Set(name, value)
	}
	u.RawQuery = query.Encode()
	return u.String()
}

func TestConnectionsOverTLS(t *testing.T) {
	authority := testkit.NewAuthority(t)
	mine, server := authority.Client(t, "couponlease"), authority.Server(t, "127.0.0.1")
	wants := &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority.Pool}
	for name, address := range map[string]string{
		"server": encrypted(t, &tls.Config{}, server, map[string]string{"sslrootcert": authority.CAFile}),
		"server and client": encrypted(t, wants, server, map[string]string{
			"sslrootcert": authority.CAFile, "sslcert": mine.CertFile, "sslkey": mine.KeyFile,
		}),
	} {
		t.Run(name, func(t *testing.T) {
			s := openAt(t, address)
			// Migrations have a connection of their own.
			if err := s.MigrateUp(t.Context()); err != nil {
				t.Fatal(err)
			}
			redeemed(t, s, 1)
		})
	}
}

// What is wrong with the other side is told, and nothing is sent to it.
func TestConnectionsOverTLSAreRefused(t *testing.T) {
	authority, stranger := testkit.NewAuthority(t), testkit.NewAuthority(t)
	trust := map[string]string{"sslrootcert": authority.CAFile}
	right := authority.Server(t, "127.0.0.1")
	plain := testkit.Postgres(t)
	tests := map[string]struct{ url, says string }{
		"another authority": {encrypted(t, &tls.Config{}, stranger.Server(t, "127.0.0.1"), trust), "unknown authority"},
		"the system's":      {encrypted(t, &tls.Config{}, right, nil), "unknown authority"},
		"another name":      {encrypted(t, &tls.Config{}, authority.Server(t, "db.example.com"), trust), "127.0.0.1"},
		"expired":           {encrypted(t, &tls.Config{}, authority.Expired(t, "127.0.0.1"), trust), "expired"},
		"old TLS": {encrypted(t, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, right, trust),
			"protocol version"},
		"no certificate": {encrypted(t, &tls.Config{ClientAuth: tls.RequireAnyClientCert}, right, trust), "certificate required"},
		"no TLS": {strings.Replace(plain, "sslmode=disable", "sslmode=verify-full&sslrootcert="+authority.CAFile, 1),
			"refused TLS"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := openAt(t, test.url).Ping(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("got %v, want an error that says %q", err, test.says)
			}
			if password := "couponlease:couponlease"; strings.Contains(err.Error(), password) {
				t.Errorf("the error shows the password: %v", err)
			}
			// A certificate that has run out must not cost messages their attempts.
			if class := Classify(err); class != batcher.Transient {
				t.Errorf("the error is %s, want transient", class)
			}
		})
	}
}
