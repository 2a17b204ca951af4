package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"couponlease/internal/amqp"
	"couponlease/internal/coupon"
	"couponlease/internal/quota"
	"couponlease/internal/testkit"
	"couponlease/messages"
)

// Names of the arms about claims.
const (
	armClaims         = "claims"
	armClaimsStock1   = "claims-stock-1"
	armClaimsStock16  = "claims-stock-16"
	armClaimsDatabase = "claims-database"
	armSoldOut        = "claims-sold-out"
	armSoldOutLoaded  = "claims-sold-out-reloaded"
	armClaimsMix      = "claims-mix"
)

// Goals of the claims on one hot campaign, in claims accepted a second.
const (
	claimsGoal   = 4000
	claimsPublic = 2000 // the figure of the design that is compared with
)

// claimsArms ask how fast one campaign can be claimed.
func claimsArms() []arm {
	batched := []string{"--transport=windowed", "--batch=256", "--writers=2"}
	return []arm{
		{
			name: armClaimsStock1, guess: 200, measure: seedConsumers(1),
			what: "watermill-amqp's subscriber, 1 subscription; two Lua scripts, then one transaction for each message, in " +
				"tables of its own that take fewer and shorter rows than ours; the product's outbox and relay",
		}, {
			name: armClaimsStock16, guess: 800, measure: seedConsumers(16),
			what: armClaimsStock1 + " with 16 subscriptions and as many connections",
		}, {
			name: armClaims, guess: 3000, daemon: true, measure: claiming{redis: true, args: batched}.measure,
			what: "one campaign, each claim of another person who may have one, from a full queue through coupond with Redis; " +
				"batches of up to 256, 2 writers; all are accepted",
		}, {
			name: armClaimsDatabase, guess: 3000, daemon: true, measure: claiming{args: batched}.measure,
			what: armClaims + " without Redis",
		}, {
			name: armSoldOut, guess: 6000, daemon: true, measure: claiming{redis: true, end: soldOut, args: batched}.measure,
			what: armClaims + " on a campaign that was sold out before; all are refused",
		}, {
			name: armSoldOutLoaded, guess: 3000, daemon: true,
			measure: claiming{redis: true, end: soldOutAndLost, args: batched}.measure,
			what:    armSoldOut + ", and Redis has lost what it knew since",
		}, {
			name: armClaimsMix, guess: 3000, daemon: true,
			measure: claiming{redis: true, facts: mixedFacts, args: batched}.measure,
			what:    fmt.Sprintf("%s with %.0f %% orders and payments beside them", armClaims, 100*mixedFacts),
		},
	}
}

// mixedFacts is the share of orders and payments in the mixed load.
const mixedFacts = 0.7

// scoreClaims compares the arms about claims.
func (r *Report) scoreClaims() {
	of := func(arm string) map[int]float64 { return byRound(r.Measurements, arm, rate) }
	cost := func(arm string) map[int]float64 { return byRound(r.Measurements, arm, totalCPU) }
	fixed := func(figure float64) map[int]float64 {
		all := map[int]float64{}
		for round := range of(armClaims) {
			all[round] = figure
		}
		return all
	}
	ours := of(armClaims)
	r.add("claims / "+fmt.Sprint(claimsGoal)+" a second", 1, ours, fixed(claimsGoal))
	r.add("claims / "+fmt.Sprint(claimsPublic)+" a second", 2, ours, fixed(claimsPublic))
	r.add("claims / stock-1", 0, ours, of(armClaimsStock1))
	r.add("claims / stock-16", 0, ours, of(armClaimsStock16))
	r.add("claims / database-only", 0, ours, of(armClaimsDatabase))
	r.add("CPU per claim, stock-1 / claims", 0, cost(armClaimsStock1), cost(armClaims))
	r.add("CPU per claim, stock-16 / claims", 0, cost(armClaimsStock16), cost(armClaims))
	r.add("sold-out / claims", 0, of(armSoldOut), ours)
	r.add("sold-out-reloaded / sold-out", 0, of(armSoldOutLoaded), of(armSoldOut))
	r.add("mix / claims", 0, of(armClaimsMix), ours)
}

// printBooks says what was asked of the database, and what is written there at the end.
func (r *Report) printBooks(w io.Writer) {
	fmt.Fprintln(w, "\narm\tCPU µs/message: redis\tdatabase, a message: transactions\treads\trows written\t"+
		"past Redis\tcoupons in the last round\tof\tpersons\tmost of a person")
	for _, a := range r.Arms {
		median := func(figure func(Measurement) float64) float64 {
			return spreadOf(pick(r.Measurements, a.Name, figure)).Median
		}
		fmt.Fprintf(w, "%s\t%s\t%.4f\t%.4f\t%.4f\t%s", a.Name,
			orDash("%.0f", median(func(m Measurement) float64 { return m.CPU[cpuRedis] })),
			median(func(m Measurement) float64 { return m.Commits }),
			median(func(m Measurement) float64 { return m.Reads }), median(func(m Measurement) float64 { return m.Writes }),
			orDash("%.2f", spreadOf(pick(r.Measurements, a.Name, func(m Measurement) float64 { return m.Bypassed })).Most))
		for _, m := range slices.Backward(r.Measurements) {
			if m.Arm == a.Name && m.Book != nil {
				fmt.Fprintf(w, "\t%d\t%d\t%d\t%d", m.Book.Coupons, m.Book.Total, m.Book.Persons, m.Book.Most)
				break
			}
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, "\nreads and rows written are those of the tables that claims write, by PostgreSQL's statistics; "+
		"the transactions of an idle coupond, of its relay and of this program are among them")
}

// The one campaign, and how many of it a person may have.
const (
	hotCampaign = "hot-campaign"
	perPerson   = 1
)

// claimMessages are n claims of the campaign, each of another person.
func claimMessages(who string, n int) []amqp.Publication {
	all := make([]amqp.Publication, n)
	for i := range all {
		key := fmt.Sprintf("%s-%08d", who, i)
		m := messages.ClaimCoupon{
			CommandHead: messages.CommandHead{IdempotencyKey: key, OccurredAt: time.Now().UTC()},
			TemplateID:  hotCampaign, CustomerID: "person-" + key,
		}
		body, err := json.Marshal(m)
		if err != nil {
			panic(fmt.Errorf("encode %s: %w", key, err)) // only texts and times
		}
		all[i] = amqp.Publication{
			Exchange: messages.ExchangeCommands, Key: m.MessageType(), ID: key, Type: m.MessageType(),
			ContentType: "application/json", Timestamp: time.Now().UTC(), Body: body, Mandatory: true,
		}
	}
	return all
}

// openRedis connects to Redis, has its CPU time counted, and gives its URL and what the
// keys of this measurement begin with.
func (g *ground) openRedis(t testing.TB, ctx context.Context, connections int) (client *redis.Client, url, prefix string) {
	t.Helper()
	url, prefix = testkit.Redis(t)
	options, err := redis.ParseURL(url)
	must(t, err, "read the URL of Redis")
	options.PoolSize = connections
	client = redis.NewClient(options)
	t.Cleanup(func() { must(t, client.Close(), "leave Redis") })
	info, err := client.InfoMap(ctx, "server").Result()
	must(t, err, "look at Redis")
	_, err = fmt.Sscan(info["Server"]["process_id"], &g.meter.redis)
	must(t, err, "read the process id of Redis")
	_, err = readProcess(g.meter.redis)
	must(t, err, "Redis has to run on this machine")
	return client, url, prefix
}

// define makes the campaign, of which so many coupons may be claimed.
func (g *ground) define(t testing.TB, ctx context.Context, total int) {
	t.Helper()
	terms := coupon.Unlimited()
	terms.Total, terms.PerPerson = int64(total), perPerson
	e := newEngine(g.Store, silent)
	outcome, err := e.Submit(ctx, coupon.Request{
		Actor: "bench", Fact: coupon.DefineTemplate{Template: coupon.Template{ID: hotCampaign, Terms: terms}},
	})
	must(t, err, "define the campaign")
	must(t, e.Close(ctx), "close the engine that defines the campaign")
	if outcome.Status != coupon.Applied {
		t.Fatalf("define the campaign: %s", outcome.Code)
	}
}

// left asks the product's own stock in Redis.
func left(t testing.TB, ctx context.Context, url, prefix string) int64 {
	t.Helper()
	client, err := quota.Open(url, quota.ClientOptions{Name: "bench"})
	must(t, err, "open Redis")
	defer func() { must(t, client.Close(), "leave Redis") }()
	level, err := quota.NewPool(client, quota.PoolOptions{Prefix: prefix + "claim:"}).Level(ctx, hotCampaign)
	must(t, err, "look at the stock")
	if !level.Loaded {
		t.Fatal("the stock is not in Redis")
	}
	return level.Left
}
