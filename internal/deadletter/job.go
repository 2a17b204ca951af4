package deadletter

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// JobStatus is how far a replay has got.
type JobStatus string

// The statuses of jobs.
const (
	Running JobStatus = "RUNNING"
	Paused  JobStatus = "PAUSED"
	Done    JobStatus = "DONE"
	Aborted JobStatus = "ABORTED"
)

// Why jobs are paused.
const (
	PausedForCanary   = "CANARY"
	PausedForFailures = "FAILURES"
	PausedByOperator  = "OPERATOR"
)

// Limits of a replay.
const (
	DefaultRate = 50
	MaxRate     = 100_000
)

// Plan is how letters are to be replayed.
type Plan struct {
	Filter Filter
	// Rate is how many letters are sent in a second, at most.
	Rate int64
	// Canary is how many go first, before the job pauses for a look; 0: no pause.
	Canary int64
	// StopOnFailures pauses the job when so many have failed again; 0: never.
	StopOnFailures int64
	// Max bounds the snapshot; 0: no bound.
	Max int64
	// Force takes resolved letters, too.
	Force bool
}

// Job is a replay.
type Job struct {
	ID     string
	Status JobStatus
	// PausedFor is why, while Status is Paused.
	PausedFor string
	Plan      Plan
	// Forgiven is how many failures were known when the job was resumed last.
	Forgiven int64
	// Total letters, of which Sent are on their way or back, of which Settled have an
	// outcome, of which Failed failed again.
	Total, Sent, Settled, Failed int64
	// PaidUntil is up to which moment the rate has been used.
	PaidUntil        time.Time
	Actor, Reason    string
	Created, Updated time.Time
}

// Over says that nothing more will be sent.
func (j *Job) Over() bool { return j.Status == Done || j.Status == Aborted }

// Item is one letter of a job.
type Item struct {
	// Job is empty for no item. Positions count from 1.
	Job      string
	Position int64
}

// String is the form in which it travels with the message; "" for no item.
func (i Item) String() string {
	if i.Job == "" {
		return ""
	}
	return i.Job + "/" + strconv.FormatInt(i.Position, 10)
}

// ParseItem reads what String gives. What it cannot read is no item.
func ParseItem(text string) Item {
	job, position, _ := strings.Cut(text, "/")
	n, err := strconv.ParseInt(position, 10, 64)
	if err != nil || n < 1 || !isUUID(job) {
		return Item{}
	}
	return Item{job, n}
}

func isUUID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i, c := range text {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		hex := c >= '0' && c <= '9' || c >= 'a' && c <= 'f'
		if dash != (c == '-') || !dash && !hex {
			return false
		}
	}
	return true
}

// MaxStep is how many letters one step sends at most.
const MaxStep = 256

// burst is how much unused rate a job may catch up on.
const burst = time.Second

// Step says how many letters may be sent now, and changes the job to how it is when
// that is done. It is pure, and runs in the transaction that holds the job.
func (j *Job) Step(now time.Time) (send int64) {
	switch {
	case j.Status != Running:
		return 0
	case j.Plan.StopOnFailures > 0 && j.Failed-j.Forgiven >= j.Plan.StopOnFailures:
		j.Status, j.PausedFor = Paused, PausedForFailures
		return 0
	case j.Plan.Canary > 0 && j.Sent >= j.Plan.Canary && j.Sent < j.Total:
		if j.Settled >= j.Sent {
			j.Status, j.PausedFor = Paused, PausedForCanary
		}
		return 0
	}
	if earliest := now.Add(-burst); j.PaidUntil.Before(earliest) {
		j.PaidUntil = earliest
	}
	each := time.Second / time.Duration(max(1, j.Plan.Rate))
	send = min(MaxStep, j.Total-j.Sent, int64(now.Sub(j.PaidUntil)/each))
	if j.Plan.Canary > 0 {
		send = min(send, j.Plan.Canary-j.Sent)
	}
	return max(0, send)
}

// SentSome notes that letters were sent.
func (j *Job) SentSome(n int64) {
	j.Sent += n
	j.PaidUntil = j.PaidUntil.Add(time.Duration(n) * time.Second / time.Duration(max(1, j.Plan.Rate)))
}

// Pause stops sending. Letters that are on their way still get their outcome.
func (j *Job) Pause() error {
	if j.Status != Running {
		return fmt.Errorf("replay %s is %s, and only a running one can be paused: %w", j.ID, j.Status, ErrConflict)
	}
	j.Status, j.PausedFor = Paused, PausedByOperator
	return nil
}

// Resume goes on, and forgives the failures so far. A canary is over then.
func (j *Job) Resume() error {
	if j.Status != Paused {
		return fmt.Errorf("replay %s is %s, and only a paused one can be resumed: %w", j.ID, j.Status, ErrConflict)
	}
	j.Status, j.PausedFor, j.Forgiven, j.Plan.Canary = Running, "", j.Failed, 0
	return nil
}

// Abort ends a job before its end.
func (j *Job) Abort() error {
	if j.Over() {
		return fmt.Errorf("replay %s is %s already: %w", j.ID, j.Status, ErrConflict)
	}
	j.Status, j.PausedFor = Aborted, ""
	return nil
}
