package testkit

import (
	"fmt"
	"runtime"
	"testing"
)

// failure runs body with a test of its own and returns the message that ended it. Clean-up of that test is left to t.
func failure(t *testing.T, body func(testing.TB)) string {
	t.Helper()
	victim := &fatal{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		body(victim)
		victim.message = "(it did not fail)"
	}()
	<-done
	return victim.message
}

// fatal is a test whose fatal failure is recorded instead of failing the test around it.
type fatal struct {
	testing.TB
	message string
}

func (f *fatal) Fatalf(format string, args ...any) {
	f.message = fmt.Sprintf(format, args...)
	runtime.Goexit()
}
