package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"couponlease/internal/fleet"
)

// operator runs couponctl on a space, in the environment of its replicas.
type operator struct {
	binary string
	space  *fleet.Space
	// more is further environment.
	more []string
}

func newOperator(t *testing.T, space *fleet.Space) operator {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "couponctl")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "couponlease/cmd/couponctl").CombinedOutput(); err != nil {
		t.Fatalf("build couponctl: %v\n%s", err, out)
	}
	return operator{binary: binary, space: space}
}

// with gives the same operator with more environment.
func (o operator) with(more ...string) operator {
	o.more = append(o.more[:len(o.more):len(o.more)], more...)
	return o
}

// run gives the exit code, and what was written to standard output and standard error.
func (o operator) run(t *testing.T, args ...string) (code int, out, complaint string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), o.binary, args...)
	command.Env = append(os.Environ(),
		"COUPONLEASE_POSTGRES_URL="+o.space.PostgresURL, "COUPONLEASE_AMQP_URL="+o.space.Broker.URL,
		"COUPONLEASE_AMQP_MANAGEMENT_URL="+o.space.Broker.ManagementURL,
		"COUPONLEASE_TOKEN_KEYS="+o.space.TokenKeys, "COUPONLEASE_TOKEN_KEYS_FILE=")
	command.Env = append(command.Env, o.more...)
	var stdout, stderr strings.Builder
	command.Stdout, command.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := command.Run(); err != nil && !errors.As(err, &exit) {
		t.Errorf("couponctl %s: %v", strings.Join(args, " "), err)
		return -1, "", ""
	}
	return command.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// do wants an exit code.
func (o operator) do(t *testing.T, want int, args ...string) string {
	t.Helper()
	code, out, complaint := o.run(t, args...)
	if code != want {
		t.Fatalf("couponctl %s ended with %d, want %d\n%s%s", strings.Join(args, " "), code, want, out, complaint)
	}
	return out
}

// tell has couponctl fill a result from its JSON.
func (o operator) tell(t *testing.T, result any, want int, args ...string) {
	t.Helper()
	out := o.do(t, want, append(args, "--output", "json")...)
	if err := json.Unmarshal([]byte(out), result); err != nil {
		t.Fatalf("couponctl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
