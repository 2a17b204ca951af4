package console

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

func TestWaitingForAReplayThatIsNotThereEnds(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := w.WaitForJob(ctx, uuid.Must(uuid.NewV7()).String(), func(int64, int64) {})
	if !errors.Is(err, ErrUsage) || ctx.Err() != nil {
		t.Errorf("no such replay: %v", err)
	}
	w.sql(`alter table replay_job rename to replay_job_elsewhere`)
	_, err = w.WaitForJob(ctx, uuid.Must(uuid.NewV7()).String(), func(int64, int64) {})
	if err == nil || ctx.Err() != nil {
		t.Errorf("a schema that is broken: %v", err)
	}
}

// A database that is away is waited for, and that is said once.
func TestOutageIsLoggedOnceByWhoeverWaitsForAReplay(t *testing.T) {
	w := newWorld(t)
	var logged bytes.Buffer
	w.logger = slog.New(slog.NewTextHandler(&logged, nil))
	w.store.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*jobPoll)
	defer cancel()
	_, err := w.WaitForJob(ctx, uuid.Must(uuid.NewV7()).String(), func(int64, int64) {})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the wait ended with %v", err)
	}
	if n := strings.Count(logged.String(), "cannot be looked at"); n != 1 {
		t.Errorf("the outage was logged %d times:\n%s", n, logged.String())
	}
}
