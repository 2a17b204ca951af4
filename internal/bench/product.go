package main

import (
	"context"
	"syscall"
	"testing"
	"time"

	"couponlease/internal/fleet"
	"couponlease/internal/telemetry"
)

// drainLimit bounds one measurement.
const drainLimit = 20 * time.Minute

// product measures coupond, started with the given arguments on queues that are
// full: from the end of the warm-up until every message is answered and every
// event confirmed.
func product(args ...string) func(testing.TB, *job) Measurement {
	return func(t testing.TB, j *job) Measurement {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), drainLimit)
		defer cancel()
		g := prepare(t, ctx, j.traffic())
		g.fill(t, ctx)
		g.Publish(t, g.traffic.messages)
		since, err := g.Store.Ping(ctx)
		must(t, err, "ask for the time")
		before, err := g.db.commits(ctx)
		must(t, err, "count transactions")

		p := fleet.Start(t, j.binary, g.Space, append(args, "--log-level=warn")...)
		g.meter.worker = p.PID()
		m := g.drain(t, ctx, j, p)
		m.PeakMemory, err = peakMemory(p.PID())
		must(t, err, "measure coupond")
		p.Signal(t, syscall.SIGTERM)
		if code := p.Wait(t, time.Minute); code != 0 {
			m.fault("coupond ended with code %d: %s", code, p.Log())
		}

		after, err := g.db.commits(ctx)
		must(t, err, "count transactions")
		m.Commits = (after - before) / float64(len(g.traffic.messages))
		m.HOT, err = g.db.hotShare(ctx)
		must(t, err, "count updates")
		events, want := g.verify(t, ctx, &m, since)
		if j.control && len(m.Faults) == 0 {
			g.control(t, ctx, events, want)
		}
		return m
	}
}

// How often the end of a phase is looked for. Each look costs broker and coupond
// something, so that a slow arm is left alone while it has a way to go.
const (
	farInterval  = 50 * time.Millisecond
	nearInterval = 10 * time.Millisecond
)

// drain waits until coupond has done everything and says how long it took.
func (g *ground) drain(t testing.TB, ctx context.Context, j *job, p *fleet.Process) Measurement {
	t.Helper()
	total, queues := len(g.traffic.messages), g.traffic.queues()
	waiting := func() int {
		n, err := g.gauge.depth(queues...)
		must(t, err, "watch the queues")
		return n
	}
	reading := func() reading {
		r, err := g.meter.read(ctx)
		must(t, err, "read the counters")
		return r
	}
	g.await(t, p, farInterval, "the warm-up", func() bool { return total-waiting() >= j.warm })
	warm, from := 0, reading()
	g.await(t, p, nearInterval, "the warm-up", func() bool {
		// What is answered between the two looks counts for nothing.
		from = reading()
		warm = settled(p)
		return warm >= max(j.warm, 1)
	})
	g.await(t, p, farInterval, "the queues", func() bool { return waiting() == 0 })
	g.await(t, p, nearInterval, "the answers", func() bool { return settled(p) >= total })
	to := from
	g.await(t, p, nearInterval, "the outbox", func() bool {
		empty, err := g.db.outboxEmpty(ctx)
		must(t, err, "watch the outbox")
		to = reading()
		return empty
	})
	var m Measurement
	m.between(from, to, total-warm)
	m.MeanBatch = meanBatch(t, p)
	return m
}

// meanBatch is how many requests shared a transaction; 0 when there was none.
func meanBatch(t testing.TB, p *fleet.Process) float64 {
	t.Helper()
	var figures [3]float64
	for i, name := range []string{
		telemetry.RequestsCommitted, telemetry.BatchRequests + "_sum", telemetry.BatchRequests + "_count",
	} {
		var err error
		figures[i], err = p.Metric(name)
		must(t, err, "ask coupond")
		if figures[0] == 0 {
			return 0 // it does not tell of batches before the first
		}
	}
	return figures[1] / figures[2]
}

// settled is how many messages coupond has answered. It does not tell before the
// first.
func settled(p *fleet.Process) int {
	n, err := p.Metric(telemetry.MessagesSettled)
	if err != nil {
		return 0
	}
	return int(n)
}

// await looks again and again whether coupond has come to the end of a phase.
func (g *ground) await(t testing.TB, p *fleet.Process, interval time.Duration, what string, over func() bool) {
	t.Helper()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	late := time.NewTimer(drainLimit)
	defer late.Stop()
	for !over() {
		if p.Exited() {
			t.Fatalf("coupond ended:\n%s", p.Log())
		}
		select {
		case <-ticker.C:
		case <-late.C:
			t.Fatalf("%s: not over within %v\n%s", what, drainLimit, p.Log())
		}
	}
}

// verify holds the end against what was sent: every message answered once, every
// invariant, every event in the queue.
func (g *ground) verify(
	t testing.TB, ctx context.Context, m *Measurement, since time.Time,
) (events collected, want announcements) {
	t.Helper()
	answered, err := g.db.answered(ctx)
	must(t, err, "count answers")
	if want := g.traffic.distinct + len(g.traffic.placed); answered != want {
		m.fault("%d messages answered instead of %d", answered, want)
	}
	g.leftovers(t, m)
	events, want = g.announced(t, ctx, m, since, 0)
	m.check(ctx, g.Store)
	return events, want
}

// leftovers looks for messages that went astray.
func (g *ground) leftovers(t testing.TB, m *Measurement) {
	t.Helper()
	dead, err := g.gauge.depth("coupon-dead", "coupon-undeliverable")
	must(t, err, "count dead letters")
	if dead > 0 {
		m.fault("%d dead letters", dead)
	}
	waiting, err := g.gauge.depth(g.traffic.queues()...)
	must(t, err, "count what was given back")
	if waiting > 0 {
		m.fault("%d messages were not acknowledged", waiting)
	}
}

// announced holds the events in their queue against the ledger since a moment, and as many
// more that no row tells of.
func (g *ground) announced(
	t testing.TB, ctx context.Context, m *Measurement, since time.Time, more int,
) (events collected, want announcements) {
	t.Helper()
	want, err := g.db.announcements(ctx, since)
	must(t, err, "read what should be announced")
	want.others += more
	m.Events = depthOfEvents(t, g.gauge, len(want.operations)+want.others)
	events = collect(t, g.Conn, m.Events)
	for _, fault := range events.compare(want) {
		m.fault("%s", fault)
	}
	return events, want
}
