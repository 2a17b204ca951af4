package deadletter

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"couponlease/internal/batcher"
)

// Files writes letters, all or none: see the package comment for what filing is. It is
// safe to file the same failure twice.
type Files interface {
	FileLetters(ctx context.Context, letters []Letter) error
}

// Records writes outcomes of replayed letters, all or none. It is safe to record the
// same outcome twice.
type Records interface {
	RecordReplays(ctx context.Context, settled []Settled) error
}

// Settled is the outcome of one item of a job.
type Settled struct {
	Item      Item
	MessageID string
	Outcome   Outcome
	// Detail is the answer, or why it failed.
	Detail string
	// Answered is when a command was answered first; zero for everything else.
	Answered time.Time
}

// Options shape the work of a Desk.
type Options struct {
	// Batch is how many letters share a transaction; 64 by default.
	Batch int
	// Classify says what an error of the database means for its batch.
	Classify func(error) batcher.Class
	// OnPause tells that the database cannot be reached, and that it can again.
	OnPause func(paused bool)
}

// Desk files letters and records outcomes, those that come together in one transaction.
type Desk struct {
	letters *batcher.Batcher[Letter, struct{}]
	settled *batcher.Batcher[Settled, struct{}]
}

// DefaultBatch is small, because a letter may be large.
const DefaultBatch = 64

// NewDesk makes a desk; Close ends it.
func NewDesk(files Files, records Records, options Options) *Desk {
	if options.Batch == 0 {
		options.Batch = DefaultBatch
	}
	return &Desk{
		letters: batcher.New(func(ctx context.Context, letters []Letter) ([]struct{}, error) {
			return make([]struct{}, len(letters)), files.FileLetters(ctx, letters)
		}, batcher.Options[Letter]{
			// One writer: two would only wait for each other's letters.
			Limits:   batcher.Limits{Batch: options.Batch, Workers: 1, Queue: 2 * options.Batch},
			Classify: options.Classify, OnPause: options.OnPause,
		}),
		settled: batcher.New(func(ctx context.Context, settled []Settled) ([]struct{}, error) {
			return make([]struct{}, len(settled)), records.RecordReplays(ctx, settled)
		}, batcher.Options[Settled]{Limits: batcher.Limits{Workers: 1}, Classify: options.Classify}),
	}
}

// File returns nil once the letter is committed. After an error nobody knows, and the
// message has to be given back.
func (d *Desk) File(ctx context.Context, letter Letter) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("draw the id of a dead letter: %w", err)
	}
	letter.ID = id.String()
	if _, err := d.letters.Submit(ctx, letter); err != nil {
		return fmt.Errorf("file dead letter %q: %w", letter.MessageID, err)
	}
	return nil
}

// Record returns nil once the outcome is committed.
func (d *Desk) Record(ctx context.Context, settled Settled) error {
	if _, err := d.settled.Submit(ctx, settled); err != nil {
		return fmt.Errorf("record the outcome of replaying %q: %w", settled.MessageID, err)
	}
	return nil
}

// Close finishes what was handed in and takes no more.
func (d *Desk) Close(ctx context.Context) error {
	err := d.letters.Close(ctx)
	if other := d.settled.Close(ctx); err == nil {
		err = other
	}
	return err
}
