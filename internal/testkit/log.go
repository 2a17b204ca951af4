package testkit

import (
	"os"
	"path/filepath"
	"testing"
)

// Log gives what a service has written to its log so far.
func (s *Stack) Log(t testing.TB, service Service) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.state, "log", string(service)+".log"))
	if err != nil {
		t.Fatalf("read the log of %s: %v", service, err)
	}
	return string(text)
}
