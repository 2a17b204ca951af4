package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"couponlease/internal/amqp"
	"couponlease/internal/outbox"
	"couponlease/messages"
)

// The design that claims are compared with: two scripts, and its tables.
var (
	//go:embed seed/coupon_quota_deduct.lua
	quotaDeductLua string
	//go:embed seed/receive_limit_check.lua
	limitCheckLua string
	//go:embed seed/schema.sql
	seedSchema string
)

// The statements of one claim. The row that all claims update comes last, so that its lock
// is held for no longer than the commit takes.
const (
	seedCouponSQL = `insert into seed_coupon (coupon_no, template_id, user_id, batch_no, received_time, expire_time)
		values ($1, $2, $3, '', now(), now() + interval '30 days')`
	seedLogSQL      = `insert into seed_flow_log (coupon_no, action_type, operator) values ($1, 1, $2)`
	seedOutboxSQL   = `insert into coupon_outbox (shard, messages, created_at, payload) values (0, 1, now(), $1)`
	seedTemplateSQL = `update seed_template set issued_quantity = issued_quantity + 1
		where id = $1 and issued_quantity < total_quantity`
)

const (
	seedTemplate = 1
	// seedRemembered is for how long a person's claims are counted, in seconds.
	seedRemembered = 24 * 60 * 60
)

// seedConsumer handles claims as that design does, one message and one transaction at a time.
type seedConsumer struct {
	pool         *pgxpool.Pool
	redis        *redis.Client
	deduct       *redis.Script
	limit        *redis.Script
	quotaKey     string
	limitKey     string
	relay        *outbox.Relay
	handled      atomic.Int64
	refused      atomic.Int64
	subscription int
}

// handle answers one message; an error has it come again.
func (c *seedConsumer) handle(msg *message.Message) error {
	ctx := msg.Context()
	envelope, err := messages.Parse(messages.Delivery{
		Body: msg.Payload, MessageID: msg.UUID, Type: msg.Metadata.Get(amqp.MetaType),
		ContentType: msg.Metadata.Get(amqp.MetaContentType), Headers: msg.Metadata,
	})
	if err != nil {
		return fmt.Errorf("read a claim: %w", err)
	}
	claim, err := messages.DecodeClaimCoupon(envelope)
	if err != nil {
		return fmt.Errorf("read a claim: %w", err)
	}
	granted, err := c.receive(ctx, &claim)
	if err != nil {
		return err
	}
	if !granted {
		c.refused.Add(1)
	}
	c.handled.Add(1)
	return nil
}

// receive asks Redis, and then writes, which has the last word.
func (c *seedConsumer) receive(ctx context.Context, claim *messages.ClaimCoupon) (granted bool, err error) {
	allowed, err := c.limit.Run(ctx, c.redis, []string{c.limitKey + claim.CustomerID}, perPerson, seedRemembered).Int()
	if err != nil {
		return false, fmt.Errorf("check the limit: %w", err)
	}
	if allowed != 1 {
		return false, nil
	}
	deducted, err := c.deduct.Run(ctx, c.redis, []string{c.quotaKey}).Int()
	if err != nil {
		return false, fmt.Errorf("deduct from the quota: %w", err)
	}
	if deducted != 1 {
		return false, nil
	}
	err = pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error { return writeSeedCoupon(ctx, tx, claim) })
	var server *pgconn.PgError
	switch {
	case err == nil:
		c.relay.Kick(0)
		return true, nil
	case errors.Is(err, errNoQuota), errors.As(err, &server) && server.ConstraintName == "uk_user_template":
		if err := c.redis.Incr(ctx, c.quotaKey).Err(); err != nil {
			return false, fmt.Errorf("give back to the quota: %w", err)
		}
		return false, nil
	default:
		return false, fmt.Errorf("write a coupon: %w", err)
	}
}

// errNoQuota says that the database knows of nothing left.
var errNoQuota = errors.New("nothing is left")

// writeSeedCoupon writes the coupon, what happened, what to announce, and the count.
func writeSeedCoupon(ctx context.Context, tx pgx.Tx, claim *messages.ClaimCoupon) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	number := id.String()
	row, err := seedEvent(number, claim)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, seedCouponSQL, number, seedTemplate, claim.CustomerID); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, seedLogSQL, number, claim.IdempotencyKey); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, seedOutboxSQL, row); err != nil {
		return err
	}
	counted, err := tx.Exec(ctx, seedTemplateSQL, seedTemplate)
	if err != nil {
		return err
	}
	if counted.RowsAffected() == 0 {
		return errNoQuota
	}
	return nil
}

// seedEvent is the outbox row that tells of a coupon.
func seedEvent(number string, claim *messages.ClaimCoupon) (string, error) {
	now := time.Now().UTC()
	body, properties, err := messages.Encode(number, "", messages.CouponIssued{
		Change: messages.Change{
			CouponID: number, StateVersion: 1, OperationID: number, CausationID: claim.IdempotencyKey, OccurredAt: now,
		},
		State: "AVAILABLE", TemplateID: claim.TemplateID, CustomerID: claim.CustomerID,
	})
	if err != nil {
		return "", err
	}
	row, err := outbox.EncodeRow([]outbox.Message{{
		ID: number, Type: properties.Type, Time: now, Exchange: messages.ExchangeEvents, Key: properties.Type,
		ContentType: properties.ContentType, Headers: properties.Headers(), Body: body,
	}})
	return string(row), err
}

// relayed publishes what an outbox holds.
type relayed struct{ publisher *amqp.Publisher }

// PublishBatch implements outbox.Publisher.
func (r relayed) PublishBatch(ctx context.Context, list []outbox.Message, _ time.Time) []error {
	all := make([]amqp.Publication, len(list))
	for i, m := range list {
		all[i] = amqp.Publication{
			Exchange: m.Exchange, Key: m.Key, ID: m.ID, Type: m.Type, Timestamp: m.Time, ContentType: m.ContentType,
			Headers: m.Headers, Body: m.Body,
		}
	}
	return r.publisher.PublishBatch(ctx, all)
}

// seedConsumers measures the other design with so many subscriptions.
func seedConsumers(subscriptions int) func(testing.TB, *job) Measurement {
	return func(t testing.TB, j *job) Measurement {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), drainLimit)
		defer cancel()
		n := j.messages + j.warm
		g := prepare(t, ctx, traffic{messages: claimMessages("claim", n)})
		_, err := g.db.conn.Exec(ctx, seedSchema)
		must(t, err, "make the tables")
		_, err = g.db.conn.Exec(ctx, `insert into seed_template (id, template_no, total_quantity) values ($1, $2, $3)`,
			seedTemplate, hotCampaign, n)
		must(t, err, "define the campaign")
		c := g.seedConsumer(t, ctx, subscriptions)
		must(t, c.redis.Set(ctx, c.quotaKey, n, 0).Err(), "fill the quota")
		g.Publish(t, g.traffic.messages)
		must(t, g.db.settle(ctx), "bring the tables to rest")
		before, err := g.db.commits(ctx)
		must(t, err, "count transactions")

		m := g.drainSeed(t, ctx, j, c)
		c.pool.Close() // and PostgreSQL knows of all transactions
		after, err := g.db.commits(ctx)
		must(t, err, "count transactions")
		m.Commits = (after - before) / float64(n)
		g.judgeSeed(t, ctx, &m, c)
		return m
	}
}

func (g *ground) seedConsumer(t testing.TB, ctx context.Context, subscriptions int) *seedConsumer {
	t.Helper()
	config, err := pgxpool.ParseConfig(g.PostgresURL)
	must(t, err, "read the URL of the database")
	config.MaxConns, config.MinConns = int32(subscriptions), int32(subscriptions)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	must(t, err, "connect to the database")
	t.Cleanup(pool.Close)
	client, _, prefix := g.openRedis(t, ctx, subscriptions)
	relay, err := outbox.NewRelay(g.Store, relayed{g.Publisher}, outbox.Options{Owner: "bench", Shards: 1})
	must(t, err, "make a relay")
	return &seedConsumer{
		pool: pool, redis: client, deduct: redis.NewScript(quotaDeductLua), limit: redis.NewScript(limitCheckLua),
		quotaKey: prefix + "quota", limitKey: prefix + "limit:", relay: relay, subscription: subscriptions,
	}
}

// drainSeed has the consumer work off the queue, as drain has coupond.
func (g *ground) drainSeed(t testing.TB, ctx context.Context, j *job, c *seedConsumer) Measurement {
	t.Helper()
	working, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { c.relay.Run(working) })
	subscriber, err := amqp.NewStockSubscriber(amqp.StockConfig{
		URL: g.Broker.URL, Name: "bench", Layout: amqp.DefaultLayout(amqp.Options{}),
	})
	must(t, err, "subscribe")
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NewSlogLogger(slog.New(slog.DiscardHandler)))
	must(t, err, "make a router")
	for i := range c.subscription {
		router.AddConsumerHandler(fmt.Sprint("claims-", i), amqp.QueueClaims, subscriber, c.handle)
	}
	running.Go(func() {
		if err := router.Run(ctx); err != nil {
			t.Errorf("run the router: %v", err)
		}
	})
	from, to, warm := g.watchSeed(t, ctx, j, c)
	must(t, router.Close(), "close the router")
	stop()
	running.Wait()
	m := Measurement{MeanBatch: 1}
	m.between(from, to, len(g.traffic.messages)-warm)
	return m
}

// watchSeed says when the warm-up ended, with how many messages, and when all was done.
func (g *ground) watchSeed(t testing.TB, ctx context.Context, j *job, c *seedConsumer) (from, to reading, warm int) {
	t.Helper()
	wait := func(what string, over func() bool) (r reading, handled int) {
		ticker := time.NewTicker(nearInterval)
		defer ticker.Stop()
		for !over() {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				t.Fatalf("%s: not over in time; %d messages are handled", what, c.handled.Load())
			}
		}
		r, err := g.meter.read(ctx)
		must(t, err, "read the counters")
		return r, int(c.handled.Load())
	}
	from, warm = wait("the warm-up", func() bool { return int(c.handled.Load()) >= max(j.warm, 1) })
	to, _ = wait("the claims and their events", func() bool {
		if int(c.handled.Load()) < len(g.traffic.messages) {
			return false
		}
		empty, err := g.db.outboxEmpty(ctx)
		must(t, err, "watch the outbox")
		return empty
	})
	return from, to, warm
}

// judgeSeed holds the end against what was sent.
func (g *ground) judgeSeed(t testing.TB, ctx context.Context, m *Measurement, c *seedConsumer) {
	t.Helper()
	b, err := g.db.book(ctx, seedBook)
	must(t, err, "count")
	b.Left, err = c.redis.Get(ctx, c.quotaKey).Int()
	must(t, err, "look at the quota")
	m.note(b, len(g.traffic.messages))
	if refused := c.refused.Load(); refused > 0 {
		m.fault("%d claims were refused", refused)
	}
	g.leftovers(t, m)
	want := announcements{operations: map[string]bool{}}
	rows, err := g.db.conn.Query(ctx, `select coupon_no from seed_flow_log`)
	must(t, err, "read what happened")
	numbers, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err, "read what happened")
	for _, number := range numbers {
		want.operations[number] = true
	}
	m.Events = depthOfEvents(t, g.gauge, len(want.operations))
	events := collect(t, g.Conn, m.Events)
	for _, fault := range events.compare(want) {
		m.fault("%s", fault)
	}
}
