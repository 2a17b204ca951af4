package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"couponlease/internal/config"
	"couponlease/internal/testkit"
)

// clean takes our variables out of the environment of the test.
func clean(t *testing.T) {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "COUPONLEASE_") {
			t.Setenv(name, "") // so that it comes back
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// said is what a call of the program printed, and its exit code.
type said struct {
	code           int
	stdout, stderr string
}

func call(ctx context.Context, args ...string) said {
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, &stdout, &stderr)
	return said{code, stdout.String(), stderr.String()}
}

var services = []string{"--postgres-url=postgres://u:hush@db/coupons", "--amqp-url=amqp://u:hush@mq/shop"}

func TestCommandLine(t *testing.T) {
	tests := []struct {
		name           string
		args           []string
		code           int
		stdout, stderr []string // parts of what is printed
	}{
		{"help", []string{"--help"}, 0, []string{"Usage: coupond", "--order-lease=15m", "$COUPONLEASE_POSTGRES_URL"}, nil},
		{"version", []string{"--version"}, 0, []string{version()}, nil},
		{"nothing set", nil, 2, nil, []string{"--postgres-url", "--amqp-url", "run `coupond --help`"}},
		{"several mistakes", append([]string{"--batch=no", "--stacking=some", "--order-lease=-1s"}, services...), 2, nil,
			[]string{"--batch (COUPONLEASE_BATCH)", "--stacking (COUPONLEASE_STACKING)", "--order-lease (COUPONLEASE_ORDER_LEASE)"}},
		{"mistakes show with config as well", []string{"config"}, 2, nil, []string{"--postgres-url"}},
		{"unknown flag", []string{"--colour=red"}, 2, nil, []string{"unknown flag --colour"}},
		{"unknown command", []string{"walk"}, 2, nil, []string{"unexpected argument walk"}},
		{"completion", []string{"completion", "bash", "--code"}, 0, []string{"complete -o", "coupond"}, nil},
		{"settings as text", append([]string{"config", "--batch=64"}, services...), 0,
			[]string{"postgres://u:xxxxx@db/coupons", "COUPONLEASE_BATCH", "64"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			clean(t)
			got := call(t.Context(), test.args...)
			if got.code != test.code {
				t.Errorf("exit code %d, want %d\n%s%s", got.code, test.code, got.stdout, got.stderr)
			}
			contains(t, got.stdout, test.stdout)
			contains(t, got.stderr, test.stderr)
			if strings.Contains(got.stdout+got.stderr, "hush") {
				t.Errorf("a password is shown:\n%s%s", got.stdout, got.stderr)
			}
		})
	}
}

func contains(t *testing.T, text string, parts []string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not said in:\n%s", part, text)
		}
	}
}

func TestSettingsAsJSON(t *testing.T) {
	clean(t)
	t.Setenv("COUPONLEASE_WRITERS", "3")
	got := call(t.Context(), append([]string{"config", "--output=json"}, services...)...)
	var settings []config.Setting
	if err := json.Unmarshal([]byte(got.stdout), &settings); err != nil {
		t.Fatalf("%v in:\n%s", err, got.stdout)
	}
	values := map[string]string{}
	for _, s := range settings {
		values[s.Name] = s.Value
	}
	if values["writers"] != "3" || values["amqp-url"] != "amqp://u:xxxxx@mq/shop" {
		t.Errorf("settings are %v", values)
	}
}

func TestFailureAtRunTimeIsExitCode1(t *testing.T) {
	clean(t)
	broker := testkit.RabbitMQ(t)
	got := call(t.Context(), "--postgres-url="+testkit.Postgres(t), "--amqp-url="+broker.URL,
		"--http-addr=127.0.0.1:0", "--log-format=json")
	if got.code != 1 {
		t.Errorf("exit code %d, want 1", got.code)
	}
	var last struct{ Level, Msg, Error string }
	lines := strings.Split(strings.TrimSpace(got.stderr), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		t.Fatalf("the log is not JSON: %v in:\n%s", err, got.stderr)
	}
	if last.Level != "ERROR" || !strings.Contains(last.Error, "run couponctl migrate up") {
		t.Errorf("the last line of the log is %+v", last)
	}
}

// Signals of this process stand in for those of an operator: the first ends the
// context, the second asks for the end of the process.
func TestSignals(t *testing.T) {
	codes := make(chan int, 1)
	var once sync.Once
	ctx, stop := untilSignal(t.Context(), func(code int) { once.Do(func() { codes <- code }) })
	defer stop()
	send := func() {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	send()
	<-ctx.Done()
	select {
	case code := <-codes:
		t.Fatalf("exit with %d after one signal", code)
	default:
	}
	send()
	if code := <-codes; code != 143 {
		t.Errorf("exit with %d after the second signal, want 143", code)
	}
}
