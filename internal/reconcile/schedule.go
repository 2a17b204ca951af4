package reconcile

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"couponlease/internal/coupon"
)

// Schedule runs reconciliation again and again, in one of all replicas at a time.
type Schedule struct {
	Books Books
	// Last gives the last finished run of our own books, by whomever; nil for none.
	Last func(ctx context.Context) (*Run, error)
	// Leases has the right to run under the number Part; Owner is who asks.
	Leases Leases
	Part   int
	Owner  string
	// Interval is the time from the end of one run to the start of the next.
	Interval time.Duration
	Options  RunOptions
	Logger   *slog.Logger

	done, failed atomic.Uint64
}

// Runs counts the runs of this replica that ended well, and those that did not.
func (s *Schedule) Runs() (done, failed uint64) { return s.done.Load(), s.failed.Load() }

// How often it is asked whether a run is due, and how long the right to run lasts after
// the last sign of life.
const (
	scheduleLook = 30 * time.Second
	scheduleHold = 2 * time.Minute
)

// Run works until ctx ends.
func (s *Schedule) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := s.turn(ctx); err != nil && ctx.Err() == nil {
			s.failed.Add(1)
			s.Logger.Warn("reconciliation was broken off", "error", err)
		}
		pause(ctx, min(scheduleLook, s.Interval))
	}
}

// turn runs once if a run is due and no other replica has begun one.
func (s *Schedule) turn(ctx context.Context) error {
	due, err := s.due(ctx)
	if err != nil || !due {
		return err
	}
	fence, held, err := s.Leases.Acquire(ctx, s.Part, s.Owner, scheduleHold)
	if err != nil || !held {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
		defer cancel()
		_ = s.Leases.Release(end, s.Part, fence) // one that stays ends by itself
	}()
	if due, err = s.due(ctx); err != nil || !due {
		return err // another replica has just done it
	}
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go s.hold(running, stop, fence)
	summary, err := Reconcile(running, s.Books, s.Options)
	if cause := context.Cause(running); err != nil && cause != nil {
		err = cause
	}
	if err != nil {
		return err
	}
	s.done.Add(1)
	s.tell(summary)
	return nil
}

func (s *Schedule) tell(summary Summary) {
	level := slog.LevelInfo
	if summary.Found > 0 {
		level = slog.LevelWarn
	}
	s.Logger.Log(context.Background(), level, "reconciled", "coupons", summary.Coupons, "orders", summary.Orders,
		"found", summary.Found, "new", summary.Opened, "gone", summary.Closed, "repaired", summary.Repaired,
		"unchecked", summary.Unchecked, "took", summary.Finished.Sub(summary.Started).Round(time.Millisecond))
}

// due says whether the last run was long enough ago.
func (s *Schedule) due(ctx context.Context) (bool, error) {
	last, err := s.Last(ctx)
	if err != nil || last == nil {
		return err == nil, err
	}
	now, err := s.Books.Now(ctx)
	return err == nil && now.Sub(last.Finished) >= s.Interval, err
}

// hold keeps the right to run, and ends the run when it is lost.
func (s *Schedule) hold(ctx context.Context, stop context.CancelCauseFunc, fence int64) {
	for pause(ctx, scheduleHold/4); ctx.Err() == nil; pause(ctx, scheduleHold/4) {
		now, held, err := s.Leases.Acquire(ctx, s.Part, s.Owner, scheduleHold)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			stop(fmt.Errorf("keep the right to reconcile: %w", err))
		case !held || now != fence:
			stop(fmt.Errorf("another replica has taken the right to reconcile"))
		}
	}
}

// OwnBooks is the fault by which runs of our own books are known.
const OwnBooks = coupon.FaultDoubleUse
