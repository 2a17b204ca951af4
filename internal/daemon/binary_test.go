package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"couponlease/internal/amqp"
	"couponlease/internal/config"
	"couponlease/internal/telemetry"
	"couponlease/internal/testkit"
	"couponlease/messages"
)

// process is the real program.
type process struct {
	*running
	command *exec.Cmd
	log     *log
}

// build makes the real program and gives its path.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "coupond")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, "couponlease/cmd/coupond").CombinedOutput(); err != nil {
		t.Fatalf("build coupond: %v\n%s", err, out)
	}
	return path
}

var served = regexp.MustCompile(`msg="coupond starts" .*http=(\S+)`)

// execute starts the program and waits until it is ready. It is killed with the
// test if it still runs.
func execute(t *testing.T, path string, cfg config.Daemon, args ...string) *process {
	t.Helper()
	p := &process{running: &running{t: t, stopped: make(chan struct{})}, log: &log{}}
	p.command = exec.Command(path, append([]string{"--http-addr=127.0.0.1:0", "--sweep-interval=0s"}, args...)...)
	p.command.Env = append(os.Environ(), "COUPONLEASE_POSTGRES_URL="+cfg.PostgresURL, "COUPONLEASE_AMQP_URL="+cfg.AMQPURL)
	p.command.Stderr = p.log
	must(t, p.command.Start(), "start coupond")
	go func() {
		p.err = p.command.Wait()
		close(p.stopped)
	}()
	t.Cleanup(func() {
		select {
		case <-p.stopped:
		default:
			must(t, p.command.Process.Kill(), "kill coupond")
			<-p.stopped
		}
		if t.Failed() {
			t.Logf("what coupond logged:\n%s", p.log)
		}
	})
	testkit.Eventually(t, patience, "coupond names its address", func() (bool, string) {
		match := served.FindStringSubmatch(p.log.String())
		if match != nil {
			p.address = match[1]
		}
		return match != nil, p.log.String()
	})
	p.eventuallyReady(true)
	return p
}

// signal sends a signal, exit waits for the end and gives the exit code.
func (p *process) signal(s os.Signal) {
	p.t.Helper()
	must(p.t, p.command.Process.Signal(s), "send "+s.String())
}

func (p *process) exit() int {
	p.t.Helper()
	<-p.stopped
	var exit *exec.ExitError
	if p.err != nil && !errors.As(p.err, &exit) {
		p.t.Fatalf("wait for coupond: %v", p.err)
	}
	return p.command.ProcessState.ExitCode()
}

// TestSignalUnderLoad stops the real program in the middle of its work: it ends
// well, every message is either done and gone or untouched in its queue, what was
// committed is published, and the next start does the rest.
func TestSignalUnderLoad(t *testing.T) {
	const orders = 1500
	s := newShop(t)
	s.issue(0, orders)
	path := build(t)
	must(t, amqp.Apply(t.Context(), s.conn, amqp.DefaultLayout(amqp.Options{})), "apply layout")
	events := s.listen()
	facts := make([]fact, 0, 2*orders)
	for i := range orders {
		facts = append(facts, placed(i, 0), paid(i))
	}
	s.publish(facts...)

	first := execute(t, path, s.config())
	testkit.Eventually(t, patience, "a part is done", func() (bool, string) {
		n := first.metric(telemetry.RequestsCommitted)
		return n > 100, fmt.Sprint(n)
	})
	first.signal(syscall.SIGTERM)
	if code := first.exit(); code != 0 {
		t.Errorf("exit code %d after SIGTERM\n%s", code, first.log)
	}
	counts, err := s.store.Counts(t.Context(), 0)
	must(t, err, "count receipts")
	if counts.Receipts == 2*orders {
		t.Fatal("everything was done before the signal: the test has shown nothing")
	}
	testkit.Eventually(t, patience, "each message is done or waits", func() (bool, string) {
		waiting := 0
		depths := map[string]int{}
		for _, queue := range amqp.WorkQueues() {
			depths[queue] = s.broker.QueueDepth(t, queue)
			waiting += depths[queue]
		}
		return int64(waiting)+counts.Receipts == 2*orders,
			fmt.Sprintf("%d wait (%v), %d are done, of %d", waiting, depths, counts.Receipts, 2*orders)
	})
	backlog, err := s.store.Backlog(t.Context())
	must(t, err, "read backlog")
	if backlog.OutboxRows != 0 {
		t.Errorf("%d committed rows were not published", backlog.OutboxRows)
	}

	second := execute(t, path, s.config())
	events.eventually(t, messages.TypeCouponRedeemed, orders)
	for i := range orders {
		if i%50 == 0 {
			s.isRedeemed(i)
		}
	}
	s.eventuallyPublished()
	if got := second.metric(telemetry.MessagesSettled, `code="DUPLICATE_EVENT"`); got != 0 {
		t.Errorf("%v messages came again although they had been done", got)
	}
	second.signal(syscall.SIGINT)
	if code := second.exit(); code != 0 {
		t.Errorf("exit code %d after SIGINT\n%s", code, second.log)
	}
	if filed := s.deadLetters(); filed != 0 {
		t.Errorf("%d dead letters", filed)
	}
}

// TestSecondSignalEndsAtOnce: work in flight that cannot be finished would hold
// the end up for as long as --drain-timeout says.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	s := newShop(t)
	s.issue(0, 1)
	path := build(t)
	for signal, code := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGINT: 130} {
		t.Run(signal.String(), func(t *testing.T) {
			proxy := testkit.NewProxy(t, s.postgres)
			cfg := s.config()
			cfg.PostgresURL = proxy.URL
			p := execute(t, path, cfg, "--drain-timeout=10m")
			proxy.Cut()
			s.publish(placed(0, 0))
			testkit.Eventually(t, patience, "a message is in flight", func() (bool, string) {
				n := p.metric(telemetry.SubscriberInFlight)
				return n >= 1, fmt.Sprint(n)
			})
			p.signal(signal)
			testkit.Eventually(t, patience, "coupond drains", func() (bool, string) {
				state := p.readiness().State
				return state == "draining", string(state)
			})
			p.signal(signal)
			if got := p.exit(); got != code {
				t.Errorf("exit code %d, want %d\n%s", got, code, p.log)
			}
		})
	}
}
