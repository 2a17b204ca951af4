package main

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"couponlease/internal/fleet"
	"couponlease/internal/telemetry"
)

// claiming is how coupond is measured on claims of one campaign.
type claiming struct {
	// redis says whether coupond has one.
	redis bool
	// end says whether there is anything left when the measurement begins.
	end ending
	// facts is the share of orders and payments beside the claims.
	facts float64
	args  []string
}

// ending is what has become of a campaign before the measurement.
type ending int

const (
	// open: every claim is accepted.
	open ending = iota
	// soldOut: every claim is refused.
	soldOut
	// soldOutAndLost: and Redis knows only what the books tell.
	soldOutAndLost
)

// soldBefore is how many coupons a campaign had that is sold out.
const soldBefore = 200

// claimGround is a ground with one campaign.
type claimGround struct {
	*ground
	args []string
	// accepted is how many claims get a coupon in all, claims how many are measured.
	accepted, claims int
	// left asks Redis what there is left; nil without Redis.
	left func() int
	// lose has Redis forget what it knows.
	lose func()
}

func (c claiming) measure(t testing.TB, j *job) Measurement {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), drainLimit)
	defer cancel()
	g := c.prepare(t, ctx, j)
	m := c.run(t, ctx, j, g)
	g.judge(t, ctx, &m)
	if j.control && len(m.Faults) == 0 {
		g.oversell(t, ctx, g.accepted)
	}
	return m
}

// prepare makes the ground, up to the moment before coupond is started on full queues.
func (c claiming) prepare(t testing.TB, ctx context.Context, j *job) *claimGround {
	t.Helper()
	n := j.messages + j.warm
	var work traffic
	if facts := int(c.facts * float64(n)); facts > 0 {
		work = newTraffic(facts, couponsFor(facts), false, j.seed)
	}
	g := &claimGround{ground: prepare(t, ctx, work), claims: n - work.distinct}
	g.args = append(slices.Clone(c.args), "--redis-url=", "--log-level=warn")
	if c.redis {
		client, url, prefix := g.openRedis(t, ctx, 1)
		g.args = append(slices.Clone(c.args), "--redis-url="+url, "--redis-prefix="+prefix, "--log-level=warn")
		g.left = func() int { return int(left(t, ctx, url, prefix)) }
		g.lose = func() {
			keys, err := client.Keys(ctx, prefix+"claim:*").Result()
			must(t, err, "list what Redis knows")
			must(t, client.Del(ctx, keys...).Err(), "have Redis forget")
		}
	}
	if work.distinct > 0 {
		g.fill(t, ctx)
	}
	g.accepted = g.claims
	if c.end != open {
		g.accepted = soldBefore
	}
	g.define(t, ctx, g.accepted)
	if c.end != open {
		g.sellOut(t, ctx, j)
	}
	if c.end == soldOutAndLost {
		g.lose()
	}
	g.traffic.messages = append(g.traffic.messages, claimMessages("claim", g.claims)...)
	g.Publish(t, g.traffic.messages)
	must(t, g.db.settle(ctx), "bring the tables to rest")
	return g
}

// sellOut has a coupond of its own hand out everything that there is.
func (g *claimGround) sellOut(t testing.TB, ctx context.Context, j *job) {
	t.Helper()
	g.traffic.messages = claimMessages("early", soldBefore)
	g.Publish(t, g.traffic.messages)
	p := fleet.Start(t, j.binary, g.Space, g.args...)
	g.await(t, p, nearInterval, "the sale", func() bool { return settled(p) >= soldBefore })
	g.await(t, p, nearInterval, "the events of the sale", func() bool {
		empty, err := g.db.outboxEmpty(ctx)
		must(t, err, "watch the outbox")
		return empty
	})
	g.end(t, p)
	g.traffic.messages = nil
	// Nobody is to be told of the sale again.
	sold := depthOfEvents(t, g.gauge, soldBefore+1)
	collect(t, g.Conn, sold)
}

// end stops coupond and gives its complaint, if it has one.
func (g *ground) end(t testing.TB, p *fleet.Process) (complaint string) {
	t.Helper()
	p.Signal(t, syscall.SIGTERM)
	if code := p.Wait(t, time.Minute); code != 0 {
		return fmt.Sprintf("coupond ended with code %d: %s", code, p.Log())
	}
	return ""
}

// run has coupond drain the queues.
func (c claiming) run(t testing.TB, ctx context.Context, j *job, g *claimGround) Measurement {
	t.Helper()
	since, err := g.Store.Ping(ctx)
	must(t, err, "ask for the time")
	before, err := g.db.asked(ctx)
	must(t, err, "count statements")
	p := fleet.Start(t, j.binary, g.Space, g.args...)
	g.meter.worker = p.PID()
	m := g.drain(t, ctx, j, p)
	m.PeakMemory, err = peakMemory(p.PID())
	must(t, err, "measure coupond")
	committed, err := p.Metric(telemetry.RequestsCommitted)
	must(t, err, "ask coupond")
	if c.redis {
		past, err := p.Metric(telemetry.ClaimsBypassed)
		must(t, err, "ask coupond")
		m.Bypassed = past / float64(g.claims)
	}
	if complaint := g.end(t, p); complaint != "" {
		m.fault("%s", complaint)
	}
	after, err := g.db.asked(ctx)
	must(t, err, "count statements")
	m.count(before, after, len(g.traffic.messages))
	told := 1 // that the campaign is sold out
	if c.end != open {
		told = g.claims
		if committed != 0 {
			m.fault("the engine was asked %.0f times about a campaign that is sold out", committed)
		}
	}
	if c.end == soldOut && m.Reads > readsAllowed {
		m.fault("%.4f reads of what claims have written for each claim on a campaign that is sold out", m.Reads)
	}
	g.leftovers(t, &m)
	g.announced(t, ctx, &m, since, told)
	return m
}

// readsAllowed is what the work in the background of coupond may read of what claims have
// written, for each claim that it refuses.
const readsAllowed = 0.02

// asked is what a database has been asked for, by its own statistics.
type asked struct {
	// transactions are all of them; reads are of the tables that claims write, and writes
	// are rows there.
	transactions, reads, writes float64
}

// asked counts what was asked for until now. Sessions report theirs when they end, or
// within a second.
func (d *database) asked(ctx context.Context) (a asked, err error) {
	if a.transactions, err = d.commits(ctx); err != nil {
		return a, err
	}
	err = d.conn.QueryRow(ctx, `select sum(coalesce(seq_scan, 0) + coalesce(idx_scan, 0))::float8,
			sum(n_tup_ins + n_tup_upd + n_tup_del)::float8
		from pg_stat_user_tables where schemaname = current_schema()
			and relname in ('coupon_template', 'user_coupon', 'coupon_command', 'claim_counter', 'coupon_operation', 'person_alias')`,
	).Scan(&a.reads, &a.writes)
	if err != nil {
		return a, fmt.Errorf("count reads and writes: %w", err)
	}
	return a, nil
}

// count notes what the database was asked for, for each of so many messages.
func (m *Measurement) count(before, after asked, n int) {
	each := 1 / float64(n)
	m.Commits = each * (after.transactions - before.transactions)
	m.Reads = each * (after.reads - before.reads)
	m.Writes = each * (after.writes - before.writes)
}

// judge holds the end against what was sent.
func (g *claimGround) judge(t testing.TB, ctx context.Context, m *Measurement) {
	t.Helper()
	b, err := g.db.book(ctx, ourBook)
	must(t, err, "count")
	if g.left != nil {
		b.Left = g.left()
	}
	m.note(b, g.accepted)
	if m.HOT, err = g.db.hotShare(ctx); err != nil {
		t.Fatalf("count updates: %v", err)
	}
	answered, err := g.db.answered(ctx)
	must(t, err, "count answers")
	if want := g.traffic.distinct + len(g.traffic.placed); answered != want {
		m.fault("%d facts answered instead of %d", answered, want)
	}
	m.check(ctx, g.Store)
}
