package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"couponlease/handlers"
	"couponlease/internal/amqp"
	"couponlease/internal/batcher"
	"couponlease/internal/config"
	"couponlease/internal/coupon"
	"couponlease/internal/deadletter"
	"couponlease/internal/engine"
	"couponlease/internal/outbox"
	"couponlease/internal/reconcile"
	"couponlease/internal/store"
	"couponlease/internal/telemetry"
	"couponlease/internal/tracing"
	"couponlease/messages"
	"couponlease/router"
)

// parts are what a daemon consists of, below the arrows of ARCHITECTURE.
type parts struct {
	*Daemon

	writers, workers *store.Store
	brokerTLS        *tls.Config
	consume, publish *amqp.Conn // consume is nil with the stock transport, which has its own
	publisher        *amqp.Publisher
	windowed         *amqp.Subscriber // nil with the stock transport
	dead             *amqp.Subscriber // of dead letters, nil if they are left or with the stock transport
	traces           *tracing.Tracer  // nil when nothing is traced
	desk             *deadletter.Desk
	replays          *deadletter.Runner
	engine           *engine.Engine
	repairs          *engine.Engine // nil when nothing is repaired
	relay            *outbox.Relay  // nil when switched off
	repeats          repeats
	claims           claimsDesk
	router           runner
	queues           []string
	sweeps           []sweep
	schedule         *reconcile.Schedule // nil when switched off

	routerDone chan error
	// sweeping and working end the background work: what submits requests first.
	sweeping, working group
}

// runner is the router: Run works until Close, which finishes what is in flight.
type runner interface {
	Run(ctx context.Context) error
	Close() error
}

// group is background work that ends together.
type group struct {
	ctx  context.Context
	stop context.CancelFunc
	wait sync.WaitGroup
}

func newGroup() group {
	ctx, stop := context.WithCancel(context.Background())
	return group{ctx: ctx, stop: stop}
}

func (g *group) run(work func(context.Context)) { g.wait.Go(func() { work(g.ctx) }) }

func (g *group) end() {
	g.stop()
	g.wait.Wait()
}

// Time that the drain of subscriber and router is allowed on top of that of the
// messages in flight.
const routerGrace = 10 * time.Second

func (p *parts) isWindowed() bool { return p.cfg.Transport == config.TransportWindowed }

// build joins the parts. Nothing runs before launch, except what waits for work.
func (p *parts) build() error {
	p.publisher = amqp.NewPublisher(p.publish, amqp.PublisherConfig{Logger: p.log})
	published := publications{p.publisher, seals{p.keys, p.metrics, p.log}, p.metrics, p.traces}
	if p.cfg.Relay == config.On {
		relay, err := outbox.NewRelay(p.workers, published, outbox.Options{
			Owner: p.owner, Shards: p.cfg.OutboxShards, Logger: p.log,
		})
		if err != nil {
			return err
		}
		p.relay = relay
	}
	observer := newObserver(p.metrics)
	observer.expect()
	cfg := router.Config{
		Publisher: p.publisher, Queues: consumed(), Tiers: p.cfg.RetryTiers,
		ReplyQueues:  p.cfg.ReplyPrefixes(),
		CloseTimeout: p.cfg.DrainTimeout + routerGrace,
		Host:         p.host, Version: p.version,
		Observer: observer, Follow: p.follow(), Logger: p.log,
	}
	p.queues = cfg.Queues
	if p.isWindowed() {
		p.windowed = amqp.NewSubscriber(p.consume, amqp.SubscriberConfig{
			Prefetch: p.cfg.Prefetch, DrainTimeout: p.cfg.DrainTimeout, Logger: p.log,
		})
		cfg.Subscriber, cfg.Subscriptions = p.windowed, 1
	} else {
		stock, err := amqp.NewStockSubscriber(amqp.StockConfig{
			URL: p.cfg.AMQPURL, TLS: p.brokerTLS, Name: "coupond consume " + p.host,
			DrainTimeout: p.cfg.DrainTimeout, Layout: amqp.DefaultLayout(amqp.Options{}), Logger: p.log,
		})
		if err != nil {
			return err
		}
		cfg.Subscriber, cfg.Subscriptions = stock, p.cfg.Subscriptions
	}
	var err error
	if p.repeats, err = p.newRepeats(whole{published}); err != nil {
		return err
	}
	p.serveDeadLetters(&cfg)
	p.engine = p.newEngine(p.writers, engine.Options{
		Limits:  batcher.Limits{Batch: p.cfg.Batch, Workers: p.cfg.Writers, Queue: p.cfg.Queue},
		OnPause: p.onPause,
		OnBatch: func(requests int) { p.metrics.Observe(telemetry.BatchRequests, float64(requests)) },
	})
	p.claims = p.newClaims(whole{published})
	cfg.Engine, cfg.Repeats = p.claims.orEngine(p.engine), p.repeats.router
	r, err := router.New(cfg)
	if err != nil {
		return err
	}
	p.router = r
	p.sweeps = p.newSweeps()
	p.schedule = p.newSchedule()
	return nil
}

// consumed lists the queues of all messages that have a handler. Messages without
// one stay where they are, for a version that has.
func consumed() []string {
	var queues []string
	table := handlers.Table()
	for _, contract := range messages.Contracts() {
		if table[contract.Type] != nil && !slices.Contains(queues, contract.Queue) {
			queues = append(queues, contract.Queue)
		}
	}
	return queues
}

// newEngine gives an engine whose commits the relay hears of.
func (p *parts) newEngine(books *store.Store, options engine.Options) *engine.Engine {
	encode := func(changes *coupon.Changes) ([]coupon.OutboxRow, error) {
		return handlers.Outbox(changes, p.cfg.OutboxShards)
	}
	options.Classify, options.Follow = store.Classify, p.followBatch()
	options.OnCommit = func(rows []coupon.OutboxRow) {
		if p.relay == nil {
			return
		}
		for _, row := range rows {
			p.relay.Kick(row.Shard)
		}
	}
	return engine.New(books, encode, options)
}

// onPause stops taking messages while they could not be applied. The stock
// transport needs no telling: its few messages in flight wait in the engine.
func (p *parts) onPause(paused bool) {
	if paused {
		p.log.Warn("the database is away, consumption pauses")
		p.metrics.Add(telemetry.EnginePauses, 1)
	} else {
		p.log.Info("the database is back, consumption goes on")
	}
	switch {
	case p.windowed == nil:
	case paused:
		p.windowed.Pause("the database is away")
	default:
		p.windowed.Resume()
	}
}

// launch starts everything.
func (p *parts) launch() {
	p.sweeping, p.working = newGroup(), newGroup()
	p.watch()
	if p.relay != nil {
		p.working.run(p.relay.Run)
	}
	p.working.run(p.pulse)
	p.working.run(p.look)
	p.working.run(p.figures)
	p.working.run(p.maintain)
	p.working.run(p.replays.Run)
	p.working.run(p.surveyQuotas)
	for _, sweep := range p.sweeps {
		p.sweeping.run(sweep.Run)
	}
	if p.schedule != nil {
		p.sweeping.run(p.schedule.Run)
	}
	p.routerDone = make(chan error, 1)
	go func() { p.routerDone <- p.router.Run(context.Background()) }()
}

// Limits on the steps of stopping that follow the drain.
const (
	engineClosing = 5 * time.Second
	flushMost     = 5 * time.Second
)

// stop ends the parts in the order in which work flows through them, so that each
// finishes what the one before has handed it.
func (p *parts) stop() error {
	began := time.Now()
	var failed []error
	step := func(what string, err error) {
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", what, err))
		}
	}
	p.sweeping.end()
	step("finish messages in flight", p.router.Close())
	ctx, cancel := context.WithTimeout(context.Background(), engineClosing)
	defer cancel()
	step("finish claims", p.claims.close(ctx))
	step("finish requests", p.engine.Close(ctx))
	if p.repairs != nil {
		p.endRepairs(ctx)
	}
	step("finish dead letters", p.desk.Close(ctx))
	if p.relay != nil && len(failed) == 0 {
		p.flush()
	}
	p.working.end()
	step("close publisher", p.publisher.Close())
	p.log.Info("work is finished", "took", time.Since(began).Round(time.Millisecond))
	return errors.Join(failed...)
}

// flush gives the relay a while to publish what has just been committed. What
// remains is not lost: another replica publishes it, or the next start.
func (p *parts) flush() {
	ctx, cancel := context.WithTimeout(context.Background(), flushMost)
	defer cancel()
	for ctx.Err() == nil {
		backlog, err := p.workers.Backlog(ctx)
		if err != nil || backlog.OutboxRows == 0 {
			return
		}
		pause(ctx, 20*time.Millisecond)
	}
	p.log.Info("the outbox is left to others")
}

// disconnect closes all connections that were opened.
func (p *parts) disconnect() {
	for _, conn := range []*amqp.Conn{p.consume, p.publish} {
		if conn != nil {
			// It waits for the broker for a bounded time, and cannot fail.
			_ = conn.Close()
		}
	}
	if p.repeats.redis != nil {
		if err := p.repeats.redis.Close(); err != nil {
			p.log.Warn("the connection to Redis was not closed cleanly", "error", err)
		}
	}
	p.closeTraces()
	for _, s := range []*store.Store{p.writers, p.workers} {
		if s != nil {
			s.Close()
		}
	}
}
