package deadletter_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"couponlease/internal/amqp"
	"couponlease/internal/deadletter"
	"couponlease/internal/fleet"
)

// manyVariable says with how many letters TestManyLetters works.
const manyVariable = "COUPONLEASE_TEST_LETTERS"

// maxMemory is what couponctl and coupond may take, however many letters there are.
const maxMemory = 256 << 20

// TestManyLetters predicts, exports and replays all letters that there are, in memory that
// does not grow with their number. It is quick with few letters; by hand:
//
//	COUPONLEASE_TEST_LETTERS=200000 go test ./internal/deadletter -run TestManyLetters -v -timeout 30m
func TestManyLetters(t *testing.T) {
	t.Parallel()
	letters := 1000
	if text := os.Getenv(manyVariable); text != "" {
		var err error
		if letters, err = strconv.Atoi(text); err != nil || letters < 1 {
			t.Fatalf("%s=%q is not a number of letters", manyVariable, text)
		}
	}
	space := fleet.NewSpace(t)
	took := stopwatch(t)
	fileMany(t, space, letters)
	took("%d letters were filed", letters)
	ctl := couponctl(t, space)
	out := ctl("dead", "replay", "--state", "NEW", "--dry-run")
	if n := strings.Count(out, string(deadletter.WouldApply)); n != letters+1 {
		t.Errorf("%d letters were predicted to be applied, want %d", n-1, letters)
	}
	took("predicted")
	if n := strings.Count(ctl("dead", "export"), "\n"); n != letters {
		t.Errorf("%d letters were exported", n)
	}
	took("exported")
	ctl("dead", "groups")
	took("grouped")
	ctl("dead", "list", "--text", "payment-of-nobody")
	took("searched for a text that is nowhere")
	process := fleet.Start(t, program("coupond"), space)
	took("coupond was started")
	out = ctl("dead", "replay", "--state", "NEW", "--yes", "--rate", strconv.Itoa(deadletter.MaxRate), "--reason", "all", "--wait")
	took("replayed")
	if !strings.Contains(out, "DONE") || strings.Contains(out, "FAILED") {
		t.Errorf("the replay ended with\n%s", out)
	}
	if n := space.Receipts(t); n != letters {
		t.Errorf("%d messages are answered, want %d", n, letters)
	}
	memory := process.Memory(t)
	t.Logf("coupond takes %d MiB", memory>>20)
	if memory > maxMemory {
		t.Errorf("coupond takes %d MiB", memory>>20)
	}
}

func stopwatch(t *testing.T) func(format string, args ...any) {
	last := time.Now()
	return func(format string, args ...any) {
		t.Logf("%s: %s", fmt.Sprintf(format, args...), time.Since(last).Round(time.Millisecond))
		last = time.Now()
	}
}

// fileMany files letters as the broker's queue would bring them, some at a time.
func fileMany(t *testing.T, space *fleet.Space, n int) {
	t.Helper()
	const batch = 500
	failed := time.Now().Add(-time.Hour)
	facts := payments(n)
	for start := 0; start < n; start += batch {
		var list []deadletter.Letter
		for _, fact := range facts[start:min(start+batch, n)] {
			l := deadletter.NewLetter(deadletter.Incoming{
				MessageID: fact.ID, Type: fact.Type, ContentType: fact.ContentType, Timestamp: fact.Timestamp, Body: fact.Body,
			})
			l.ID = uuid.Must(uuid.NewV7()).String()
			l.Queue, l.Exchange, l.RoutingKey = amqp.QueuePaymentSucceeded, fact.Exchange, fact.Key
			l.Fail("HANDLER_ERROR", "it broke for "+fact.ID, failed)
			list = append(list, l)
		}
		if err := space.Store.FileLetters(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
}

// couponctl gives what runs the operator's program: what it wrote, with the
// memory that it took at most checked.
func couponctl(t *testing.T, space *fleet.Space) func(args ...string) string {
	t.Helper()
	return func(args ...string) string {
		t.Helper()
		command := exec.Command(program("couponctl"), args...)
		command.Env = append(os.Environ(), "COUPONLEASE_POSTGRES_URL="+space.PostgresURL)
		var out, errs bytes.Buffer
		command.Stdout, command.Stderr = &out, &errs
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- command.Wait() }()
		memory, err := mostMemory(command.Process.Pid, ended)
		if err != nil {
			t.Fatalf("couponctl %s: %v\n%s%s", strings.Join(args, " "), err, errs.String(), out.String())
		}
		t.Logf("couponctl %s took %d MiB", strings.Join(args[:2], " "), memory>>20)
		if memory > maxMemory {
			t.Errorf("couponctl %s took %d MiB", strings.Join(args, " "), memory>>20)
		}
		return out.String()
	}
}

// mostMemory watches a process to its end, and gives the most that it had of memory. What
// the kernel tells afterwards counts the memory of its parent, too.
func mostMemory(pid int, ended <-chan error) (most int64, err error) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // it may be over
		for line := range strings.Lines(string(status)) {
			if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
				if kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64); err == nil {
					most = max(most, kib<<10)
				}
			}
		}
		select {
		case err := <-ended:
			return most, err
		case <-ticker.C:
		}
	}
}
