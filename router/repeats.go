package router

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"couponlease/handlers"
	"couponlease/internal/coupon"
	"couponlease/internal/outbox"
)

// Memory knows, as well as it can, which requests came in before. It may forget, and
// it may be wrong.
type Memory interface {
	Seen(ctx context.Context, key string) bool
}

// Answers gives what a command was answered, nil when it was not carried out yet. It
// takes no locks.
type Answers interface {
	Answer(ctx context.Context, key string) (*coupon.Answer, error)
}

// RepeatsConfig is what Repeats consist of.
type RepeatsConfig struct {
	Memory  Memory
	Answers Answers
	// Replies sends answers with the lease tokens that belong in them, or gives an error:
	// then the engine answers, and the replica that publishes it may have the key.
	Replies outbox.Publisher
	// ID gives the id of a message.
	ID     func() string
	Logger *slog.Logger
}

// Repeats answer what tills ask a second time, as they do when an answer is late,
// from what they were answered the first time. No lock of the coupon is taken for
// that, and no transaction waits. What the memory does not know, or what was not
// answered yet, is left to the engine, whose answer would be the same: the memory
// decides about the way of an answer, and not about the answer.
type Repeats struct {
	config   RepeatsConfig
	answered atomic.Int64
}

// NewRepeats makes Repeats; the fields of the configuration are all needed.
func NewRepeats(cfg RepeatsConfig) *Repeats { return &Repeats{config: cfg} }

// Answered is how many requests were answered without the engine.
func (r *Repeats) Answered() int64 { return r.answered.Load() }

// Limits on the way past the engine. When it takes longer, the engine is faster.
const (
	lookupMost = 500 * time.Millisecond
	replyMost  = 5 * time.Second
)

// answer gives the kept answer to a till's request once the asker has been told; not
// ok means that the engine has to be asked. Without Repeats it always does.
func (r *Repeats) answer(ctx context.Context, requests []coupon.Request) (outcome coupon.Outcome, ok bool) {
	if r == nil || len(requests) != 1 {
		return outcome, false
	}
	request := &requests[0]
	if _, isTill := request.Fact.(coupon.RedeemRequested); !isTill || !r.config.Memory.Seen(ctx, request.Key) {
		return outcome, false
	}
	known, err := r.lookUp(ctx, request.Key)
	if err == nil && (known == nil || known.Hash != request.Hash) {
		return outcome, false
	}
	if err == nil && request.Reply != nil {
		err = r.reply(ctx, request, known)
	}
	if err != nil {
		r.config.Logger.Warn("a repeated request is left to the engine", "key", request.Key, "error", err)
		return outcome, false
	}
	r.answered.Add(1)
	return coupon.Outcome{Status: coupon.Repeated, Code: coupon.Duplicate, First: known.Code, Answer: known}, true
}

func (r *Repeats) lookUp(ctx context.Context, key string) (*coupon.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupMost)
	defer cancel()
	known, err := r.config.Answers.Answer(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("look up the first answer: %w", err)
	}
	return known, nil
}

func (r *Repeats) reply(ctx context.Context, request *coupon.Request, known *coupon.Answer) error {
	now := time.Now()
	message, err := handlers.ReplyMessage(&coupon.Reply{
		ID: r.config.ID(), To: *request.Reply, Answer: known, Trace: request.Trace, At: now,
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, replyMost)
	defer cancel()
	if err := r.config.Replies.PublishBatch(ctx, []outbox.Message{message}, now)[0]; err != nil {
		return fmt.Errorf("send the first answer again: %w", err)
	}
	return nil
}
