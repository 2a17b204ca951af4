package testkit

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestEventuallyReturnsOnceTheConditionHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		Eventually(t, time.Minute, "one second passes", func() (bool, string) {
			return time.Since(began) >= time.Second, "waiting"
		})
		if waited := time.Since(began); waited > time.Second+pollInterval {
			t.Errorf("returned %v after the start, want at the first poll after 1s", waited)
		}
	})
}

func TestEventuallyFailsWithTheLastDetail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		message := failure(t, func(t testing.TB) {
			Eventually(t, time.Second, "the queue is empty", func() (bool, string) {
				calls++
				return false, fmt.Sprintf("%d messages", 1000-calls)
			})
		})
		want := fmt.Sprintf("the queue is empty: not within 1s; last seen: %d messages", 1000-calls)
		if message != want {
			t.Errorf("failed with %q, want %q", message, want)
		}
	})
}
