package testkit

import (
	"os"
	"path/filepath"
	"testing"
)

// PrivateTLSStack is PrivateStack with services that speak TLS with a certificate of the authority for 127.0.0.1, and
// want one from every client. The URLs name them so; whom to trust and what to show is for the test to say.
func PrivateTLSStack(t testing.TB, authority *Authority, services ...Service) *Stack {
	t.Helper()
	s := newStack(t)
	dir := filepath.Join(s.state, "tls")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	certificate := authority.Server(t, "127.0.0.1", "localhost")
	for name, file := range map[string]string{
		"ca.pem": authority.CAFile, "server.pem": certificate.CertFile, "server.key": certificate.KeyFile,
	} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.begin(t, services)
	return s
}
