package daemon

import (
	"context"
	"strings"

	"couponlease/handlers"
	"couponlease/internal/coupon"
	"couponlease/internal/deadletter"
	"couponlease/internal/telemetry"
	"couponlease/messages"
	"couponlease/router"
)

// observer counts what became of messages.
type observer struct {
	metrics *telemetry.Registry
	known   map[string]bool
}

func newObserver(metrics *telemetry.Registry) observer {
	o := observer{metrics: metrics, known: map[string]bool{}}
	for _, contract := range messages.Contracts() {
		o.known[contract.Type] = true
	}
	return o
}

// expect has series begin at 0 that people watch for their first event.
func (o observer) expect() {
	table := handlers.Table()
	for _, contract := range messages.Contracts() {
		if table[contract.Type] == nil {
			continue
		}
		o.metrics.Expect(telemetry.Consumed, contract.Type, outcomeDead)
		o.metrics.Expect(telemetry.IDReused, contract.Type)
		o.metrics.Expect(telemetry.Redelivered, contract.Queue)
		o.metrics.Expect(telemetry.DelayLag, contract.Queue)
		if contract.Kind == messages.KindCommand {
			o.metrics.Expect(telemetry.Answered, contract.Name, strings.ToLower(string(coupon.Refused)))
		}
	}
	for _, outcome := range []deadletter.Outcome{
		deadletter.Applied, deadletter.Duplicate, deadletter.Stale, deadletter.FailedAgain,
	} {
		o.metrics.Expect(telemetry.Replayed, strings.ToLower(string(outcome)))
	}
}

// Settled implements router.Observer. Types come from outside: those nobody knows
// are counted together.
func (o observer) Settled(s router.Settled) {
	kind := s.Type
	if !o.known[kind] {
		kind = telemetry.Other
	}
	outcome := outcomeOf(s.Verdict.Action, s.Outcomes)
	o.metrics.Add(telemetry.MessagesSettled, 1, s.Queue, kind, string(s.Verdict.Action), s.Verdict.Reason)
	o.metrics.Observe(telemetry.MessageSeconds, s.Took.Seconds(), s.Queue)
	o.metrics.Add(telemetry.Consumed, 1, kind, outcome)
	o.count(s)
	if s.Verdict.Reason == string(coupon.IDReuse) {
		o.metrics.Add(telemetry.IDReused, 1, kind)
	}
	if outcome == outcomeApplied && !s.Happened.IsZero() {
		// Clocks differ: what seems to have happened later has happened now.
		late := s.Began.Add(s.Took).Sub(s.Happened)
		o.metrics.Observe(telemetry.CriticalSeconds, max(0, late.Seconds()), kind)
	}
	for i := range s.Outcomes {
		if answer := s.Outcomes[i].Answer; answer != nil {
			o.metrics.Add(telemetry.Answered, 1, answer.Kind, strings.ToLower(string(s.Outcomes[i].Status)))
		}
	}
}

// count is about the delivery, whatever the message was.
func (o observer) count(s router.Settled) {
	if s.Redelivered {
		o.metrics.Add(telemetry.Redelivered, 1, s.Queue)
	}
	if s.Verdict.Action == router.Ack || s.Verdict.Action == router.Bury {
		o.metrics.Observe(telemetry.DeliveryAttempts, float64(s.Attempt), s.Queue)
	}
	if !s.Due.IsZero() {
		o.metrics.Observe(telemetry.DelayLag, max(0, s.Began.Sub(s.Due).Seconds()), s.Queue)
	}
}

// What messages did.
const (
	outcomeApplied   = "applied"
	outcomeDuplicate = "duplicate"
	outcomeStale     = "stale"
	outcomeConflict  = "conflict"
	outcomeDeferred  = "deferred"
	outcomeReturned  = "returned"
	outcomeDead      = "dead"
)

// outcomeOf is the most that one of a message's requests did.
func outcomeOf(action router.Action, outcomes []coupon.Outcome) string {
	switch action {
	case router.Retry:
		return outcomeDeferred
	case router.Requeue:
		return outcomeReturned
	case router.Bury:
		return outcomeDead
	}
	refused := false
	for i := range outcomes {
		if outcomes[i].Status == coupon.Applied {
			return outcomeApplied
		}
		refused = refused || outcomes[i].Status == coupon.Refused
	}
	most, _ := deadletter.Answered(outcomes)
	switch {
	case refused:
		return outcomeConflict
	case most == deadletter.Duplicate:
		return outcomeDuplicate
	default:
		return outcomeStale
	}
}

// desk counts what came of replays, once it is committed.
type desk struct {
	*deadletter.Desk
	metrics *telemetry.Registry
}

// File implements router.Desk.
func (d desk) File(ctx context.Context, letter deadletter.Letter) error {
	err := d.Desk.File(ctx, letter)
	if err == nil && letter.Replay.Job != "" {
		d.count(deadletter.FailedAgain)
	}
	return err
}

// Record implements router.Desk.
func (d desk) Record(ctx context.Context, settled deadletter.Settled) error {
	err := d.Desk.Record(ctx, settled)
	if err == nil {
		d.count(settled.Outcome)
	}
	return err
}

func (d desk) count(outcome deadletter.Outcome) {
	d.metrics.Add(telemetry.Replayed, 1, strings.ToLower(string(outcome)))
}
