package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"couponlease/internal/amqp"
	"couponlease/internal/coupon"
	"couponlease/internal/fleet"
	"couponlease/internal/testkit"
)

const (
	root        = "../.."
	nodeExample = root + "/messages/client/example/node"
	nodeScript  = "checkout.mjs"
)

// nodeProgram gives the example of OPERATIONS.md where its one dependency is
// installed. The directory is kept from run to run, so that npm is needed once.
func nodeProgram(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("the example in another language needs node and npm: run `deploy/dev/stack.sh tools`, which `make test` does for you")
		}
	}
	state, err := filepath.Abs(root + "/.dev/node")
	if err != nil {
		t.Fatal(err)
	}
	lock := readFile(t, nodeExample+"/package-lock.json")
	home := filepath.Join(state, fmt.Sprintf("%x", sha256.Sum256(lock))[:16])
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"package.json", "package-lock.json", nodeScript} {
		if err := os.WriteFile(filepath.Join(home, file), readFile(t, nodeExample+"/"+file), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(home, "node_modules", ".package-lock.json")); err != nil {
		install := exec.Command("npm", "ci", "--prefer-offline", "--no-audit", "--no-fund", "--cache", filepath.Join(state, "cache"))
		install.Dir = home
		if out, err := install.CombinedOutput(); err != nil {
			t.Fatalf("npm ci: %v\n%s", err, out)
		}
	}
	return filepath.Join(home, nodeScript)
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// nodeCheckout is a run of the example.
func nodeCheckout(space *fleet.Space, program string, args ...string) *exec.Cmd {
	command := exec.Command("node", append([]string{program}, args...)...)
	command.Env = append(os.Environ(), "COUPONLEASE_AMQP_URL="+space.Broker.URL)
	return command
}

// TestNodeExampleRuns: also when nobody answers at first, so that it asks again.
func TestNodeExampleRuns(t *testing.T) {
	program := nodeProgram(t)
	space := fleet.NewSpace(t)
	space.Import(t, []string{"SPRING-7F3K9"})
	var out bytes.Buffer
	asking := nodeCheckout(space, program, "spring-7f3k9", "order-1001", "1000")
	asking.Stdout, asking.Stderr = &out, &out
	if err := asking.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- asking.Wait() }()
	t.Cleanup(func() { _ = asking.Process.Kill() }) // it has ended, unless the test failed
	testkit.Eventually(t, time.Minute, "the command is sent again", func() (bool, string) {
		n := space.Broker.QueueDepth(t, amqp.QueueCommands)
		return n >= 2, fmt.Sprintf("%d commands", n)
	})
	fleet.Start(t, fleet.Binary(t), space)
	select {
	case err := <-done:
		if want := "spring-7f3k9: OK\norder-1001: placed and paid\n"; err != nil || out.String() != want {
			t.Fatalf("the example printed\n%s\n(%v), want\n%s", &out, err, want)
		}
	case <-time.After(time.Minute):
		t.Fatal("the example does not end")
	}
	waitForState(t, space, "spring-7f3k9", coupon.Used)
	ledger(t, space, "spring-7f3k9", coupon.Issue, coupon.Lock, coupon.Renew, coupon.Redeem)

	refused, err := nodeCheckout(space, program, "spring-7f3k9", "order-1002").CombinedOutput()
	if err != nil || string(refused) != "spring-7f3k9: ALREADY_USED\n" {
		t.Errorf("on a coupon that is used: %v\n%s", err, refused)
	}
	space.CheckNoDeadLetters(t)
	space.Check(t)
}

// TestNodeExampleFailsWithoutTheProduct: a message that no queue takes is not lost
// silently.
func TestNodeExampleFailsWithoutTheProduct(t *testing.T) {
	program := nodeProgram(t)
	space := fleet.NewSpace(t)
	space.Broker.DeleteQueue(t, amqp.QueueCommands)
	out, err := nodeCheckout(space, program, "spring-7f3k9", "order-1001").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no queue takes coupon.lock.v1") {
		t.Errorf("got %v\n%s", err, out)
	}
}

// TestNodeExampleIsTheOneInOperations compares the program with the one that people
// read.
func TestNodeExampleIsTheOneInOperations(t *testing.T) {
	document := string(readFile(t, root+"/OPERATIONS.md"))
	program := string(readFile(t, nodeExample+"/"+nodeScript))
	if !strings.Contains(document, "```js\n"+program+"```\n") {
		t.Errorf("OPERATIONS.md does not hold %s/%s as it is", nodeExample, nodeScript)
	}
}
