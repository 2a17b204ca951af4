package batcher

import (
	"context"
	"sync"
	"time"
)

// outage is the one view all workers have on whether what they depend on is
// away. The first worker that recovers wakes the others.
type outage struct {
	onPause func(bool)

	mu     sync.Mutex
	paused bool
	cause  error
	over   chan struct{}
}

func newOutage(onPause func(bool)) *outage {
	return &outage{onPause: onPause, over: make(chan struct{})}
}

// wait sleeps until a batch may be run again. With pause it first declares the
// outage. It reports whether another worker ended the outage meanwhile.
func (o *outage) wait(ctx context.Context, d time.Duration, pause bool, cause error) (over bool) {
	ended := o.enter(pause, cause)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return false
	case <-ctx.Done():
		return false
	case <-ended:
		return true
	}
}

func (o *outage) enter(pause bool, cause error) (ended <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if pause {
		o.cause = cause
		if !o.paused {
			o.paused = true
			// Under the lock, so that the calls alternate whatever the workers do.
			o.onPause(true)
		}
	}
	return o.over
}

func (o *outage) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.paused {
		return
	}
	o.paused, o.cause = false, nil
	close(o.over)
	o.over = make(chan struct{})
	o.onPause(false)
}

func (o *outage) state() (paused bool, cause error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.paused, o.cause
}
