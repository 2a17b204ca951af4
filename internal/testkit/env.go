package testkit

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The variables that name the services.
const (
	postgresVariable   = "COUPONLEASE_POSTGRES_URL"
	amqpVariable       = "COUPONLEASE_AMQP_URL"
	managementVariable = "COUPONLEASE_AMQP_MANAGEMENT_URL"
	redisVariable      = "COUPONLEASE_REDIS_URL"
)

const (
	howToStart = "run `make up`, or `make test`, which does it for you"

	// setupLimit bounds what testkit itself asks of a service; a healthy one needs milliseconds.
	setupLimit = 30 * time.Second
)

// serviceURL returns the URL that variable gives to a service, or fails the test.
func serviceURL(t testing.TB, variable string) *url.URL {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		file := filepath.Join(moduleRoot(t), ".dev", "env")
		exports, err := os.Open(file)
		if err != nil {
			t.Fatalf("%s is not set and %s is not there: %s", variable, file, howToStart)
		}
		defer exports.Close()
		if text = exported(t, exports)[variable]; text == "" {
			t.Fatalf("%s is neither set nor in %s: %s", variable, file, howToStart)
		}
	}
	u, err := url.Parse(text)
	if err != nil {
		// The parse error repeats the URL, and with it a password.
		t.Fatalf("%s does not hold a URL", variable)
	}
	return u
}

// exported reads the `export NAME='value'` lines of a file written by deploy/dev/stack.sh.
func exported(t testing.TB, r io.Reader) map[string]string {
	t.Helper()
	values := make(map[string]string)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		name, value, found := strings.Cut(strings.TrimPrefix(lines.Text(), "export "), "=")
		if found && strings.HasPrefix(lines.Text(), "export ") {
			values[name] = strings.Trim(value, "'")
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("read exported variables: %v", err)
	}
	return values
}

// moduleRoot is the nearest directory at or above the working directory that holds go.mod.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatalf("working directory: %v", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod at or above the working directory")
		}
		dir = parent
	}
}

// uniqueName is a name that no other test has, telling which test it belongs to: lower case letters, digits and
// underscores, at most 45 bytes, a valid identifier for every service.
func uniqueName(t testing.TB) string {
	random := make([]byte, 5)
	_, _ = rand.Read(random) // documented never to fail
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		default:
			return '_'
		}
	}, strings.TrimPrefix(t.Name(), "Test"))
	return fmt.Sprintf("t_%s_%s", name[:min(len(name), 32)], hex.EncodeToString(random))
}
