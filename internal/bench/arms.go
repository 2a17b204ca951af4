package main

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/fleet"
	"couponlease/internal/store"
)

// setupLimit bounds everything that is not measured.
const setupLimit = 10 * time.Minute

// Names of the arms.
const (
	armStock1   = "stock-1"
	armStock16  = "stock-16"
	armOurs     = "ours"
	armDatabase = "database-only"
	armBroker   = "broker-only"
)

// arm is one way to do the same work.
type arm struct {
	name, what string
	// guess is the rate, in messages a second, that the first round starts from.
	guess   float64
	measure func(testing.TB, *job) Measurement
	// daemon says that the arm runs coupond.
	daemon bool
}

// job is the work for one arm in one round.
type job struct {
	binary string
	// messages is how many to measure; warm is how many are answered before.
	messages, warm int
	// coupons are in the wallets when the measurement begins.
	coupons int
	mix     bool
	seed    uint64
	// control also plants faults, at the end, and wants them found.
	control bool
}

func arms() []arm {
	const perQueue = 16
	return []arm{
		{
			name: armStock1, guess: 200, daemon: true, measure: product("--transport=stock", "--subscriptions=1", "--batch=1",
				"--writers=1"),
			what: "watermill-amqp's subscriber, 1 subscription per queue, 1 writer, one transaction per message",
		}, {
			name: armStock16, guess: 500, daemon: true, measure: product("--transport=stock",
				"--subscriptions="+strconv.Itoa(perQueue), "--batch=1", "--writers="+strconv.Itoa(perQueue)),
			what: fmt.Sprintf("the same, %d subscriptions per queue, %d writers on as many connections", perQueue, perQueue),
		}, {
			name: armOurs, guess: 4000, daemon: true, measure: product("--transport=windowed", "--batch=256", "--writers=2"),
			what: "windowed subscriber, batches of up to 256, 2 writers",
		}, {
			name: armDatabase, guess: 5000, measure: databaseOnly,
			what: "requests already read, submitted in this process: batches of up to 256, 2 writers, " +
				"outbox rows written and left; no broker",
		}, {
			name: armBroker, guess: 10000, measure: brokerOnly,
			what: "windowed subscriber and router that only acknowledge, one event confirmed per message; no database",
		},
	}
}

// traffic is the work of the job.
func (j *job) traffic() traffic { return newTraffic(j.messages+j.warm, j.coupons, j.mix, j.seed) }

// ground is a space with the traffic's coupons and orders in it, and the means to
// measure there.
type ground struct {
	*fleet.Space
	traffic traffic
	db      *database
	gauge   *gauge
	meter   meter
}

// prepare makes a ground on fresh services, up to the moment before messages are
// published.
func prepare(t testing.TB, ctx context.Context, work traffic) *ground {
	t.Helper()
	g := &ground{Space: fleet.NewSpace(t), traffic: work}
	var err error
	g.db, err = openDatabase(ctx, g.PostgresURL)
	must(t, err, "look at the database")
	t.Cleanup(func() { must(t, g.db.close(ctx), "leave the database") })
	g.gauge, err = openGauge(g.Broker)
	must(t, err, "look at the broker")
	t.Cleanup(func() { must(t, g.gauge.close(), "leave the broker") })
	node, err := readNode(ctx, g.Broker)
	must(t, err, "look at the broker")
	g.meter = meter{db: g.db, rabbitmq: node.Process}
	must(t, bindEvents(ctx, g.Conn), "bind the event queue")
	return g
}

// fill issues the coupons and places the first orders.
func (g *ground) fill(t testing.TB, ctx context.Context) {
	t.Helper()
	g.Import(t, g.traffic.codes)
	placed, err := requests(g.traffic.placed)
	must(t, err, "prepare orders")
	e := newEngine(g.Store, silent)
	_, errs := e.SubmitAll(ctx, placed)
	for i := range errs {
		must(t, errs[i], "place "+placed[i].ID)
	}
	must(t, e.Close(ctx), "close the engine that places orders")
	must(t, g.db.settle(ctx), "bring the tables to rest")
}

// silent announces nothing.
func silent(*coupon.Changes) ([]coupon.OutboxRow, error) { return nil, nil }

// check holds the invariants against everything in the database.
func (m *Measurement) check(ctx context.Context, s *store.Store) {
	violations, _, _, err := fleet.Verify(ctx, s)
	if err != nil {
		m.fault("check invariants: %v", err)
	}
	for _, violation := range violations {
		m.fault("%s", violation)
	}
}

func must(t testing.TB, err error, what string) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
