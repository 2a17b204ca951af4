package outbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

var (
	errLeaseEnded = errors.New("outbox lease ended before it could be renewed")
	errStopped    = errors.New("relay was told to stop")
	errDrained    = errors.New("relay ran out of time to stop")
)

const releaseTimeout = 2 * time.Second

// lease is the right to work on one shard. The store's clock judges it; the relay
// counts from before it asked, on its own monotonic clock, and stops a margin
// early, so that it stops first whatever the call took.
type lease struct {
	relay *Relay
	shard int
	fence int64

	mu    sync.Mutex
	until time.Time
}

// acquire returns nil without an error when somebody else holds the shard.
func (r *Relay) acquire(ctx context.Context, shard int) (*lease, error) {
	ctx, cancel := context.WithTimeout(ctx, r.options.Lease)
	defer cancel()
	l := &lease{relay: r, shard: shard}
	asked := time.Now()
	fence, held, err := r.store.Acquire(ctx, shard, r.options.Owner, r.options.Lease)
	if err != nil {
		return nil, fmt.Errorf("acquire outbox shard %d: %w", shard, err)
	}
	if !held {
		return nil, nil
	}
	l.fence = fence
	l.extend(asked)
	return l, nil
}

func (l *lease) extend(asked time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = asked.Add(l.relay.options.Lease - l.relay.options.LeaseMargin)
	return l.until
}

// left is how long the lease may still be used. It is asked right before each
// batch, because a process that was frozen runs on before its timers fire.
func (l *lease) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Until(l.until)
}

// keep renews the lease until ctx ends. When it cannot, it tells lost why, at the
// latest when the lease ends, even if a call to the store hangs.
func (l *lease) keep(ctx context.Context, lost context.CancelCauseFunc) {
	ended := time.AfterFunc(l.left(), func() { lost(errLeaseEnded) })
	defer ended.Stop()
	options := l.relay.options
	for wait, failures := options.Lease/3, 0; ; {
		sleep(ctx, wait)
		if ctx.Err() != nil {
			return
		}
		asked := time.Now()
		err := l.renew(ctx)
		switch {
		case err == nil:
			ended.Reset(time.Until(l.extend(asked)))
			wait, failures = options.Lease/3, 0
		case errors.Is(err, ErrFenced):
			lost(err)
			return
		default:
			failures++
			wait = min(options.backoff(failures), options.Lease/10)
		}
	}
}

func (l *lease) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.left())
	defer cancel()
	fence, held, err := l.relay.store.Acquire(ctx, l.shard, l.relay.options.Owner, l.relay.options.Lease)
	if err != nil {
		return fmt.Errorf("renew outbox lease: %w", err)
	}
	if !held || fence != l.fence {
		return ErrFenced
	}
	return nil
}

// release lets another relay take the shard without waiting. Nothing depends on
// it.
func (l *lease) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	if err := l.relay.store.Release(ctx, l.shard, l.fence); err != nil {
		l.relay.options.Logger.Info("outbox lease was not released", "shard", l.shard, "error", err)
	}
}
