package store

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"couponlease/internal/coupon"
	"couponlease/internal/deadletter"
)

var hand = deadletter.Decision{Actor: "test", Reason: "because"}

// letter is a letter about a body, that failed at a second of an hour.
func letter(id, body string, second int) deadletter.Letter {
	l := deadletter.NewLetter(deadletter.Incoming{MessageID: id, Type: "payment.succeeded.v1", Body: []byte(body)})
	l.Queue, l.Host = "coupon-payment-succeeded", "h1"
	l.Fail("HANDLER_ERROR", "it broke for "+id, time.Date(2026, 3, 1, 9, 0, second, 0, time.UTC))
	l.ID = newID()
	return l
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

func fileLetters(t testing.TB, s *Store, letters ...deadletter.Letter) {
	t.Helper()
	if err := s.FileLetters(t.Context(), letters); err != nil {
		t.Fatal(err)
	}
}

// letters files so many letters, each with a message of its own, and gives their ids.
func letters(t testing.TB, s *Store, n int) []string {
	t.Helper()
	var list []deadletter.Letter
	var ids []string
	for i := range n {
		list = append(list, letter(name("m", i), fmt.Sprintf(`{"n":%d}`, i), i))
		ids = append(ids, list[i].ID)
	}
	fileLetters(t, s, list...)
	return ids
}

func theLetter(t testing.TB, s *Store, id string) deadletter.Letter {
	t.Helper()
	l, _, err := s.Letter(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// sendAll is what a runner does until a job has nothing to do any more.
func sendAll(t testing.TB, s *Store, job string) (sent []deadletter.ToSend) {
	t.Helper()
	for {
		n, _, err := s.StepReplay(t.Context(), job, func(list []deadletter.ToSend) ([]coupon.OutboxRow, []deadletter.Settled, error) {
			sent = append(sent, list...)
			return deadletter.Publications(list, 1)
		})
		if err != nil {
			t.Fatal(err)
		}
		if j := theReplay(t, s, job); n == 0 && (j.Status != deadletter.Running || j.Sent == j.Total) {
			return sent
		}
	}
}

func theReplay(t testing.TB, s *Store, id string) deadletter.Job {
	t.Helper()
	j, err := s.Replay(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func start(t testing.TB, s *Store, plan deadletter.Plan) deadletter.Job {
	t.Helper()
	if plan.Rate == 0 {
		plan.Rate = deadletter.MaxRate
	}
	j, err := s.StartReplay(t.Context(), newID(), plan, hand)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func record(t testing.TB, s *Store, list []deadletter.ToSend, outcome deadletter.Outcome) {
	t.Helper()
	var settled []deadletter.Settled
	for _, sent := range list {
		settled = append(settled, deadletter.Settled{Item: sent.Item, MessageID: sent.Letter.MessageID, Outcome: outcome})
	}
	if err := s.RecordReplays(t.Context(), settled); err != nil {
		t.Fatal(err)
	}
}

func TestLetterIsFiledOnceAndKeepsEverything(t *testing.T) {
	s := open(t)
	text := strings.Repeat("at handler.go:12\n", 20_000) // 340 kB
	l := letter("m1", `{"orderId":"o1","leaseToken":"hush"}`, 1)
	l.Order, l.Coupons, l.Headers = "o1", []string{"c1", `c"2`}, map[string]string{"traceparent": "00-1"}
	l.Fail("HANDLER_ERROR", text, l.Last)
	again := letter("m1", `{"orderId":"o1","leaseToken":"other"}`, 1) // the same once redacted
	again.Fail("HANDLER_ERROR", text, l.Last)
	other := letter("m1", `{"orderId":"o2"}`, 1)
	fileLetters(t, s, l, again, other)
	fileLetters(t, s, again)
	got, attempts, err := s.Letter(t.Context(), l.ID, 10)
	if err != nil {
		t.Fatal(err)
	}
	if got.Error != text || got.Failures != 1 || len(attempts) != 1 || got.Status != deadletter.New {
		t.Errorf("error of %d bytes, %d failures, %d attempts, %s", len(got.Error), got.Failures, len(attempts), got.Status)
	}
	if strings.Contains(string(got.Body), "hush") || got.Hash != sha256.Sum256(got.Body) {
		t.Errorf("body %s", got.Body)
	}
	if diff := cmp.Diff([]any{l.Coupons, l.Headers, l.Last}, []any{got.Coupons, got.Headers, got.Last}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := scalar[int](t, s, "select count(*) from dead_letter"); n != 2 {
		t.Errorf("%d letters, want 2", n)
	}
}

func TestNextFailureIsOneMoreAttemptAndOldOnesDisturbNothing(t *testing.T) {
	s := open(t)
	first := letter("m1", `{}`, 1)
	fileLetters(t, s, first)
	if _, err := s.MarkLetters(t.Context(), "DiscardDeadLetters", deadletter.Filter{IDs: []string{first.ID}},
		[]deadletter.Status{deadletter.New}, deadletter.Discarded, "", hand); err != nil {
		t.Fatal(err)
	}
	fileLetters(t, s, letter("m1", `{}`, 1)) // the broker gives it out again
	if l := theLetter(t, s, first.ID); l.Status != deadletter.Discarded || l.Failures != 1 {
		t.Errorf("after the same failure: %s, %d failures", l.Status, l.Failures)
	}
	fileLetters(t, s, letter("m1", `{}`, 2))
	l, attempts, err := s.Letter(t.Context(), first.ID, 10)
	if err != nil || l.Status != deadletter.New || l.Failures != 2 || len(attempts) != 2 || !l.Last.After(l.First) {
		t.Errorf("after another failure: %s, %d failures, %d attempts, %v", l.Status, l.Failures, len(attempts), err)
	}
}

func TestFiltersSelect(t *testing.T) {
	s := open(t)
	a, b := letter("m1", `{"find":"Needle"}`, 1), letter("m2", `{}`, 30)
	a.Coupons, a.Order, b.Attempts, b.Reason = []string{"c1"}, "o1", 5, "BAD_JSON"
	fileLetters(t, s, a, b)
	at := func(second int) time.Time { return time.Date(2026, 3, 1, 9, 0, second, 0, time.UTC) }
	for name, test := range map[string]struct {
		filter deadletter.Filter
		want   []string
	}{
		"everything":    {deadletter.Filter{}, []string{b.ID, a.ID}},
		"type":          {deadletter.Filter{Type: "payment.succeeded.v1"}, []string{b.ID, a.ID}},
		"other type":    {deadletter.Filter{Type: "x"}, nil},
		"reason":        {deadletter.Filter{Reason: "BAD_JSON"}, []string{b.ID}},
		"group":         {deadletter.Filter{Group: a.Fingerprint}, []string{b.ID, a.ID}},
		"coupon":        {deadletter.Filter{Coupon: "c1"}, []string{a.ID}},
		"order":         {deadletter.Filter{Order: "o1"}, []string{a.ID}},
		"since":         {deadletter.Filter{Since: at(30)}, []string{b.ID}},
		"until":         {deadletter.Filter{Until: at(30)}, []string{a.ID}},
		"text of error": {deadletter.Filter{Text: "BROKE for m2"}, []string{b.ID}},
		"text of body":  {deadletter.Filter{Text: "Needle"}, []string{a.ID}},
		"message id":    {deadletter.Filter{Text: "m1"}, []string{a.ID}},
		"attempts":      {deadletter.Filter{Attempts: 5}, []string{b.ID}},
		"state":         {deadletter.Filter{States: []deadletter.Status{deadletter.Resolved}}, nil},
		"ids":           {deadletter.Filter{IDs: []string{a.ID}}, []string{a.ID}},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := s.Letters(t.Context(), test.filter, "", 10)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for i := range list {
				ids = append(ids, list[i].ID)
			}
			if diff := cmp.Diff(test.want, ids); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReplayEndsEachLetterWithItsOutcome(t *testing.T) {
	s := open(t)
	ids := letters(t, s, 4)
	broken := letter("m-broken", `{"orderId":`, 9)
	fileLetters(t, s, broken)
	job := start(t, s, deadletter.Plan{})
	sent := sendAll(t, s, job.ID)
	record(t, s, sent[:1], deadletter.Applied)
	record(t, s, sent[1:2], deadletter.Duplicate)
	record(t, s, sent[2:3], deadletter.Stale)
	failure := sent[3].Letter
	failure.Replay = sent[3].Item
	failure.Fail("HANDLER_ERROR", "again", time.Now().UTC())
	fileLetters(t, s, failure)
	record(t, s, sent[:1], deadletter.Stale) // too late: an outcome is final
	got := map[string]string{}
	for _, id := range append(ids, broken.ID) {
		l := theLetter(t, s, id)
		got[l.MessageID] = fmt.Sprintf("%s %s %d%s", l.Status, l.Outcome, l.Failures, l.Job)
	}
	want := map[string]string{
		"m-00000": "RESOLVED APPLIED 1", "m-00001": "RESOLVED DUPLICATE 1", "m-00002": "RESOLVED STALE 1",
		"m-00003": "NEW FAILED_AGAIN 2", "m-broken": "NEW FAILED_AGAIN 1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if j := theReplay(t, s, job.ID); j.Status != deadletter.Done || j.Settled != 5 || j.Failed != 2 {
		t.Errorf("job %+v", j)
	}
	if n := scalar[int](t, s, "select sum(messages) from coupon_outbox"); n != 4 {
		t.Errorf("%d messages in the outbox, want 4", n)
	}
	if n := scalar[int](t, s, "select count(*) from audit_log where action = 'ReplayDeadLetters' and count = 5"); n != 1 {
		t.Errorf("%d audit rows", n)
	}
}

// T61: two operators replay the same letter at once, and one of them gets it.
func TestT61TwoOperatorsReplayTheSameLetterAndOneWins(t *testing.T) {
	s := open(t)
	ids := letters(t, s, 1)
	var wait sync.WaitGroup
	errs := make([]error, 2)
	for i := range errs {
		wait.Go(func() {
			_, errs[i] = s.StartReplay(t.Context(), newID(), deadletter.Plan{
				Filter: deadletter.Filter{IDs: ids}, Rate: 1,
			}, hand)
		})
	}
	wait.Wait()
	if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs...), deadletter.ErrConflict) {
		t.Errorf("want one success and one conflict, got %v", errs)
	}
	if n := scalar[int](t, s, "select count(*) from replay_item"); n != 1 {
		t.Errorf("the letter is in %d jobs", n)
	}
}

// T62: letters that fail after the start are not part of a replay.
func TestT62ReplayTakesASnapshot(t *testing.T) {
	s := open(t)
	letters(t, s, 2)
	job := start(t, s, deadletter.Plan{})
	late := letter("late", `{}`, 5)
	fileLetters(t, s, late)
	if sent := sendAll(t, s, job.ID); len(sent) != 2 {
		t.Errorf("%d letters were sent, want the 2 that there were", len(sent))
	}
	if l := theLetter(t, s, late.ID); l.Status != deadletter.New || l.Job != "" {
		t.Errorf("the late letter is %s in job %q", l.Status, l.Job)
	}
}

// T64: what is resolved is replayed with force only, and then has no effect.
func TestT64ResolvedLetterIsReplayedWithForceOnly(t *testing.T) {
	s := open(t)
	ids := letters(t, s, 1)
	only := deadletter.Filter{IDs: ids}
	record(t, s, sendAll(t, s, start(t, s, deadletter.Plan{Filter: only}).ID), deadletter.Applied)
	if _, err := s.StartReplay(t.Context(), newID(), deadletter.Plan{Filter: only, Rate: 1}, hand); !errors.Is(err, deadletter.ErrConflict) {
		t.Errorf("without force: %v", err)
	}
	record(t, s, sendAll(t, s, start(t, s, deadletter.Plan{Filter: only, Force: true}).ID), deadletter.Duplicate)
	if l := theLetter(t, s, ids[0]); l.Status != deadletter.Resolved || l.Outcome != deadletter.Duplicate {
		t.Errorf("with force: %s %s", l.Status, l.Outcome)
	}
}

func TestJobPausesForCanaryAndFailuresAndIsAborted(t *testing.T) {
	s := open(t)
	letters(t, s, 6)
	job := start(t, s, deadletter.Plan{Canary: 2, StopOnFailures: 1})
	sent := sendAllOf(t, s, job.ID, 2)
	record(t, s, sent, deadletter.Applied)
	sendAll(t, s, job.ID)
	if j := theReplay(t, s, job.ID); j.Status != deadletter.Paused || j.PausedFor != deadletter.PausedForCanary || j.Sent != 2 {
		t.Fatalf("after the canary: %+v", j)
	}
	change := func(action string, f func(*deadletter.Job) error) error {
		_, err := s.ChangeReplay(t.Context(), action, job.ID, f, hand)
		return err
	}
	if err := change("ResumeReplay", (*deadletter.Job).Resume); err != nil {
		t.Fatal(err)
	}
	if err := change("ResumeReplay", (*deadletter.Job).Resume); !errors.Is(err, deadletter.ErrConflict) {
		t.Errorf("resumed twice: %v", err)
	}
	execute(t, s, "update replay_job set rate_limit = 1, paid_until = clock_timestamp() - interval '1 second'")
	failed := sendAllOf(t, s, job.ID, 1)
	record(t, s, failed, deadletter.FailedAgain)
	sendAll(t, s, job.ID)
	if j := theReplay(t, s, job.ID); j.Status != deadletter.Paused || j.PausedFor != deadletter.PausedForFailures {
		t.Fatalf("after a failure: %+v", j)
	}
	if err := change("AbortReplay", (*deadletter.Job).Abort); err != nil {
		t.Fatal(err)
	}
	const free = "select count(*) from dead_letter where status = 'NEW' and replay_job_id is null"
	if n := scalar[int](t, s, free); n != 4 {
		t.Errorf("%d letters are free again, want 4", n)
	}
	// One that was sent is free again as well, and what is told about it later is too late.
	job = start(t, s, deadletter.Plan{})
	lost := sendAll(t, s, job.ID)
	if err := change("AbortReplay", (*deadletter.Job).Abort); err != nil {
		t.Fatal(err)
	}
	record(t, s, lost, deadletter.Applied)
	if n := scalar[int](t, s, free); n != 4 {
		t.Errorf("%d letters are free after sending and aborting, want 4", n)
	}
}

// sendAllOf takes steps until so many letters are sent.
func sendAllOf(t testing.TB, s *Store, job string, n int) (sent []deadletter.ToSend) {
	t.Helper()
	for len(sent) < n {
		_, _, err := s.StepReplay(t.Context(), job, func(list []deadletter.ToSend) ([]coupon.OutboxRow, []deadletter.Settled, error) {
			sent = append(sent, list...)
			return deadletter.Publications(list, 1)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return sent
}

// T69: the letter that was edited is resolved with the one that stands for it.
func TestT69EditedLetterIsResolvedWithItsCorrection(t *testing.T) {
	s := open(t)
	original := letter("m1", `{"amount":"1"}`, 1)
	fileLetters(t, s, original)
	edited := letter("m1-edited", `{"amount":1}`, 1)
	if err := s.EditLetter(t.Context(), original, edited, hand); err != nil {
		t.Fatal(err)
	}
	second := letter("m1-second", `{"amount":2}`, 1)
	if err := s.EditLetter(t.Context(), original, second, hand); !errors.Is(err, deadletter.ErrConflict) {
		t.Errorf("edited twice: %v", err)
	}
	record(t, s, sendAll(t, s, start(t, s, deadletter.Plan{}).ID), deadletter.Applied)
	for id, want := range map[string]deadletter.Outcome{original.ID: deadletter.ByEdit, edited.ID: deadletter.Applied} {
		if l := theLetter(t, s, id); l.Status != deadletter.Resolved || l.Outcome != want {
			t.Errorf("%s is %s %s, want RESOLVED %s", l.MessageID, l.Status, l.Outcome, want)
		}
	}
	if l := theLetter(t, s, edited.ID); l.EditedFrom != original.ID {
		t.Errorf("edited from %q", l.EditedFrom)
	}
}

func TestPurgeTakesOnlyWhatIsOldAndOver(t *testing.T) {
	s := open(t)
	ids := letters(t, s, 4)
	job := start(t, s, deadletter.Plan{Filter: deadletter.Filter{IDs: ids[:2]}})
	record(t, s, sendAll(t, s, job.ID), deadletter.Applied)
	start(t, s, deadletter.Plan{Filter: deadletter.Filter{IDs: ids[2:3]}})
	execute(t, s, `update dead_letter set changed_at = changed_at - interval '90 days' where dead_letter_id <> $1`, ids[1])
	execute(t, s, `update replay_job set updated_at = updated_at - interval '90 days'`)
	if err := s.PurgeLetters(t.Context(), 89); err != nil {
		t.Fatal(err)
	}
	const left = `select (select count(*) from dead_letter) || ' ' || (select count(*) from dead_letter_attempt) || ' ' ||
		(select count(*) from replay_job) || ' ' || (select count(*) from replay_item)`
	if got := scalar[string](t, s, left); got != "3 3 1 1" {
		t.Errorf("left are %s letters, attempts, jobs and items, want 3 3 1 1", got)
	}
	if _, _, err := s.Letter(t.Context(), ids[0], 1); !errors.Is(err, deadletter.ErrNotFound) {
		t.Errorf("the resolved letter: %v", err)
	}
}
