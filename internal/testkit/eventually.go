package testkit

import (
	"testing"
	"time"
)

// pollInterval is how often Eventually asks: often enough for a test to be quick, seldom enough to leave the services
// to the test.
const pollInterval = 10 * time.Millisecond

// Eventually waits until cond holds and fails the test when it does not within timeout. what names the expected
// condition; the detail that cond returned last tells how far it came. cond is called at once, then every 10 ms, on the
// caller's goroutine, so it may fail the test itself.
//
// It is the one place where a test waits for something that gives no signal.
func Eventually(t testing.TB, timeout time.Duration, what string, cond func() (ok bool, detail string)) {
	t.Helper()
	deadline := time.Now().Add(timeout)
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		ok, detail := cond()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v; last seen: %s", what, timeout, detail)
		}
		<-ticker.C
	}
}
