package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"couponlease/internal/testkit"
)

// outcome is what one run of the program left.
type outcome struct {
	code           int
	stdout, stderr string
}

// ctl runs the program with arguments.
func ctl(t testing.TB, args ...string) outcome { return ctlWith(t, "", args...) }

// ctlWith runs the program with text on standard input.
func ctlWith(t testing.TB, stdin string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), args, strings.NewReader(stdin), &stdout, &stderr)
	return outcome{code, stdout.String(), stderr.String()}
}

// want fails the test unless the run ended with a code, and said all the texts.
func (o outcome) want(t testing.TB, code int, texts ...string) {
	t.Helper()
	if o.code != code {
		t.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", o.code, code, o.stdout, o.stderr)
	}
	for _, text := range texts {
		if !strings.Contains(o.stdout+o.stderr, text) {
			t.Errorf("it does not say %q\nstdout: %s\nstderr: %s", text, o.stdout, o.stderr)
		}
	}
}

// decode reads the JSON that a run printed.
func decode[T any](t testing.TB, o outcome) T {
	t.Helper()
	var value T
	if err := json.Unmarshal([]byte(o.stdout), &value); err != nil {
		t.Fatalf("not JSON: %v\nstdout: %s\nstderr: %s", err, o.stdout, o.stderr)
	}
	return value
}

// noServices takes the addresses of all services away.
func noServices(t testing.TB) {
	for _, variable := range []string{
		"COUPONLEASE_POSTGRES_URL", "COUPONLEASE_AMQP_URL", "COUPONLEASE_AMQP_MANAGEMENT_URL", "COUPONLEASE_REDIS_URL",
	} {
		t.Setenv(variable, "")
	}
}

// onPostgres gives the program a database of its own, and its address. Without onRedis it
// has no Redis: keys there may be those of another test.
func onPostgres(t testing.TB) string {
	t.Helper()
	address := testkit.Postgres(t)
	t.Setenv("COUPONLEASE_REDIS_URL", "")
	t.Setenv("COUPONLEASE_POSTGRES_URL", address)
	return address
}

// migrated gives the program a database with the schema in place.
func migrated(t testing.TB) string {
	t.Helper()
	address := onPostgres(t)
	ctl(t, "migrate", "up").want(t, exitOK)
	return address
}

// onRedis gives the program a part of Redis of its own: the keys that begin with a prefix.
func onRedis(t testing.TB) (url, prefix string) {
	t.Helper()
	url, prefix = testkit.Redis(t)
	t.Setenv("COUPONLEASE_REDIS_URL", url)
	t.Setenv("COUPONLEASE_REDIS_PREFIX", prefix)
	return url, prefix
}

// onRabbitMQ gives the program a broker of its own.
func onRabbitMQ(t testing.TB) testkit.Broker {
	t.Helper()
	broker := testkit.RabbitMQ(t)
	t.Setenv("COUPONLEASE_AMQP_URL", broker.URL)
	t.Setenv("COUPONLEASE_AMQP_MANAGEMENT_URL", broker.ManagementURL)
	return broker
}

// file writes a file for the program to read.
func file(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWrongUsageEndsWithCode2AndSaysWhatToDo(t *testing.T) {
	noServices(t)
	tests := []struct {
		name string
		args []string
		says string
	}{
		{"no command", nil, "couponctl --help"},
		{"unknown command", []string{"frobnicate"}, "unexpected argument frobnicate"},
		{"unknown subcommand", []string{"migrate", "sideways"}, "couponctl migrate --help"},
		{"unknown output", []string{"version", "--output", "xml"}, "must be one of"},
		{"no database", []string{"migrate", "status"}, "COUPONLEASE_POSTGRES_URL is not set"},
		{"no broker", []string{"topology", "diff"}, "COUPONLEASE_AMQP_URL is not set"},
		{"no file", []string{"cases", "run", "nowhere.jsonl"}, "no such file"},
		{"down without yes", []string{"migrate", "down"}, "--yes"},
		{"limits without define", []string{"coupons", "import", "-", "--budget", "3"}, "--define-template"},
		{"negative limit", []string{"coupons", "import", "-", "--define-template", "--budget=-3"}, "below 0"},
		{"unknown zone", []string{"coupons", "import", "-", "--zone", "Mars/Phobos"}, "--zone"},
		{"too few orders", []string{"demo", "--orders", "1"}, "choose 100 to"},
		{"demo without services", []string{"demo"}, "`make demo`"},
		{"foreign place", []string{"demo", "--remove", "public"}, "not the name of a demo's place"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctl(t, test.args...).want(t, exitFindings, test.says)
		})
	}
}

func TestServicesThatDoNotAnswerEndWithCode1AndNoPassword(t *testing.T) {
	t.Setenv("COUPONLEASE_POSTGRES_URL", "postgres://u:hush@127.0.0.1:1/db?connect_timeout=1")
	got := ctl(t, "migrate", "status")
	got.want(t, exitError, "COUPONLEASE_POSTGRES_URL")
	if strings.Contains(got.stderr, "hush") {
		t.Errorf("it shows a password: %s", got.stderr)
	}
}

func TestHelpShowsExamplesAndEndsWithCode0(t *testing.T) {
	tests := map[string]string{
		"":                  "Exit codes",
		"coupons import":    "code,template,owner,valid_from,valid_until,batch",
		"coupons issue":     "customer,code,valid_from,valid_until",
		"templates create":  "--percent 12.5 --valid-days 30",
		"templates edit":    "BELOW_ISSUED",
		"templates show":    "jq .left",
		"templates list":    "--status ACTIVE",
		"templates pause":   "leaked link",
		"templates resume":  "couponctl templates resume spring",
		"templates offline": "campaign withdrawn",
		"templates apply":   "percent_off: 12.5",
		"templates export":  "couponctl templates apply -",
		"publish":           "couponctl publish order-placed --order",
		"timeline":          "couponctl timeline SPRING-0001",
		"check":             "jq .byInvariant",
		"cases run":         "couponctl cases run domain.jsonl",
		"topology diff":     "Exit code 2",
		"lock":              "jq -r .leaseToken",
		"renew":             "COUPONLEASE_LEASE_TOKEN",
		"release":           "couponctl void SPRING-1 --force",
		"redeem":            "--order RD1001",
		"void":              "printed twice",
		"reverse":           "couponctl timeline SPRING-1",
		"return":            "RETURN:FULL",
		"swap":              "couponctl swap A-1 --drop SPRING-1",
		"flow show":         "couponctl flow show RD1001",
		"audit list":        "couponctl audit list --coupon SPRING-1",
		"demo":              "make demo",
	}
	for command, says := range tests {
		t.Run(command, func(t *testing.T) {
			ctl(t, append(strings.Fields(command), "--help")...).want(t, exitOK, says)
		})
	}
}

func TestVersion(t *testing.T) {
	ctl(t, "version").want(t, exitOK, "couponctl ", "go1.")
	if got := decode[build](t, ctl(t, "version", "--output", "json")); got.Go == "" || got.Version == "" {
		t.Errorf("version as JSON: %+v", got)
	}
}

func TestCompletionKnowsTheShell(t *testing.T) {
	ctl(t, "completion", "bash", "--code").want(t, exitOK, "complete -o default", "couponctl")
}

func TestCompletionOffersCommands(t *testing.T) {
	t.Setenv("COMP_LINE", "couponctl topology ")
	t.Setenv("COMP_POINT", "19")
	ctl(t).want(t, exitOK, "show", "apply", "diff")
}

func TestAnInterruptEndsWithCode1(t *testing.T) {
	onPostgres(t)
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	var stdout, stderr bytes.Buffer
	code := run(ctx, []string{"migrate", "status"}, strings.NewReader(""), &stdout, &stderr)
	outcome{code, stdout.String(), stderr.String()}.want(t, exitError, "interrupted")
}
