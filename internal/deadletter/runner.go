package deadletter

import (
	"context"
	"log/slog"
	"time"

	"couponlease/internal/coupon"
)

// Jobs is where replays are kept.
type Jobs interface {
	// RunningReplays gives the ids of jobs that may have a next step.
	RunningReplays(ctx context.Context) ([]string, error)
	// StepReplay takes the next step of a job, in one transaction that holds it: it
	// sends as many letters as Job.Step allows, by writing what publish makes of them
	// into the outbox. A job that somebody else holds is left to them. The result is
	// how many were sent, and the outbox shards they went to.
	StepReplay(ctx context.Context, job string, publish Publish) (sent int64, shards []int, err error)
}

// Publish gives the outbox rows of letters, and outcomes of those that cannot be sent.
type Publish func([]ToSend) ([]coupon.OutboxRow, []Settled, error)

// RunnerOptions shape a runner.
type RunnerOptions struct {
	// Shards is the number of outbox shards.
	Shards int
	// Busy and Idle are the waits between steps while there is a running job and while
	// there is none; 100 ms and 1 s by default.
	Busy, Idle time.Duration
	// Kick is told which outbox shards have new rows; nil for nobody.
	Kick   func(shard int)
	Logger *slog.Logger
}

// Runner takes the steps of all running jobs. Every replica may have one.
type Runner struct {
	jobs    Jobs
	options RunnerOptions
}

// NewRunner makes a runner.
func NewRunner(jobs Jobs, options RunnerOptions) *Runner {
	if options.Busy == 0 {
		options.Busy = 100 * time.Millisecond
	}
	if options.Idle == 0 {
		options.Idle = time.Second
	}
	return &Runner{jobs: jobs, options: options}
}

// Run works until ctx ends. What fails is tried again after a while.
func (r *Runner) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timer.Reset(r.round(ctx))
	}
}

// round takes one step of each job and gives the wait until the next.
func (r *Runner) round(ctx context.Context) time.Duration {
	jobs, err := r.jobs.RunningReplays(ctx)
	if err != nil {
		r.complain(ctx, "running replays could not be looked up", err)
		return r.options.Idle
	}
	if len(jobs) == 0 {
		return r.options.Idle
	}
	wait := r.options.Busy
	for _, job := range jobs {
		sent, shards, err := r.jobs.StepReplay(ctx, job, func(list []ToSend) ([]coupon.OutboxRow, []Settled, error) {
			return Publications(list, r.options.Shards)
		})
		if err != nil {
			r.complain(ctx, "a replay could not take its next step", err, "job", job)
			wait = r.options.Idle
			continue
		}
		for _, shard := range shards {
			if r.options.Kick != nil {
				r.options.Kick(shard)
			}
		}
		if sent == MaxStep {
			wait = time.Millisecond // its rate may allow more
		}
	}
	return wait
}

func (r *Runner) complain(ctx context.Context, text string, err error, more ...any) {
	if ctx.Err() == nil {
		r.options.Logger.Warn(text, append(more, "error", err)...)
	}
}
