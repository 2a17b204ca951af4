package daemon

import (
	"context"
	"time"

	"couponlease/internal/amqp"
	"couponlease/internal/store"
	"couponlease/internal/telemetry"
)

// leastOverdue is how late a lease may end before it counts as overdue, when the
// sweeper's grace is shorter.
const leastOverdue = time.Minute

// mostReasons bounds how many reasons of dead letters have figures of their own.
const mostReasons = 50

// How often, and how long, it is looked at what waits.
const (
	waitingInterval = time.Minute
	waitingTimeout  = 15 * time.Second
)

// look counts again and again what waits for somebody. What cannot be seen for
// long has no figures.
func (p *parts) look(ctx context.Context) {
	var (
		waiting = newLatest[store.Waiting](waitingInterval)
		queues  = newLatest[[]amqp.QueueState](waitingInterval)
		overdue = max(leastOverdue, 2*p.cfg.SweepGrace)
	)
	p.readWaiting(waiting)
	p.readQueues(queues)
	for ; ctx.Err() == nil; pause(ctx, waitingInterval) {
		once, cancel := context.WithTimeout(ctx, waitingTimeout)
		if w, err := p.workers.Waiting(once, overdue); err == nil {
			waiting.store(w)
		} else if ctx.Err() == nil {
			p.log.Warn("what waits in the database could not be counted", "error", err)
		}
		// That the broker is away is known from elsewhere.
		if states, err := amqp.QueueStates(once, p.publish, []string{amqp.QueueDead, amqp.QueueUndeliverable}); err == nil {
			queues.store(states)
		}
		cancel()
	}
}

func (p *parts) readQueues(queues *latest[[]amqp.QueueState]) {
	for i, name := range []string{telemetry.DeadQueue, telemetry.Undeliverable} {
		p.metrics.Read(name, func(emit telemetry.Emit) {
			if states, _ := queues.load(); states != nil && (*states)[i].Exists && (*states)[i].Known {
				emit(float64((*states)[i].Messages))
			}
		})
	}
}

func (p *parts) readWaiting(waiting *latest[store.Waiting]) {
	read := func(name string, figures func(*store.Waiting, telemetry.Emit)) {
		p.metrics.Read(name, func(emit telemetry.Emit) {
			if w, _ := waiting.load(); w != nil {
				figures(w, emit)
			}
		})
	}
	read(telemetry.InboxRows, func(w *store.Waiting, emit telemetry.Emit) { emit(float64(w.InboxRows)) })
	read(telemetry.InboxOldest, func(w *store.Waiting, emit telemetry.Emit) { emit(age(w.InboxOldest)) })
	read(telemetry.TimersOverdue, func(w *store.Waiting, emit telemetry.Emit) { emit(float64(w.TimersOverdue)) })
	read(telemetry.OldestSnapshot, func(w *store.Waiting, emit telemetry.Emit) { emit(w.OldestSnapshot.Seconds()) })
	read(telemetry.DeadLettersOpen, func(w *store.Waiting, emit telemetry.Emit) {
		for _, letters := range byReason(w.Letters) {
			emit(float64(letters.Letters), letters.Reason)
		}
	})
	read(telemetry.DeadLettersOldest, func(w *store.Waiting, emit telemetry.Emit) {
		for _, letters := range byReason(w.Letters) {
			emit(age(letters.Oldest), letters.Reason)
		}
	})
}

// age is in seconds, 0 for nothing.
func age(since time.Time) float64 {
	if since.IsZero() {
		return 0
	}
	return max(0, time.Since(since).Seconds())
}

// byReason puts the rarest reasons together when there are too many. That nothing is
// open is a figure, too.
func byReason(letters []store.OpenLetters) []store.OpenLetters {
	rest := store.OpenLetters{Reason: telemetry.Other}
	var all []store.OpenLetters
	for _, one := range letters {
		if len(all) < mostReasons && one.Reason != rest.Reason {
			all = append(all, one)
			continue
		}
		rest.Letters += one.Letters
		if rest.Oldest.IsZero() || one.Oldest.Before(rest.Oldest) {
			rest.Oldest = one.Oldest
		}
	}
	return append(all, rest)
}
