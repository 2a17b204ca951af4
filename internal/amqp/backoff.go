package amqp

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff yields growing waits with jitter, so that replicas that lost the same
// broker do not come back in step.
type backoff struct {
	min, max time.Duration
	next     time.Duration
}

// wait sleeps for the next interval. It returns false when ctx ended first.
func (b *backoff) wait(ctx context.Context) bool {
	b.next = min(max(b.next, b.min), b.max)
	pause := b.next/2 + rand.N(b.next/2+1)
	b.next *= 2
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (b *backoff) reset() { b.next = 0 }
