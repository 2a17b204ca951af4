package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"couponlease/internal/config"
	"couponlease/internal/console"
	"couponlease/internal/deadletter"
)

// change gives letters another status.
func (c several) change(
	s *session, from deadletter.Status,
	do func(*console.Database, context.Context, deadletter.Filter, deadletter.Decision) (console.DeadChange, error),
) error {
	by, err := c.decision()
	if err != nil {
		return err
	}
	return s.withSchema(func(d *console.Database) error {
		f, err := c.letters(s, d, from)
		if err != nil {
			return err
		}
		result, err := do(d, s.ctx, f, by)
		if err != nil {
			return err
		}
		return s.write(result)
	})
}

type deadReplay struct {
	deadFilter
	IDs    []string `arg:"" optional:"" name:"id" placeholder:"ID" help:"Ids of dead letters."`
	Reason string   `placeholder:"TEXT" help:"Why, for the audit log; a dry run needs none."`
	Actor  string   `placeholder:"WHO" help:"Who gives the command, for the audit log; user@host if absent."`
	Yes    bool     `help:"Replay all letters that the filter selects; without it they are only counted."`

	DryRun    bool `group:"Looking first" help:"Change nothing, tell for each letter what would come of it."`
	InboxDays int  `group:"Looking first" default:"14" env:"COUPONLEASE_INBOX_RETENTION_DAYS" help:"Days for which the daemons remember messages by id."`

	config.Replies `embed:"" group:"Looking first"`

	Rate           int64 `group:"How to replay" default:"50" help:"Letters a second."`
	Canary         int64 `group:"How to replay" placeholder:"N" help:"Send so many first, then pause until the replay is resumed."`
	StopOnFailures int64 `group:"How to replay" placeholder:"N" help:"Pause when so many letters have failed again."`
	Max            int64 `group:"How to replay" placeholder:"N" help:"Take so many letters at most, the oldest first."`
	Force          bool  `group:"How to replay" help:"Take letters that are resolved already, too. What was applied is not applied twice."`
	Wait           bool  `group:"How to replay" help:"Wait until the replay is over or paused."`
}

func (deadReplay) Help() string {
	return `Takes a snapshot of the letters and has the daemons send them again: same id, same body, attempts counted anew. What was
applied before has no effect. The replay goes on without this command, and survives the end of any daemon. Lease tokens are not
kept, and a letter that had one is not sent: DUPLICATE if it was applied before or its command was answered, else SKIPPED and
new again; its sender has to send it again.

Verdicts of a dry run: WOULD_APPLY, DUPLICATE, STALE, STILL_MALFORMED, NEEDS_SENDER, WOULD_FAIL, OUTSIDE_WINDOW (so old that its
id is not remembered). Outcomes: APPLIED, DUPLICATE, STALE, FAILED_AGAIN, SKIPPED. Exit code 2 when letters failed again or were
skipped, 3 when another replay has the letter or it is resolved already.

  couponctl dead replay --group 5f0c… --dry-run
  couponctl dead replay --group 5f0c… --canary 1 --stop-on-failures 5 --reason "fixed in 1.4.2" --yes --wait
  couponctl dead replay 0199… --reason "fixed in 1.4.2" --wait`
}

func (c deadReplay) Run(s *session) error {
	meant := several{
		decided: decided{why{c.Reason}, c.Actor}, deadFilter: c.deadFilter, IDs: c.IDs, Yes: c.Yes || c.DryRun,
	}
	by, err := meant.decision()
	if err != nil && !c.DryRun {
		return err
	}
	states := []deadletter.Status{deadletter.New}
	if c.Force {
		states = append(states, deadletter.Resolved)
	}
	return s.withSchema(func(d *console.Database) error {
		f, err := meant.letters(s, d, states...)
		switch {
		case err != nil:
			return err
		case c.DryRun:
			return c.dryRun(s, d, f)
		}
		job, err := d.ReplayDead(s.ctx, deadletter.Plan{
			Filter: f, Rate: c.Rate, Canary: c.Canary, StopOnFailures: c.StopOnFailures, Max: c.Max, Force: c.Force,
		}, by)
		if err != nil {
			return err
		}
		if !c.Wait {
			return s.write(job)
		}
		return s.waitFor(d, job.ID)
	})
}

// waitFor waits for the end of a replay, or its pause.
func (s *session) waitFor(d *console.Database, id string) error {
	show, end := s.progress("letters")
	job, err := d.WaitForJob(s.ctx, id, show)
	end()
	if err != nil {
		return err
	}
	if err := s.write(job); err != nil {
		return err
	}
	if job.Failed > 0 || len(job.Skipped) > 0 {
		return errFindings
	}
	return nil
}

// dryRun prints predictions as they come, as JSON one object a line, so that their number
// does not matter.
func (c deadReplay) dryRun(s *session, d *console.Database, f deadletter.Filter) error {
	if c.InboxDays < 1 || c.Max < 0 {
		return console.Usage(errors.New("--inbox-days begins at 1, and --max at 0"))
	}
	if err := c.CheckReplies(); err != nil {
		return console.Usage(err)
	}
	out := bufio.NewWriter(s.stdout)
	write := func(result console.Result) error {
		if s.format == console.FormatJSON {
			return json.NewEncoder(out).Encode(result)
		}
		return result.WriteText(out)
	}
	forecast, err := d.PredictReplay(s.ctx, console.DryRun{
		Filter: f, Max: c.Max, InboxDays: c.InboxDays, ReplyQueues: c.ReplyPrefixes(),
	}, func(p console.Prediction) error { return write(p) })
	if err == nil {
		err = write(forecast)
	}
	return errors.Join(err, out.Flush())
}

type jobsCommand struct {
	List   jobsList   `cmd:"" help:"List replays, newest first."`
	Show   jobsShow   `cmd:"" help:"Print a replay with its outcomes."`
	Pause  jobsPause  `cmd:"" help:"Stop sending letters."`
	Resume jobsResume `cmd:"" help:"Go on with a replay that is paused."`
	Abort  jobsAbort  `cmd:"" help:"End a replay; letters without an outcome can be replayed anew."`
}

type jobsList struct {
	Limit  int    `default:"50" help:"Replays of a page."`
	Cursor string `placeholder:"ID" help:"The page behind this replay, as the page before says."`
}

func (c jobsList) Run(s *session) error {
	if c.Cursor != "" {
		if err := checkJob(c.Cursor); err != nil {
			return err
		}
	}
	return s.withSchema(func(d *console.Database) error {
		page, err := d.Jobs(s.ctx, c.Cursor, c.Limit)
		if err != nil {
			return err
		}
		return s.write(page)
	})
}

func checkJob(id string) error {
	if deadletter.ParseItem(id+"/1").Job == "" {
		return console.Usage(fmt.Errorf("%q is not the id of a replay: `couponctl jobs list` shows them", id))
	}
	return nil
}

type jobsShow struct {
	ID   string `arg:"" placeholder:"ID" help:"Id of the replay."`
	Wait bool   `help:"Wait until the replay is over or paused; exit code 2 when letters failed again or were skipped."`
}

func (c jobsShow) Run(s *session) error {
	if err := checkJob(c.ID); err != nil {
		return err
	}
	return s.withSchema(func(d *console.Database) error {
		if c.Wait {
			return s.waitFor(d, c.ID)
		}
		job, err := d.Job(s.ctx, c.ID)
		if err != nil {
			return err
		}
		return s.write(job)
	})
}

// jobChange is what an operator does to a replay.
type jobChange struct {
	decided
	ID string `arg:"" placeholder:"ID" help:"Id of the replay."`
}

func (c jobChange) change(s *session, verb console.JobVerb) error {
	by, err := c.decision()
	if err != nil {
		return err
	}
	if err := checkJob(c.ID); err != nil {
		return err
	}
	return s.withSchema(func(d *console.Database) error {
		job, err := d.ChangeJob(s.ctx, c.ID, verb, by)
		if err != nil {
			return err
		}
		return s.write(job)
	})
}

type jobsPause struct{ jobChange }

func (c jobsPause) Run(s *session) error { return c.change(s, console.PauseJob) }

type jobsResume struct{ jobChange }

func (c jobsResume) Run(s *session) error { return c.change(s, console.ResumeJob) }

type jobsAbort struct{ jobChange }

func (c jobsAbort) Run(s *session) error { return c.change(s, console.AbortJob) }
