package deadletter_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"couponlease/handlers"
	"couponlease/internal/amqp"
	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
	"couponlease/internal/deadletter"
	"couponlease/internal/engine"
	"couponlease/internal/fleet"
	"couponlease/internal/leasetoken"
	"couponlease/internal/store"
	"couponlease/internal/testkit"
	"couponlease/router"
)

// The test program is a worker as well, one whose handler ends the process on one
// message: with these variables set it is started as such.
const (
	crashOn       = "COUPONLEASE_TEST_CRASH_ON"
	crashBroker   = "COUPONLEASE_TEST_BROKER"
	crashPostgres = "COUPONLEASE_TEST_POSTGRES"
	killed        = 137
)

func TestMain(m *testing.M) {
	if message := os.Getenv(crashOn); message != "" {
		if err := crasher(message); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code, err := withPrograms(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// programs is where coupond and couponctl are, which all tests here share.
var programs string

// withPrograms builds the programs for the time of run.
func withPrograms(run func() int) (code int, err error) {
	if programs, err = os.MkdirTemp("", "deadletter"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(programs)) }()
	build := exec.Command("go", "build", "-o", programs, "couponlease/cmd/coupond", "couponlease/cmd/couponctl")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return run(), nil
}

func program(name string) string { return filepath.Join(programs, name) }

// lethal ends the process when it is asked about one message, as running out of memory
// would.
type lethal struct {
	router.Engine
	message string
}

func (l lethal) SubmitAll(ctx context.Context, requests []coupon.Request) ([]coupon.Outcome, []error) {
	for i := range requests {
		if requests[i].ID == l.message {
			os.Exit(killed)
		}
	}
	return l.Engine.SubmitAll(ctx, requests)
}

func crasher(message string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, err := store.Open(ctx, os.Getenv(crashPostgres), store.Options{
		Rules: coupon.DefaultRules(), Source: engine.NewSource(leasetoken.Random()),
	})
	if err != nil {
		return err
	}
	defer s.Close()
	conn, err := amqp.Connect(amqp.ConnConfig{URL: os.Getenv(crashBroker), Name: "crasher"})
	if err != nil {
		return err
	}
	e := engine.New(s, func(changes *coupon.Changes) ([]coupon.OutboxRow, error) { return handlers.Outbox(changes, 1) },
		engine.Options{Limits: batcher.Limits{Batch: 1}, Classify: store.Classify})
	r, err := router.New(router.Config{
		Subscriber: amqp.NewSubscriber(conn, amqp.SubscriberConfig{Prefetch: 10}),
		Publisher:  amqp.NewPublisher(conn, amqp.PublisherConfig{}),
		Engine:     lethal{e, message}, Queues: []string{amqp.QueuePaymentSucceeded}, CloseTimeout: time.Minute,
		Host: "crasher", Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = r.Close() })
	return r.Run(context.Background())
}

// payments are messages about orders that nobody has placed: the payments are kept.
func payments(n int) []amqp.Publication {
	var list []amqp.Publication
	for _, order := range fleet.BoughtOrders(n) {
		list = append(list, order.Facts(time.Now().Add(-time.Hour))[1])
	}
	return list
}

// deliveryLimit is how often the broker gives a message back in these tests.
const deliveryLimit = 5

// T46, T48 and T50: a handler that kills its process on one message. The message is given
// up by the broker after the delivery limit, none of those that were in flight with it
// is, and replaying it with a handler that was mended applies it.
func TestT46T48T50CrashLoopEndsAndIsReplayed(t *testing.T) {
	t.Parallel()
	space := fleet.NewSpace(t)
	space.Broker.SetPolicy(t, testkit.Policy{
		Name: "limit", Pattern: "^" + amqp.QueuePaymentSucceeded + "$", ApplyTo: "queues",
		Definition: map[string]any{"delivery-limit": deliveryLimit},
	})
	facts := payments(10)
	poison := facts[4].ID
	space.Publish(t, facts)
	deaths := 0
	for space.Broker.QueueDepth(t, amqp.QueueDead) == 0 {
		if deaths > 2*deliveryLimit {
			t.Fatalf("the message has killed %d processes and is not given up", deaths)
		}
		if runCrasher(t, space, poison) == killed {
			deaths++
		}
	}
	if deaths != deliveryLimit+1 {
		t.Errorf("%d processes died, want %d", deaths, deliveryLimit+1)
	}

	// Declaring, it would refuse to work with the limit of this test.
	fleet.Start(t, program("coupond"), space, "--topology", "off")
	space.WaitForReceipts(t, len(facts)-1)
	letter := filed(t, space, 1)[0]
	if letter.MessageID != poison || letter.Reason != deadletter.CrashLoop || letter.Queue != amqp.QueuePaymentSucceeded ||
		letter.RoutingKey != facts[4].Key || letter.Order == "" {
		t.Errorf("filed as %+v", letter)
	}
	for name := range letter.Headers {
		if strings.HasPrefix(name, "x-") {
			t.Errorf("header %s would go along with the replay", name)
		}
	}
	job := replay(t, space, deadletter.Plan{Filter: deadletter.Filter{IDs: []string{letter.ID}}})
	if job.Failed != 0 || outcomes(t, space, job.ID)[deadletter.Applied] != 1 {
		t.Errorf("the replay ended as %+v", job)
	}
	if n := space.Receipts(t); n != len(facts) {
		t.Errorf("%d messages are answered, want %d", n, len(facts))
	}
	endsOtherwise(t, space, facts[0], letter.ID)
}

// endsOtherwise replays a letter that was applied before, and one that nothing was mended
// about.
func endsOtherwise(t *testing.T, space *fleet.Space, fact amqp.Publication, applied string) {
	t.Helper()
	job := replay(t, space, deadletter.Plan{Filter: deadletter.Filter{IDs: []string{applied}}, Force: true})
	if outcomes(t, space, job.ID)[deadletter.Duplicate] != 1 {
		t.Errorf("replayed once more, the letter is %v", outcomes(t, space, job.ID))
	}
	fact.ID, fact.Body = "malformed", []byte(`{"orderId":"o"}`)
	space.Publish(t, []amqp.Publication{fact})
	only := deadletter.Filter{IDs: []string{filed(t, space, 2)[1].ID}}
	job = replay(t, space, deadletter.Plan{Filter: only})
	if outcomes(t, space, job.ID)[deadletter.FailedAgain] != 1 || job.Failed != 1 {
		t.Errorf("replayed in vain, the letter is %v in %+v", outcomes(t, space, job.ID), job)
	}
	l := filed(t, space, 2)[1]
	if l.Status != deadletter.New || l.Outcome != deadletter.FailedAgain || l.Failures != 2 || l.Attempts != 1 || l.Job != "" {
		t.Errorf("after failing again it is %+v", l)
	}
}

// runCrasher runs the worker until it dies or everything but dead letters is done, and
// gives its exit code.
func runCrasher(t *testing.T, space *fleet.Space, message string) int {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), crashOn+"="+message, crashBroker+"="+space.Broker.URL,
		crashPostgres+"="+space.PostgresURL)
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = command.Wait() // the exit code says it
		close(ended)
	}()
	testkit.Eventually(t, time.Minute, "the worker dies or the message is given up", func() (bool, string) {
		select {
		case <-ended:
			return true, ""
		default:
			return space.Broker.QueueDepth(t, amqp.QueueDead) > 0, "neither"
		}
	})
	_ = command.Process.Signal(syscall.SIGTERM) // it may be over
	<-ended
	return command.ProcessState.ExitCode()
}
