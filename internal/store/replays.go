package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"couponlease/internal/coupon"
	"couponlease/internal/deadletter"
)

var _ deadletter.Jobs = (*Store)(nil)

// maxRunningReplays bounds how many jobs are looked up at once.
const maxRunningReplays = 100

// StartReplay takes a snapshot of letters and makes it a job that runs. Letters that
// another job has are left to it; if they were named one by one that is a
// deadletter.ErrConflict, and so is a snapshot without any letter.
func (s *Store) StartReplay(ctx context.Context, id string, plan deadletter.Plan, by deadletter.Decision) (
	deadletter.Job, error,
) {
	sel, err := selectLetters(plan.Filter)
	if err != nil {
		return deadletter.Job{}, err
	}
	from := []deadletter.Status{deadletter.New}
	if plan.Force {
		from = append(from, deadletter.Resolved)
	}
	// Whatever is filed from now on is not part of the snapshot.
	cutoff, err := s.Now(ctx)
	if err != nil {
		return deadletter.Job{}, err
	}
	err = s.alone(ctx, func(conn *pgxpool.Conn) error {
		count, err := s.walk(ctx, conn, "take a snapshot of dead letters", plan.Max,
			func(after *string, done, limit int64) (string, []any) {
				return lettersReserveSQL, []any{after, sel.filter, sel.ids, limit, statusTexts(from), cutoff, id, done}
			}, scanReserved)
		if err != nil {
			return err
		}
		if err := s.allOf(ctx, conn, plan.Filter, count); err != nil {
			return err
		}
		if count == 0 {
			return fmt.Errorf("no dead letter is there to be replayed: %w", deadletter.ErrConflict)
		}
		return s.insertReplay(ctx, conn, id, plan, count, by)
	})
	if err != nil {
		return deadletter.Job{}, fmt.Errorf("start a replay: %w", err)
	}
	return s.Replay(ctx, id)
}

func scanReserved(row scanTarget) (letters int64, last string, err error) {
	err = row.Scan(&letters, toText{&last})
	return letters, last, err
}

func (s *Store) insertReplay(
	ctx context.Context, conn *pgxpool.Conn, id string, plan deadletter.Plan, total int64, by deadletter.Decision,
) error {
	filter, err := json.Marshal(plan.Filter)
	if err != nil {
		return fmt.Errorf("encode the filter of a replay: %w", err)
	}
	facts, _ := sheetOf(plan.Filter)
	facts.Job, facts.Rate, facts.Canary = id, plan.Rate, plan.Canary
	facts.Stop, facts.Force = plan.StopOnFailures, plan.Force
	t := &trip{}
	t.exec("insert replay", replayInsertSQL, id, string(filter), plan.Rate, plan.Canary, plan.StopOnFailures, total,
		by.Actor, by.Reason)
	if err := auditOf(t, by, "ReplayDeadLetters", id, total, facts); err != nil {
		return err
	}
	return t.send(ctx, s, conn)
}

// Replays lists jobs that were started before the one with an id, or all for "", newest
// first.
func (s *Store) Replays(ctx context.Context, before string, limit int) ([]deadletter.Job, error) {
	var jobs []deadletter.Job
	if err := s.each(ctx, replayJobsSQL, list(&jobs, scanJob), idOrNull(before), nil, limit); err != nil {
		return nil, fmt.Errorf("list replays: %w", err)
	}
	return jobs, nil
}

// Replay gives a job. No such job is deadletter.ErrNotFound.
func (s *Store) Replay(ctx context.Context, id string) (deadletter.Job, error) {
	var jobs []deadletter.Job
	if err := s.each(ctx, replayJobsSQL, list(&jobs, scanJob), nil, id, 1); err != nil {
		return deadletter.Job{}, fmt.Errorf("read replay %s: %w", id, err)
	}
	if len(jobs) == 0 {
		return deadletter.Job{}, fmt.Errorf("replay %s: %w", id, deadletter.ErrNotFound)
	}
	return jobs[0], nil
}

// RunningReplays implements deadletter.Jobs.
func (s *Store) RunningReplays(ctx context.Context) (ids []string, err error) {
	err = s.each(ctx, replaysRunningSQL, list(&ids, func(row scanTarget) (id string, err error) {
		err = row.Scan(toText{&id})
		return id, err
	}), maxRunningReplays)
	if err != nil {
		return nil, fmt.Errorf("look for running replays: %w", err)
	}
	return ids, nil
}

// StepReplay implements deadletter.Jobs.
func (s *Store) StepReplay(ctx context.Context, id string, publish deadletter.Publish) (
	sent int64, shards []int, err error,
) {
	err = s.alone(ctx, func(conn *pgxpool.Conn) error {
		job, now, found, err := s.hold(ctx, conn, replayHoldSQL, id)
		if err != nil || !found {
			return err
		}
		before := job
		may := job.Step(now)
		letters, err := s.nextLetters(ctx, conn, &job, may)
		if err != nil {
			return err
		}
		sent = int64(len(letters))
		job.SentSome(sent)
		if job.Status == before.Status && sent == 0 {
			return nil
		}
		rows, failed, err := publish(letters)
		if err != nil {
			return err
		}
		for _, row := range rows {
			shards = append(shards, row.Shard)
		}
		return s.saveStep(ctx, conn, &before, &job, now, rows, failed)
	})
	if err != nil {
		return 0, nil, fmt.Errorf("step replay %s: %w", id, err)
	}
	return sent, shards, nil
}

func (s *Store) nextLetters(ctx context.Context, conn *pgxpool.Conn, job *deadletter.Job, most int64) (
	letters []deadletter.ToSend, err error,
) {
	if most == 0 {
		return nil, nil
	}
	t := &trip{}
	t.query("read the next dead letters", replayLettersSQL, list(&letters, func(row scanTarget) (deadletter.ToSend, error) {
		next := deadletter.ToSend{Item: deadletter.Item{Job: job.ID}}
		var headers []byte
		err := row.Scan(append([]any{&next.Item.Position}, letterTargets(&next.Letter, &headers)...)...)
		if err != nil {
			return next, err
		}
		return next, json.Unmarshal(headers, &next.Letter.Headers)
	}), job.ID, job.Sent, most, maxLetterBytes)
	if err := t.send(ctx, s, conn); err != nil {
		return nil, err
	}
	return letters, s.noteAnswers(ctx, conn, pointers(letters, func(next *deadletter.ToSend) *deadletter.Letter {
		return &next.Letter
	}))
}

// saveStep writes what a step did: letters are marked as sent and their messages are in
// the outbox, or neither.
func (s *Store) saveStep(
	ctx context.Context, conn *pgxpool.Conn, before, job *deadletter.Job, now time.Time, rows []coupon.OutboxRow,
	failed []deadletter.Settled,
) error {
	t := &trip{}
	if job.Sent > before.Sent {
		t.exec("mark dead letters as sent", replaySentSQL, job.ID, before.Sent, job.Sent)
	}
	if len(rows) > 0 {
		t.exec("send dead letters", insertOutboxSQL,
			collect[smalls](rows, func(r coupon.OutboxRow) int32 { return int32(r.Shard) }),
			collect[smalls](rows, func(r coupon.OutboxRow) int32 { return int32(r.Messages) }), now,
			collect[texts](rows, func(r coupon.OutboxRow) string { return string(r.Payload) }))
	}
	t.exec("save replay", replaySaveSQL, saveColumns(job)...)
	if len(failed) > 0 {
		t.exec("record letters that cannot be sent", replaysRecordSQL, settledColumns(failed)...)
	}
	return t.send(ctx, s, conn)
}

// ChangeReplay has change decide about a job, and writes what it decided.
func (s *Store) ChangeReplay(
	ctx context.Context, action, id string, change func(*deadletter.Job) error, by deadletter.Decision,
) (deadletter.Job, error) {
	err := s.alone(ctx, func(conn *pgxpool.Conn) error {
		job, _, found, err := s.hold(ctx, conn, replayLockSQL, id)
		switch {
		case err != nil:
			return err
		case !found:
			return fmt.Errorf("replay %s: %w", id, deadletter.ErrNotFound)
		}
		was := job.Status
		if err := change(&job); err != nil {
			return err
		}
		t := &trip{}
		if job.Status == deadletter.Aborted {
			t.exec("give dead letters back", replaySkipSQL, id)
		}
		t.exec("save replay", replaySaveSQL, saveColumns(&job)...)
		facts := sheet{Job: id, Was: was, Is: job.Status}
		if err := auditOf(t, by, action, id, job.Total-job.Sent, facts); err != nil {
			return err
		}
		return t.send(ctx, s, conn)
	})
	if err != nil {
		return deadletter.Job{}, err
	}
	return s.Replay(ctx, id)
}

func (s *Store) hold(ctx context.Context, conn *pgxpool.Conn, statement, id string) (
	job deadletter.Job, now time.Time, found bool, err error,
) {
	t := &trip{}
	t.query("hold replay", statement, func(rows pgx.Rows) (err error) {
		found = true
		job, err = scanHeldJob(rows, &now)
		return err
	}, id)
	return job, now, found, t.send(ctx, s, conn)
}

// saveColumns are the parameters of replay_save.sql.
func saveColumns(j *deadletter.Job) []any {
	return []any{j.ID, string(j.Status), j.PausedFor, j.Plan.Canary, j.Forgiven, j.Sent, j.PaidUntil}
}

// ReplayOutcome is how many letters of a job have an outcome, "" for none yet, and when
// the first of them was sent.
type ReplayOutcome struct {
	Outcome deadletter.Outcome
	Letters int64
	Oldest  time.Time
}

// ReplayOutcomes counts the letters of a job that were sent or skipped, by outcome.
func (s *Store) ReplayOutcomes(ctx context.Context, id string) (outcomes []ReplayOutcome, err error) {
	err = s.each(ctx, replayOutcomesSQL, list(&outcomes, func(row scanTarget) (o ReplayOutcome, err error) {
		err = row.Scan(toText{(*string)(&o.Outcome)}, &o.Letters, toTime{&o.Oldest})
		return o, err
	}), id)
	if err != nil {
		return nil, fmt.Errorf("count outcomes of replay %s: %w", id, err)
	}
	return outcomes, nil
}

// ReplayItem is one letter of a job.
type ReplayItem struct {
	Position      int64
	Letter        string
	Outcome       deadletter.Outcome
	Detail        string
	Sent, Settled time.Time
}

// ReplayItems lists letters of a job behind a position, of one outcome or of all for "".
func (s *Store) ReplayItems(ctx context.Context, id string, after int64, outcome deadletter.Outcome, limit int) (
	items []ReplayItem, err error,
) {
	err = s.each(ctx, replayItemsSQL, list(&items, func(row scanTarget) (i ReplayItem, err error) {
		err = row.Scan(&i.Position, toText{&i.Letter}, toText{(*string)(&i.Outcome)}, &i.Detail, toTime{&i.Sent},
			toTime{&i.Settled})
		return i, err
	}), id, after, string(outcome), limit)
	if err != nil {
		return nil, fmt.Errorf("list letters of replay %s: %w", id, err)
	}
	return slices.Clip(items), nil
}

func jobTargets(j *deadletter.Job, filter *[]byte) []any {
	return []any{
		toText{&j.ID}, toText{(*string)(&j.Status)}, &j.PausedFor, filter, &j.Plan.Rate, &j.Plan.Canary,
		&j.Plan.StopOnFailures, &j.Forgiven, &j.Total, &j.Sent, &j.Settled, &j.Failed, toTime{&j.PaidUntil}, &j.Actor,
		&j.Reason, toTime{&j.Created}, toTime{&j.Updated},
	}
}

func scanJob(row scanTarget) (j deadletter.Job, err error) {
	var filter []byte
	if err := row.Scan(jobTargets(&j, &filter)...); err != nil {
		return j, err
	}
	return j, json.Unmarshal(filter, &j.Plan.Filter)
}

// scanHeldJob reads a job and the time at which it was held.
func scanHeldJob(row scanTarget, now *time.Time) (j deadletter.Job, err error) {
	var filter []byte
	if err := row.Scan(append(jobTargets(&j, &filter), toTime{now})...); err != nil {
		return j, err
	}
	return j, json.Unmarshal(filter, &j.Plan.Filter)
}
