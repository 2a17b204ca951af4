package console

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"couponlease/internal/batcher"
	"couponlease/internal/deadletter"
	"couponlease/internal/store"
)

// JobView is a replay as it is shown.
type JobView struct {
	ID     string               `json:"id"`
	Status deadletter.JobStatus `json:"status"`
	// PausedFor is CANARY, FAILURES or OPERATOR.
	PausedFor string `json:"pausedFor,omitempty"`
	Total     int64  `json:"total"`
	// Sent letters are on their way or have an outcome.
	Sent           int64                        `json:"sent"`
	Settled        int64                        `json:"settled"`
	Failed         int64                        `json:"failedAgain"`
	Rate           int64                        `json:"rate"`
	Canary         int64                        `json:"canary,omitempty"`
	StopOnFailures int64                        `json:"stopOnFailures,omitempty"`
	Filter         deadletter.Filter            `json:"filter"`
	Actor          string                       `json:"actor"`
	Reason         string                       `json:"reason"`
	Created        time.Time                    `json:"createdAt"`
	Updated        time.Time                    `json:"updatedAt"`
	Outcomes       map[deadletter.Outcome]int64 `json:"outcomes,omitempty"`
	// Waiting is since when the letter that waits longest for its outcome waits.
	Waiting time.Time `json:"oldestWaitingSince,omitzero"`
	// Problems are letters that failed again, the first ones.
	Problems []JobItem `json:"problems,omitempty"`
	// Skipped are letters that were not sent, the first ones.
	Skipped []JobItem `json:"skipped,omitempty"`
}

// JobItem is one letter of a replay.
type JobItem struct {
	Letter string `json:"id"`
	Detail string `json:"detail"`
}

// maxIDs bounds how many letters one command names one by one.
const maxIDs = 10_000

// maxProblems bounds how many letters that failed again, or were skipped, are shown with a
// job.
const maxProblems = 20

func jobView(j *deadletter.Job) JobView {
	f := j.Plan.Filter
	if len(f.IDs) > maxProblems {
		f.IDs = f.IDs[:maxProblems]
	}
	return JobView{
		ID: j.ID, Status: j.Status, PausedFor: j.PausedFor, Total: j.Total, Sent: j.Sent, Settled: j.Settled,
		Failed: j.Failed, Rate: j.Plan.Rate, Canary: j.Plan.Canary, StopOnFailures: j.Plan.StopOnFailures,
		Filter: f, Actor: j.Actor, Reason: j.Reason, Created: j.Created, Updated: j.Updated,
	}
}

// ReplayDead starts a replay of the letters that there are now. The daemons carry it
// out, whether anybody waits or not.
func (d *Database) ReplayDead(ctx context.Context, plan deadletter.Plan, by deadletter.Decision) (JobView, error) {
	switch {
	case plan.Rate < 1 || plan.Rate > deadletter.MaxRate:
		return JobView{}, Usage(fmt.Errorf("a rate of %d: choose 1 to %d letters a second", plan.Rate, deadletter.MaxRate))
	case plan.Canary < 0 || plan.StopOnFailures < 0 || plan.Max < 0:
		return JobView{}, Usage(errors.New("a limit cannot be below 0"))
	case len(plan.Filter.IDs) > maxIDs:
		return JobView{}, Usage(fmt.Errorf("%d ids: at most %d; use a filter", len(plan.Filter.IDs), maxIDs))
	}
	id, err := uuid.NewV7()
	if err != nil {
		return JobView{}, fmt.Errorf("draw the id of a replay: %w", err)
	}
	job, err := d.store.StartReplay(ctx, id.String(), plan, by)
	if err != nil {
		return JobView{}, deadError(err)
	}
	return jobView(&job), nil
}

// JobPage is a page of replays, newest first.
type JobPage struct {
	Jobs []JobView `json:"jobs"`
	// Next is where the next page begins; "" when there is none.
	Next string `json:"next,omitempty"`
}

// Jobs lists replays that were started before the one with an id, or all for "".
func (d *Database) Jobs(ctx context.Context, before string, limit int) (JobPage, error) {
	page := JobPage{Jobs: []JobView{}}
	if err := checkPage(limit); err != nil {
		return page, err
	}
	jobs, err := d.store.Replays(ctx, before, limit+1)
	if err != nil {
		return page, err
	}
	if len(jobs) > limit {
		jobs = jobs[:limit]
		page.Next = jobs[limit-1].ID
	}
	for i := range jobs {
		page.Jobs = append(page.Jobs, jobView(&jobs[i]))
	}
	return page, nil
}

// Job gives a replay with its outcomes.
func (d *Database) Job(ctx context.Context, id string) (JobView, error) {
	job, err := d.store.Replay(ctx, id)
	if err != nil {
		return JobView{}, deadError(err)
	}
	v := jobView(&job)
	outcomes, err := d.store.ReplayOutcomes(ctx, id)
	if err != nil {
		return v, err
	}
	v.Outcomes = map[deadletter.Outcome]int64{}
	for _, o := range outcomes {
		if o.Outcome == "" {
			v.Waiting = o.Oldest
			continue
		}
		v.Outcomes[o.Outcome] = o.Letters
	}
	if v.Problems, err = d.jobItems(ctx, id, deadletter.FailedAgain); err != nil {
		return v, err
	}
	v.Skipped, err = d.jobItems(ctx, id, deadletter.Skipped)
	return v, err
}

// jobItems gives the first letters of a replay with one outcome.
func (d *Database) jobItems(ctx context.Context, id string, outcome deadletter.Outcome) (items []JobItem, err error) {
	rows, err := d.store.ReplayItems(ctx, id, 0, outcome, maxProblems)
	for _, row := range rows {
		items = append(items, JobItem{row.Letter, row.Detail})
	}
	return items, err
}

// JobVerb is what an operator does to a replay.
type JobVerb string

// The verbs.
const (
	PauseJob  JobVerb = "PauseReplay"
	ResumeJob JobVerb = "ResumeReplay"
	AbortJob  JobVerb = "AbortReplay"
)

// ChangeJob pauses, resumes or aborts a replay. One that does not allow it is an
// ErrConflict.
func (d *Database) ChangeJob(ctx context.Context, id string, verb JobVerb, by deadletter.Decision) (JobView, error) {
	change := map[JobVerb]func(*deadletter.Job) error{
		PauseJob: (*deadletter.Job).Pause, ResumeJob: (*deadletter.Job).Resume, AbortJob: (*deadletter.Job).Abort,
	}[verb]
	if _, err := d.store.ChangeReplay(ctx, string(verb), id, change, by); err != nil {
		return JobView{}, deadError(err)
	}
	return d.Job(ctx, id)
}

// jobPoll is how often a job is looked at while somebody waits for it.
const jobPoll = 200 * time.Millisecond

// lookAtJob shows how far a job has come, and gives it with its outcomes once it is over
// or paused.
func (d *Database) lookAtJob(ctx context.Context, id string, show func(settled, total int64)) (JobView, error) {
	job, err := d.store.Replay(ctx, id)
	if err != nil {
		return JobView{}, err
	}
	show(job.Settled, job.Total)
	if job.Status == deadletter.Running {
		return jobView(&job), nil
	}
	return d.Job(ctx, id)
}

// WaitForJob waits until a replay is over or paused, and shows how far it has come. A
// database that is away is waited for; every other error ends the wait.
func (d *Database) WaitForJob(ctx context.Context, id string, show func(settled, total int64)) (JobView, error) {
	ticker := time.NewTicker(jobPoll)
	defer ticker.Stop()
	away := false
	for {
		view, err := d.lookAtJob(ctx, id, show)
		switch {
		case ctx.Err() != nil:
		case err == nil && view.Status != deadletter.Running:
			return view, nil
		case err == nil && away:
			away = false
			d.logger.Info("the replay can be looked at again", "job", id)
		case err != nil && store.Classify(err) != batcher.Transient:
			return JobView{}, deadError(err)
		case err != nil && !away:
			away = true
			d.logger.Error("the replay goes on, but cannot be looked at", "job", id, "error", err)
		}
		select {
		case <-ctx.Done():
			return JobView{}, fmt.Errorf("the replay goes on without this command, see `couponctl jobs show %s`: %w", id, ctx.Err())
		case <-ticker.C:
		}
	}
}
