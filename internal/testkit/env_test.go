package testkit

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestServiceURLComesFromTheEnvironmentFirst(t *testing.T) {
	inModule(t, "export COUPONLEASE_REDIS_URL='redis://file/0'\n")
	if got := serviceURL(t, redisVariable).Host; got != "file" {
		t.Errorf("without a variable: host %q, want that of .dev/env", got)
	}
	t.Setenv(redisVariable, "redis://environment/0")
	if got := serviceURL(t, redisVariable).Host; got != "environment" {
		t.Errorf("with a variable: host %q, want that of the variable", got)
	}
}

func TestMissingServiceFailsAndNamesTheCommand(t *testing.T) {
	t.Run("no .dev/env", func(t *testing.T) {
		inModule(t, "")
		wantFailure(t, "make up", func(t testing.TB) { serviceURL(t, redisVariable) })
	})
	t.Run("not in .dev/env", func(t *testing.T) {
		inModule(t, "export COUPONLEASE_AMQP_URL='amqp://file'\n")
		wantFailure(t, "make up", func(t testing.TB) { serviceURL(t, redisVariable) })
	})
	t.Run("PostgreSQL does not answer", func(t *testing.T) {
		t.Setenv(postgresVariable, "postgres://me:hush@127.0.0.1:1/x")
		wantFailure(t, "make up", func(t testing.TB) { Postgres(t) })
	})
	t.Run("RabbitMQ does not answer", func(t *testing.T) {
		t.Setenv(amqpVariable, "amqp://me:hush@127.0.0.1:1")
		t.Setenv(managementVariable, "http://me:hush@127.0.0.1:1")
		wantFailure(t, "make up", func(t testing.TB) { RabbitMQ(t) })
	})
	t.Run("Redis does not answer", func(t *testing.T) {
		t.Setenv(redisVariable, "redis://me:hush@127.0.0.1:1/0")
		wantFailure(t, "make up", func(t testing.TB) { Redis(t) })
	})
}

func TestUnreadableURLDoesNotShowItsPassword(t *testing.T) {
	t.Setenv(postgresVariable, "postgres://me:hush@host:not-a-port/x")
	wantFailure(t, postgresVariable, func(t testing.TB) { Postgres(t) })
}

func TestExportedReadsOnlyExportLines(t *testing.T) {
	text := "# a comment=1\nexport A='one=1'\nB=two\nexport C=three\n"
	want := map[string]string{"A": "one=1", "C": "three"}
	if diff := cmp.Diff(want, exported(t, strings.NewReader(text))); diff != "" {
		t.Error(diff)
	}
}

func TestUniqueNameIsAnIdentifierEverywhere(t *testing.T) {
	identifier := regexp.MustCompile(`^t_[a-z0-9_]{1,43}$`)
	t.Run("Späße & other: characters, in a name that is much longer than any service likes", func(t *testing.T) {
		first, second := uniqueName(t), uniqueName(t)
		if !identifier.MatchString(first) {
			t.Errorf("%q is no identifier", first)
		}
		if first == second {
			t.Errorf("%q twice", first)
		}
	})
}

// inModule makes an otherwise empty module with this .dev/env (none when empty) the working directory, and unsets the
// variables that would come first.
func inModule(t *testing.T, env string) {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module example\n")
	if env != "" {
		write(t, filepath.Join(root, ".dev", "env"), env)
	}
	below := filepath.Join(root, "internal", "deep")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(below)
	for _, variable := range []string{postgresVariable, amqpVariable, managementVariable, redisVariable} {
		t.Setenv(variable, "")
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// wantFailure wants body to fail with a message that contains part and does not contain the password of these tests.
func wantFailure(t *testing.T, part string, body func(testing.TB)) {
	t.Helper()
	message := failure(t, body)
	if !strings.Contains(message, part) || strings.Contains(message, "hush") {
		t.Errorf("failed with %q, want %q in it and no password", message, part)
	}
}
