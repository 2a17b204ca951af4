package deadletter_test

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"couponlease/internal/amqp"
	"couponlease/internal/deadletter"
	"couponlease/internal/fleet"
	"couponlease/internal/testkit"
)

var hand = deadletter.Decision{Actor: "test", Reason: "mended"}

// patience bounds every wait of these tests.
const patience = time.Minute

// filed waits until so many letters are filed and gives them.
func filed(t *testing.T, space *fleet.Space, want int) (letters []deadletter.Letter) {
	t.Helper()
	testkit.Eventually(t, patience, fmt.Sprintf("%d letters are filed", want), func() (bool, string) {
		var err error
		letters, err = space.Store.WholeLetters(context.Background(), deadletter.Filter{}, "", 10_000)
		return err == nil && len(letters) == want, fmt.Sprintf("%d letters, %v", len(letters), err)
	})
	return letters
}

// startReplay starts a job at the given rate, or as fast as can be.
func startReplay(t *testing.T, space *fleet.Space, plan deadletter.Plan) deadletter.Job {
	t.Helper()
	if plan.Rate == 0 {
		plan.Rate = deadletter.MaxRate
	}
	job, err := space.Store.StartReplay(t.Context(), uuid.Must(uuid.NewV7()).String(), plan, hand)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// waitFor waits until a job has come as far as it has to. A database that is away is
// waited for.
func waitFor(t *testing.T, space *fleet.Space, id, what string, far func(deadletter.Job) bool) (job deadletter.Job) {
	t.Helper()
	testkit.Eventually(t, patience, what, func() (bool, string) {
		var err error
		job, err = space.Store.Replay(context.Background(), id)
		return err == nil && far(job), fmt.Sprintf("%+v, %v", job, err)
	})
	return job
}

func isDone(job deadletter.Job) bool { return job.Status == deadletter.Done }

func replay(t *testing.T, space *fleet.Space, plan deadletter.Plan) deadletter.Job {
	t.Helper()
	return waitFor(t, space, startReplay(t, space, plan).ID, "the replay is done", isDone)
}

func outcomes(t *testing.T, space *fleet.Space, job string) map[deadletter.Outcome]int64 {
	t.Helper()
	counts, err := space.Store.ReplayOutcomes(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	result := map[deadletter.Outcome]int64{}
	for _, c := range counts {
		result[c.Outcome] = c.Letters
	}
	return result
}

// bury sends a message to the dead letters as a worker does.
func bury(fact amqp.Publication, reason, text string) amqp.Publication {
	fact.Headers = map[string]string{
		deadletter.HeaderReason: reason, deadletter.HeaderError: text, deadletter.HeaderAttempt: "5",
		deadletter.HeaderQueue: amqp.QueuePaymentSucceeded, deadletter.HeaderExchange: fact.Exchange,
		deadletter.HeaderRoutingKey: fact.Key, deadletter.HeaderHost: "h1", deadletter.HeaderVersion: "v1",
		deadletter.HeaderFirst: "2026-03-01T09:00:00Z", deadletter.HeaderLast: "2026-03-01T09:10:00.123456Z",
	}
	fact.Exchange, fact.Key = amqp.ExchangeDead, amqp.QueuePaymentSucceeded
	return fact
}

// T54: while the database is away dead letters wait in their queue, also when the process
// that would file them dies. All of them are filed when it is back, each once.
func TestT54DeadLettersWaitForTheDatabase(t *testing.T) {
	t.Parallel()
	space := fleet.NewSpace(t)
	proxy := testkit.NewProxy(t, space.PostgresURL)
	behind := *space
	behind.PostgresURL = proxy.URL
	binary := program("coupond")
	process := fleet.Start(t, binary, &behind)
	const letters = 150
	facts := payments(letters)
	var buried []amqp.Publication
	for _, fact := range facts {
		buried = append(buried, bury(fact, "HANDLER_ERROR", "it broke for "+fact.ID))
	}
	space.Publish(t, buried[:50])
	first := filed(t, space, 50)
	proxy.Cut()
	space.Publish(t, buried[50:])
	process.Signal(t, syscall.SIGKILL)
	process.Wait(t, patience)
	testkit.Eventually(t, patience, "all letters are in the queue again", func() (bool, string) {
		depth := space.Broker.QueueDepth(t, amqp.QueueDead)
		return depth == 100, fmt.Sprint(depth)
	})
	proxy.Restore()
	fleet.Start(t, binary, &behind)
	all := filed(t, space, letters)
	for _, l := range all {
		if l.Failures != 1 || l.Fingerprint != first[0].Fingerprint || l.Reason != "HANDLER_ERROR" || l.Attempts != 5 ||
			l.Host != "h1" || l.Order == "" || l.Last.Nanosecond() != 123456000 {
			t.Fatalf("filed as %+v", l)
		}
	}
	testkit.Eventually(t, patience, "the queue is empty", func() (bool, string) {
		depth := space.Broker.QueueDepth(t, amqp.QueueDead)
		return depth == 0, fmt.Sprint(depth)
	})
}

// T65: the process that replays is killed at 37 %, the database goes away later, and
// somebody starts the same replay a second time. Every letter is replayed exactly once.
// The replay stops at 37 % by its canary, and crawls until the database is away.
func TestT65ReplaySurvivesAKillAndAnOutage(t *testing.T) {
	t.Parallel()
	space := fleet.NewSpace(t)
	proxy := testkit.NewProxy(t, space.PostgresURL)
	behind := *space
	behind.PostgresURL = proxy.URL
	binary := program("coupond")
	const letters, first = 300, 300 * 37 / 100
	fileMany(t, space, letters)
	process := fleet.Start(t, binary, &behind)
	job := startReplay(t, space, deadletter.Plan{Canary: first})

	waitFor(t, space, job.ID, "37 % are sent", func(j deadletter.Job) bool { return j.Sent == first })
	process.Signal(t, syscall.SIGKILL)
	process.Wait(t, patience)
	second := deadletter.Plan{Filter: deadletter.Filter{States: []deadletter.Status{deadletter.New, deadletter.Replayed}}, Rate: 1}
	_, err := space.Store.StartReplay(t.Context(), uuid.Must(uuid.NewV7()).String(), second, hand)
	if !errors.Is(err, deadletter.ErrConflict) {
		t.Errorf("the same replay again: %v", err)
	}
	fleet.Start(t, binary, &behind)
	waitFor(t, space, job.ID, "the canary is over", func(j deadletter.Job) bool {
		return j.PausedFor == deadletter.PausedForCanary && j.Settled == first
	})
	setRate(t, space, job.ID, 1) // the rest would take three minutes
	if _, err := space.Store.ChangeReplay(t.Context(), "ResumeReplay", job.ID, (*deadletter.Job).Resume, hand); err != nil {
		t.Fatal(err)
	}
	waitFor(t, space, job.ID, "it goes on", func(j deadletter.Job) bool { return j.Sent > first })
	proxy.Cut()
	if j := waitFor(t, space, job.ID, "the job is there", func(deadletter.Job) bool { return true }); j.Sent == letters {
		t.Fatal("the replay was over before the database went away")
	}
	setRate(t, space, job.ID, deadletter.MaxRate)
	proxy.Restore()
	done := waitFor(t, space, job.ID, "the replay is done", isDone)
	if done.Sent != letters || done.Settled != letters || outcomes(t, space, job.ID)[deadletter.Applied] != letters {
		t.Errorf("ended as %+v, %v", done, outcomes(t, space, job.ID))
	}
	if n := space.Receipts(t); n != letters {
		t.Errorf("%d messages are answered, want %d", n, letters)
	}
	for _, l := range filed(t, space, letters) {
		if l.Status != deadletter.Resolved || l.Job != "" || l.Failures != 1 {
			t.Fatalf("%s is %s, in job %q, failed %d times", l.MessageID, l.Status, l.Job, l.Failures)
		}
	}
	space.Check(t)
}

// setRate changes how many letters a job sends in a second.
func setRate(t *testing.T, space *fleet.Space, job string, rate int64) {
	t.Helper()
	_, err := session(t, space).Exec(t.Context(), "update replay_job set rate_limit = $2 where replay_job_id = $1", job, rate)
	if err != nil {
		t.Fatal(err)
	}
}
