package outbox_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/outbox"
)

var errNoRoute = fmt.Errorf("%w: 312 NO_ROUTE", outbox.ErrReturned)

func TestUnroutableMessageIsParkedAndOthersGoOn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var bound atomic.Bool
		w.broker.answer = failing(func(id string) error {
			if id == "lost" && !bound.Load() {
				return errNoRoute
			}
			return nil
		})
		w.commit(0, "a1", "a2")
		parkedID := w.commit(0, "b1", "lost", "b2")
		w.commit(0, "c1", "c2")
		relay, stop := w.start(w.process(), outbox.Options{})
		w.await("the others published", 2*time.Second, func() bool { return w.store.Count(0) == 0 })

		parked := w.store.Parked(0)
		if len(parked) != 1 || parked[0].ID != parkedID || !strings.Contains(parked[0].Reason, "NO_ROUTE") || !strings.Contains(parked[0].Reason, `"lost"`) {
			t.Fatalf("parked = %+v, want row %d with the message and the reason", parked, parkedID)
		}
		if diff := cmp.Diff(string(row(t, "lost")), string(parked[0].Payload)); diff != "" {
			t.Errorf("what is left of the row (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"a1", "a2", "b1", "b2", "c1", "c2"}, first(w.broker.ids())); diff != "" {
			t.Errorf("first sightings (-want +got):\n%s", diff)
		}
		// The page whole, the row alone twice, the rest of the page.
		if s := relay.Stats()[0]; s.Returned != 3 || s.Retries != 2 || s.Parked != 1 || s.Done != 2 {
			t.Errorf("stats = %+v, want 3 returns, 2 retries, 1 parked, 2 done", s)
		}

		quiet := len(w.broker.ids())
		time.Sleep(10 * time.Minute)
		s := relay.Stats()[0]
		if s.Unparked < 7 || s.Unparked > 10 || s.Parked != s.Unparked+1 || len(w.broker.ids()) != quiet {
			t.Errorf("in 10 minutes: %d unparked, %d parked, %d published again; want about one each minute, and nothing else",
				s.Unparked, s.Parked, len(w.broker.ids())-quiet)
		}
		if s.Returned != 3+s.Unparked || s.Retries != 2 {
			t.Errorf("%d returns and %d retries for %d unparked: a row that was parked is tried once", s.Returned, s.Retries, s.Unparked)
		}
		bound.Store(true)
		w.awaitEmpty(0, 90*time.Second)
		stop()
		if got := w.broker.ids()[quiet:]; len(got) != 1 || got[0] != "lost" {
			t.Errorf("when the route was back %q was published, want only what was lost", got)
		}
	})
}

// When a whole route is dead, only the first row pays for finding out.
func TestDeadRouteCostsOthersNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.broker.answer = failing(func(id string) error {
			if strings.HasPrefix(id, "dead") {
				return errNoRoute
			}
			return nil
		})
		for i := range 100 {
			messages := []outbox.Message{
				{ID: fmt.Sprintf("dead%d", i), Exchange: "gone", Key: "k", Mandatory: true},
				{ID: fmt.Sprintf("good%d", i), Exchange: "events", Key: "k", Mandatory: true},
			}
			payload, err := outbox.EncodeRow(messages)
			if err != nil {
				t.Fatal(err)
			}
			w.store.Commit(0, w.store.Draw(), payload)
		}
		relay, stop := w.start(w.process(), outbox.Options{})
		w.await("all good ones published", time.Second, func() bool { return w.store.Count(0) == 0 })
		if n := len(w.store.Parked(0)); n != 100 {
			t.Errorf("%d rows parked, want 100", n)
		}
		if s := relay.Stats()[0]; s.Retries != 2 {
			t.Errorf("%d retries, want the 2 of the first row", s.Retries)
		}
		stop()
	})
}

// A route that works again is trusted again: the next return on it is not final.
func TestRouteThatWorksAgainIsNotDead(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		returns := 3 // the first row is parked, its route is dead
		w.broker.answer = failing(func(id string) error {
			if returns > 0 {
				returns--
				return errNoRoute
			}
			return nil
		})
		send := func(id string) {
			w.store.Commit(0, w.store.Draw(), sameRoute(t, id))
			w.await("row gone", 2*time.Second, func() bool { return w.store.Count(0) == 0 })
		}
		_, stop := w.start(w.process(), outbox.Options{})
		send("parked")
		returns = 1
		send("parked too") // known to be dead
		send("taken")
		returns = 1
		send("taken in the end")
		stop()
		if diff := cmp.Diff([]string{"taken", "taken in the end"}, w.broker.ids()); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
		if n := len(w.store.Parked(0)); n != 2 {
			t.Errorf("%d rows parked, want 2", n)
		}
	})
}

func TestUnreadableRowIsParkedAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.commit(0, "a")
		broken, newer := w.store.Draw(), w.store.Draw()
		w.store.Commit(0, broken, []byte("{"))
		w.store.Commit(0, newer, []byte(`{"v":3,"messages":[{"id":"x"}]}`))
		w.commit(0, "b")
		relay, stop := w.start(w.process(), outbox.Options{})
		w.await("the others published", 0, func() bool { return w.store.Count(0) == 0 })
		stop()
		if diff := cmp.Diff([]string{"a", "b"}, w.broker.ids()); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
		parked := w.store.Parked(0)
		if len(parked) != 2 || string(parked[0].Payload) != "{" || !strings.Contains(parked[1].Reason, "unknown outbox row version 3") {
			t.Errorf("parked = %+v, want both rows as they were", parked)
		}
		if s := relay.Stats()[0]; s.Retries != 0 {
			t.Errorf("%d retries, want none", s.Retries)
		}
	})
}

// A refusal in the middle of a page holds its row and all behind it back. They
// are published again in order, so the last sighting of each is in order.
func TestNackedRowGoesFirstAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		nacks := 5
		w.broker.answer = failing(func(id string) error {
			if id == "m02" && nacks > 0 {
				nacks--
				return errNacked
			}
			return nil
		})
		for _, id := range names("m", 6) {
			w.commit(0, id)
		}
		relay, stop := w.start(w.process(), outbox.Options{})
		w.awaitEmpty(0, time.Minute)
		stop()
		want := []string{"m00", "m01", "m03", "m04", "m05", "m02", "m03", "m04", "m05"}
		if diff := cmp.Diff(want, w.broker.ids()); diff != "" {
			t.Errorf("messages (-want +got): what is behind a refused row is sent again once\n%s", diff)
		}
		if s := relay.Stats()[0]; s.Parked != 0 || s.Retries != 5 {
			t.Errorf("stats = %+v, want 5 retries: a nack is never parked", s)
		}
		// The page; m02 alone four times in vain and once well; m03, which was fetched
		// meanwhile; the rest.
		if w.broker.calls != 8 {
			t.Errorf("%d calls of the publisher, want 8: after a success pages are full again", w.broker.calls)
		}
	})
}

// After a failure that is no return, nothing behind it is sent in that page.
func TestFailureStopsThePage(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		broken := true
		w.broker.answer = failing(func(id string) error {
			if id == "m01" && broken {
				broken = false
				return errUnconfirmed
			}
			return nil
		})
		w.commit(0, names("m", 6)...)
		_, stop := w.start(w.process(), outbox.Options{Messages: 2})
		w.awaitEmpty(0, time.Minute)
		stop()
		if diff := cmp.Diff(append(names("m", 2), names("m", 6)...), w.broker.ids()); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
	})
}

// A route that was dead a minute ago is not dead for ever.
func TestDeadRouteIsForgotten(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		returns := map[string]int{"lost": 1000, "late": 1}
		w.broker.answer = failing(func(id string) error {
			if returns[id]--; returns[id] >= 0 {
				return errNoRoute
			}
			return nil
		})
		_, stop := w.start(w.process(), outbox.Options{})
		w.store.Commit(0, w.store.Draw(), sameRoute(t, "lost"))
		time.Sleep(70 * time.Second)
		w.store.Commit(0, w.store.Draw(), sameRoute(t, "late"))
		w.await("published", 10*time.Second, func() bool { return len(w.broker.ids()) == 1 })
		stop()
		if parked := w.store.Parked(0); len(parked) != 1 {
			t.Errorf("parked = %+v, want only what was lost", parked)
		}
	})
}

// Each row gets its own attempts, and only returns in a row count.
func TestAttemptsAreCountedForEachRow(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		lower := w.store.Draw()
		higher := w.store.Draw()
		tries := map[string]int{}
		script := []error{errNoRoute, errNoRoute, errNacked, errNoRoute, errNoRoute, nil}
		w.broker.answer = failing(func(id string) error {
			tries[id]++
			switch {
			case id == "higher" && tries[id] == 2:
				w.store.Commit(0, lower, row(t, "lower"))
				return errNoRoute
			case id == "moody":
				next := script[0]
				script = script[1:]
				return next
			}
			return errNoRoute
		})
		w.store.Commit(0, higher, row(t, "higher"))
		_, stop := w.start(w.process(), outbox.Options{ReturnAttempts: 3})
		w.await("both parked", 10*time.Second, func() bool { return len(w.store.Parked(0)) == 2 })
		if diff := cmp.Diff(map[string]int{"lower": 3, "higher": 5}, tries); diff != "" {
			t.Errorf("tries (-want +got): the lower row came in between\n%s", diff)
		}
		w.commit(0, "moody")
		w.await("published", 10*time.Second, func() bool { return len(w.broker.ids()) == 1 })
		if n := len(w.store.Parked(0)); n != 2 {
			t.Errorf("%d rows parked, want 2: a nack in between starts the count anew", n)
		}
		stop()
	})
}

// When many rows were parked, one look after another takes them up again.
func TestManyParkedRowsComeBackTogether(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var bound atomic.Bool
		w.broker.answer = failing(func(string) error {
			if bound.Load() {
				return nil
			}
			return errNoRoute
		})
		for range 50 {
			w.store.Commit(0, w.store.Draw(), sameRoute(t, "m"))
		}
		_, stop := w.start(w.process(), outbox.Options{Rows: 4})
		w.await("all parked", 10*time.Second, func() bool { return len(w.store.Parked(0)) == 50 })
		bound.Store(true)
		time.Sleep(55 * time.Second)
		w.awaitEmpty(0, 25*time.Second)
		stop()
		if n := len(w.broker.ids()); n != 50 {
			t.Errorf("%d published, want 50", n)
		}
	})
}

// sameRoute is a row of one message on the route all such rows share.
func sameRoute(t *testing.T, id string) []byte {
	t.Helper()
	payload, err := outbox.EncodeRow([]outbox.Message{{ID: id, Exchange: "events", Key: "k", Mandatory: true}})
	if err != nil {
		t.Fatal(err)
	}
	return payload
}
