package client

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff yields growing waits with jitter, so that clients that lost the same
// broker do not come back in step.
type backoff struct {
	min, max time.Duration
	next     time.Duration
}

// pause gives the next interval.
func (b *backoff) pause() time.Duration {
	b.next = min(max(b.next, b.min), b.max)
	pause := b.next/2 + rand.N(b.next/2+1)
	b.next *= 2
	return pause
}

func (b *backoff) reset() { b.next = 0 }

// sleep waits so long, or until ctx or the client ends.
func (c *Client) sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.life.Done():
		return ErrClosed
	}
}
