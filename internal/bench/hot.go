package main

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"couponlease/handlers"
	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
	"couponlease/internal/engine"
	"couponlease/internal/fleet"
	"couponlease/internal/store"
	"couponlease/internal/testkit"
)

// Names of the arms about hot coupons.
const (
	armSpread       = "spread"
	armHotEach      = "hot-1-each"
	armCyclesSpread = "cycles-spread"
	armCyclesEach   = "cycles-1-each"
)

func armHot(coupons int) string    { return fmt.Sprintf("hot-%d", coupons) }
func armCycles(coupons int) string { return fmt.Sprintf("cycles-%d", coupons) }

// heats are how many coupons share all the traffic.
var heats = []int{1, 10, 100}

// hotArms ask what becomes of commands that are all about a few coupons.
func hotArms() []arm {
	batched := []string{"--transport=windowed", "--batch=256", "--writers=2"}
	all := []arm{{
		name: armSpread, guess: 3000, daemon: true, measure: hotProduct(spreadOver, batched...),
		what: fmt.Sprintf("RenewLease of %d coupons in turn, from a full queue through coupond; windowed subscriber, "+
			"batches of up to 256, 2 writers", spreadOver),
	}}
	for _, n := range heats {
		all = append(all, arm{
			name: armHot(n), guess: 3000, daemon: true, measure: hotProduct(n, batched...),
			what: fmt.Sprintf("%s with all commands on %d", armSpread, n),
		})
	}
	all = append(all, arm{
		name: armHotEach, guess: 300, daemon: true,
		measure: hotProduct(1, "--transport=windowed", "--batch=1", "--writers=2"),
		what:    armHot(1) + " with one transaction per command",
	}, arm{
		name: armCyclesSpread, guess: 4000, measure: hotEngine(spreadOver, batchSize),
		what: fmt.Sprintf("lock, release, lock, redeem, reverse on each of %d coupons in turn, submitted in this process; "+
			"batches of up to 256, 1 writer, because their order matters; no broker", spreadOver),
	})
	for _, n := range heats {
		all = append(all, arm{
			name: armCycles(n), guess: 4000, measure: hotEngine(n, batchSize),
			what: fmt.Sprintf("%s with all commands on %d", armCyclesSpread, n),
		})
	}
	return append(all, arm{
		name: armCyclesEach, guess: 400, measure: hotEngine(1, 1), what: armCycles(1) + " with one transaction per command",
	})
}

// hotScores are the ratios of the arms about hot coupons.
func hotScores() (scores []comparison) {
	for _, n := range heats {
		scores = append(scores, comparison{over: armHot(n), under: armSpread})
	}
	scores = append(scores, comparison{over: armHot(1), under: armHotEach})
	for _, n := range heats {
		scores = append(scores, comparison{over: armCycles(n), under: armCyclesSpread})
	}
	return append(scores, comparison{over: armCycles(1), under: armCyclesEach})
}

// hotProduct measures coupond on a queue full of renewals of so many leases.
func hotProduct(coupons int, args ...string) func(testing.TB, *job) Measurement {
	return func(t testing.TB, j *job) Measurement {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), drainLimit)
		defer cancel()
		g := prepare(t, ctx, traffic{codes: hotCodes(coupons)})
		g.fill(t, ctx)
		tokens := g.leased(t, ctx, g.traffic.codes)
		g.traffic.messages = renewals(g.traffic.codes, tokens, j.messages+j.warm)
		g.Publish(t, g.traffic.messages)
		must(t, g.db.settle(ctx), "bring the tables to rest")
		since, err := g.Store.Ping(ctx)
		must(t, err, "ask for the time")
		before, err := g.db.commits(ctx)
		must(t, err, "count transactions")

		p := fleet.Start(t, j.binary, g.Space, append(slices.Clone(args), "--log-level=warn")...)
		g.meter.worker = p.PID()
		m := g.drain(t, ctx, j, p)
		m.PeakMemory, err = peakMemory(p.PID())
		must(t, err, "measure coupond")
		p.Signal(t, syscall.SIGTERM)
		if code := p.Wait(t, time.Minute); code != 0 {
			m.fault("coupond ended with code %d: %s", code, p.Log())
		}
		g.leftovers(t, &m)
		g.announced(t, ctx, &m, since, 0)
		g.folded(t, ctx, &m, len(tokens), len(g.traffic.messages), before)
		return m
	}
}

// hotEngine measures the engine on cycles of commands about so many coupons.
func hotEngine(coupons, batch int) func(testing.TB, *job) Measurement {
	return func(t testing.TB, j *job) Measurement {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), drainLimit)
		defer cancel()
		g := prepare(t, ctx, traffic{codes: hotCodes(coupons)})
		g.fill(t, ctx)
		all := cycles(g.traffic.codes, j.messages+j.warm)
		before, err := g.db.commits(ctx)
		must(t, err, "count transactions")
		var m Measurement
		g.apart(t, ctx, foretold(), func(s *store.Store) {
			e := engine.New(s, func(c *coupon.Changes) ([]coupon.OutboxRow, error) { return handlers.Outbox(c, 1) },
				engine.Options{Limits: batcher.Limits{Batch: batch, Workers: 1}, Classify: store.Classify})
			askInOrder(t, ctx, e, all[:j.warm])
			from, err := g.meter.read(ctx)
			must(t, err, "begin to measure")
			askInOrder(t, ctx, e, all[j.warm:])
			to, err := g.meter.read(ctx)
			must(t, err, "end of the measurement")
			m.MeanBatch = e.Stats().MeanSize()
			m.between(from, to, len(all)-j.warm)
			must(t, e.Close(ctx), "close the engine")
		})
		g.folded(t, ctx, &m, 0, len(all), before)
		return m
	}
}

// askInOrder submits commands one behind the other. What they were answered, the rows
// show.
func askInOrder(t testing.TB, ctx context.Context, e *engine.Engine, commands []coupon.Request) {
	t.Helper()
	_, errs := e.SubmitAll(ctx, commands)
	for i := range commands {
		must(t, errs[i], "submit "+commands[i].Key)
	}
}

// written is what the commands have left in the database.
type written struct {
	// answers, ledger and updates count rows: answers to commands, ledger rows but those
	// of issues, and updates of coupons.
	answers, ledger, updates float64
}

// folded notes how many rows the commands have written, and holds it against their
// number; locks were there before, each of which wrote one row of each kind, and so were
// transactions.
func (g *ground) folded(
	t testing.TB, ctx context.Context, m *Measurement, locks, commands int, transactions float64,
) {
	t.Helper()
	var w written
	// Sessions report what they have written when they end; theirs have been told to.
	testkit.Eventually(t, time.Minute, "PostgreSQL has counted what was written", func() (bool, string) {
		var counted float64
		var err error
		w, counted, err = g.db.written(ctx)
		must(t, err, "count rows")
		return counted == w.answers, fmt.Sprintf("%.0f of %.0f answers", counted, w.answers)
	})
	m.fold(w, locks, commands)
	after, err := g.db.commits(ctx)
	must(t, err, "count transactions")
	m.Commits = (after - transactions) / float64(commands)
	m.HOT, err = g.db.hotShare(ctx)
	must(t, err, "count updates")
	m.check(ctx, g.Store)
}

// fold notes rows per command: every command has one answer and one ledger row, and
// those of a batch about one coupon share one update.
func (m *Measurement) fold(w written, locks, commands int) {
	w.answers, w.ledger, w.updates = w.answers-float64(locks), w.ledger-float64(locks), w.updates-float64(locks)
	m.LedgerRows, m.CouponUpdates = w.ledger/float64(commands), w.updates/float64(commands)
	if w.answers != float64(commands) {
		m.fault("%.0f answers to %d commands", w.answers, commands)
	}
	if w.ledger != float64(commands) {
		m.fault("%.0f ledger rows of %d commands", w.ledger, commands)
	}
	if w.updates > w.ledger || w.updates <= 0 {
		m.fault("%.0f updates of coupons by %d commands", w.updates, commands)
	}
}
