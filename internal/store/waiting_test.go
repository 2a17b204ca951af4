package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"couponlease/internal/coupon"
	"couponlease/internal/deadletter"
	"couponlease/internal/testkit"
)

func waiting(t *testing.T, s *Store, overdue time.Duration) Waiting {
	t.Helper()
	w, err := s.Waiting(t.Context(), overdue)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestWaitingCountsOpenLetters(t *testing.T) {
	s := open(t)
	if w := waiting(t, s, 0); len(w.Letters) != 0 || w.TimersOverdue != 0 {
		t.Fatalf("in an empty database: %+v", w)
	}
	ids := letters(t, s, 3)
	malformed := letter("m9", `{"n":9}`, 9)
	malformed.Reason = "BAD_JSON"
	fileLetters(t, s, malformed)
	if _, err := s.MarkLetters(t.Context(), "DiscardDeadLetters", deadletter.Filter{IDs: ids[:1]},
		[]deadletter.Status{deadletter.New}, deadletter.Discarded, "", hand); err != nil {
		t.Fatal(err)
	}
	w := waiting(t, s, 0)
	want := []OpenLetters{{Reason: "HANDLER_ERROR", Letters: 2}, {Reason: "BAD_JSON", Letters: 1}}
	if diff := cmp.Diff(want, w.Letters, cmpopts.IgnoreFields(OpenLetters{}, "Oldest")); diff != "" {
		t.Errorf("open letters (-want +got):\n%s", diff)
	}
	if age := now(t, s).Sub(w.Letters[0].Oldest); age < 0 || age > time.Hour {
		t.Errorf("the oldest letter was filed %v ago", age)
	}
}

func TestWaitingCountsOverdueTimersAndTheInbox(t *testing.T) {
	s := open(t)
	issue(t, s, unlimited("summer"), "C0", "C1", "C2", "C3")
	at := now(t, s)
	for i := range 4 {
		f := placed(fmt.Sprint("o", i), fmt.Sprint("c", i))
		f.Lease = time.Microsecond
		if i == 3 {
			f.Lease = time.Hour
		}
		one(t, s, coupon.OK, request(fmt.Sprint("m", i), at, f))
	}
	one(t, s, coupon.Redeemed, request("pay", at, paid("o0"))) // its timer is stale
	if got := waiting(t, s, 0).TimersOverdue; got != 2 {
		t.Errorf("%d overdue timers, want 2", got)
	}
	if got := waiting(t, s, time.Hour).TimersOverdue; got != 0 {
		t.Errorf("%d timers overdue for an hour, want none", got)
	}
	// PostgreSQL tells its statistics some time after the commit.
	testkit.Eventually(t, time.Minute, "the inbox is estimated", func() (bool, string) {
		w := waiting(t, s, 0)
		return w.InboxRows == 5 && w.InboxOldest.Equal(dayOf(at)), fmt.Sprintf("%+v", w)
	})
}
