package router

import (
	"context"
	"errors"
	"time"

	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
	"couponlease/messages"
)

// Action is what happens to a delivered message.
type Action string

const (
	// Ack: the answer is committed; the broker may forget the message.
	Ack Action = "ACK"
	// Retry: try the message again after a delay.
	Retry Action = "RETRY"
	// Bury: it can never be applied; it goes to the dead letters.
	Bury Action = "BURY"
	// Requeue: nothing was decided, somebody else may try at once.
	Requeue Action = "REQUEUE"
)

// Verdict is the action for one message, and why.
type Verdict struct {
	Action Action
	// Reason is the code that a dead letter carries; for Ack it is the answer.
	Reason string
	// Detail explains the reason to a person. It never holds a secret.
	Detail string
	// Delay is how long a Retry waits.
	Delay time.Duration
}

// Reasons for a dead letter that neither the message nor the core gives.
const (
	ReasonHandlerError = "HANDLER_ERROR"
)

// DefaultTiers are the waits before a message that failed is tried again. Each is
// one delay level of the broker, and so costs it one hop.
func DefaultTiers() []time.Duration {
	return []time.Duration{time.Second, 8 * time.Second, 64 * time.Second, 512 * time.Second}
}

// judge knows how often a message is tried, and how long apart.
type judge struct{ tiers []time.Duration }

// malformed is the verdict on a message that cannot be read. An unknown version
// may become known while replicas are being upgraded, so it is tried again;
// nothing else gets better with time.
func (j judge) malformed(err *messages.Malformed, attempt int) Verdict {
	verdict := Verdict{Action: Bury, Reason: string(err.Reason), Detail: err.Error()}
	if err.Reason == messages.SchemaUnknown {
		return j.again(verdict, attempt)
	}
	return verdict
}

// answered is the verdict on a message whose requests were answered. The worst
// answer counts: a message is only acknowledged when every request of it is
// final.
func (j judge) answered(outcomes []coupon.Outcome, errs []error, attempt int) Verdict {
	verdict := Verdict{Action: Ack, Reason: string(coupon.OK)}
	for i, outcome := range outcomes {
		var failed *batcher.Error
		switch err := errs[i]; {
		case err == nil && outcome.Status == coupon.Dead:
			return Verdict{Action: Bury, Reason: string(outcome.Code), Detail: outcome.Detail}
		case err == nil:
			if verdict.Action == Ack {
				verdict.Reason = string(outcome.Code)
			}
		case errors.Is(err, batcher.ErrClosed), errors.Is(err, context.Canceled),
			errors.Is(err, context.DeadlineExceeded):
			return Verdict{Action: Requeue, Reason: "STOPPING", Detail: err.Error()}
		case errors.As(err, &failed):
			verdict = j.again(Verdict{Reason: ReasonHandlerError, Detail: failed.Error()}, attempt)
		default:
			verdict = j.again(Verdict{Reason: ReasonHandlerError, Detail: err.Error()}, attempt)
		}
	}
	return verdict
}

// again retries while tiers are left, and buries then. attempt counts from 1.
func (j judge) again(verdict Verdict, attempt int) Verdict {
	if attempt > len(j.tiers) {
		verdict.Action = Bury
		return verdict
	}
	verdict.Action, verdict.Delay = Retry, j.tiers[attempt-1]
	return verdict
}
