package daemon

import (
	"context"
	"strconv"
	"strings"
	"time"

	"couponlease/internal/amqp"
	"couponlease/internal/outbox"
	"couponlease/internal/store"
	"couponlease/internal/telemetry"
)

// How often, and how long, the database is looked at.
const (
	pulseInterval   = time.Second
	pingTimeout     = 3 * time.Second
	backlogInterval = 15 * time.Second
)

// watch connects readiness and metrics with the parts that know.
func (p *parts) watch() {
	p.health.ask(p.components)
	p.watchEngine()
	p.watchSubscriber()
	p.watchBroker()
	p.watchRelay()
	p.watchRepeats()
	p.watchClaims()
	p.watchSweeps()
}

// components asks every part how it is.
func (p *parts) components() []Component {
	return []Component{p.health.postgres(), p.consumer(), p.sender(), p.batches(), p.shards()}
}

func (p *parts) consumer() Component {
	c := Component{Name: "consumer", OK: true}
	if p.windowed == nil {
		c.Figures = "the stock transport keeps no figures"
		return c
	}
	var wrong []string
	if !p.consume.State().Connected {
		wrong = append(wrong, "not connected")
	}
	paused := p.windowed.Paused()
	var figures []subscriptionFigures
	for _, stats := range p.windowed.Stats() {
		f := subscriptionFigures{Queue: stats.Queue, State: "consuming", InFlight: stats.InFlight}
		switch {
		case paused != "":
			f.State = "paused"
		case !stats.Consuming:
			f.State = "interrupted"
			wrong = append(wrong, stats.Queue+" is not consumed")
		}
		if stats.LastError != nil {
			f.LastError = stats.LastError.Error()
		}
		figures = append(figures, f)
	}
	if paused != "" {
		wrong = append(wrong, "paused: "+paused)
	}
	c.OK, c.Detail, c.Figures = len(wrong) == 0, strings.Join(wrong, "; "), figures
	return c
}

func (p *parts) sender() Component {
	c := Component{Name: "publisher"}
	switch state := p.publish.State(); {
	case !state.Connected:
		c.Detail = "not connected"
	case state.Blocked:
		c.Detail = "blocked by the broker: " + state.BlockedReason
	default:
		c.OK = true
	}
	return c
}

func (p *parts) batches() Component {
	stats := p.engine.Stats()
	c := Component{Name: "engine", OK: !stats.Paused, Figures: struct {
		Queued int `json:"queued"`
		Active int `json:"active"`
	}{stats.Queued, stats.Active}}
	if stats.Paused {
		c.Detail = "paused"
		if stats.PauseCause != nil {
			c.Detail += ": " + stats.PauseCause.Error()
		}
	}
	return c
}

// shards are well whoever publishes them: another replica may.
func (p *parts) shards() Component {
	c := Component{Name: "relay", OK: true}
	if p.relay == nil {
		c.Figures = "switched off on this replica"
		return c
	}
	var figures []shardFigures
	for _, stats := range p.relay.Stats() {
		figures = append(figures, shardFigures{Shard: stats.Shard, Owned: stats.Fence != 0, LagSeconds: stats.Lag.Seconds()})
	}
	c.Figures = figures
	return c
}

// pulse looks at the database again and again, so that readiness knows about it
// although nobody works, and reads the backlog now and then.
func (p *parts) pulse(ctx context.Context) {
	backlog := newLatest[store.Backlog](backlogInterval)
	p.watchBacklog(backlog)
	for read := (time.Time{}); ctx.Err() == nil; pause(ctx, pulseInterval) {
		err := p.ping(ctx)
		if ctx.Err() != nil {
			return
		}
		p.health.saw(err)
		if err != nil || time.Since(read) < backlogInterval {
			continue
		}
		if b, err := p.workers.Backlog(ctx); err == nil {
			backlog.store(b)
			read = time.Now()
		}
	}
}

// ping gives up sooner than real work would: readiness is about now.
func (p *parts) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	_, err := p.workers.Ping(ctx)
	return err
}

func (p *parts) watchBacklog(backlog *latest[store.Backlog]) {
	read := func(name string, figure func(*store.Backlog) float64) {
		p.metrics.Read(name, func(emit telemetry.Emit) {
			if b, _ := backlog.load(); b != nil {
				emit(figure(b))
			}
		})
	}
	read(telemetry.OutboxPending, func(b *store.Backlog) float64 { return float64(b.OutboxRows) })
	read(telemetry.OutboxParked, func(b *store.Backlog) float64 { return float64(b.ParkedRows) })
	read(telemetry.ReviewsOpen, func(b *store.Backlog) float64 { return float64(b.OpenReviews) })
	read(telemetry.OutboxOldest, func(b *store.Backlog) float64 {
		if b.OldestRow.IsZero() {
			return 0
		}
		return max(0, time.Since(b.OldestRow).Seconds())
	})
}

func (p *parts) watchEngine() {
	kept := func(name string, figure func() float64) {
		p.metrics.Read(name, func(emit telemetry.Emit) { emit(figure()) })
	}
	kept(telemetry.RequestsCommitted, func() float64 { return float64(p.engine.Applied()) })
	kept(telemetry.RequestsQueued, func() float64 { return float64(p.engine.Stats().Queued) })
	kept(telemetry.BatchesRetried, func() float64 { return float64(p.engine.Stats().Retries) })
	kept(telemetry.BatchesHalved, func() float64 { return float64(p.engine.Stats().Halvings) })
	kept(telemetry.EnginePaused, func() float64 { return oneIf(p.engine.Stats().Paused) })
}

func (p *parts) watchSubscriber() {
	if p.windowed == nil {
		return
	}
	kept := func(name string, figure func(amqp.QueueStats) float64) {
		p.metrics.Read(name, func(emit telemetry.Emit) {
			for _, stats := range p.windowed.Stats() {
				emit(figure(stats), stats.Queue)
			}
		})
	}
	kept(telemetry.SubscriberConsuming, func(s amqp.QueueStats) float64 { return oneIf(s.Consuming) })
	kept(telemetry.SubscriberInFlight, func(s amqp.QueueStats) float64 { return float64(s.InFlight) })
	kept(telemetry.SubscriberDelivered, func(s amqp.QueueStats) float64 { return float64(s.Delivered) })
	kept(telemetry.SubscriberRequeued, func(s amqp.QueueStats) float64 { return float64(s.Requeued) })
	kept(telemetry.SubscriberDropped, func(s amqp.QueueStats) float64 { return float64(s.Dropped) })
	kept(telemetry.SubscriberResubscriptions, func(s amqp.QueueStats) float64 { return float64(s.Resubscriptions) })
}

func (p *parts) watchBroker() {
	kept := func(name string, figure func(amqp.State) bool) {
		p.metrics.Read(name, func(emit telemetry.Emit) {
			emit(oneIf(figure(p.publish.State())), "publish")
			if p.consume != nil {
				emit(oneIf(figure(p.consume.State())), "consume")
			}
		})
	}
	kept(telemetry.BrokerConnected, func(s amqp.State) bool { return s.Connected })
	kept(telemetry.BrokerBlocked, func(s amqp.State) bool { return s.Blocked })
}

func (p *parts) watchRelay() {
	if p.relay == nil {
		return
	}
	kept := func(name string, figure func(outbox.Stats) float64) {
		p.metrics.Read(name, func(emit telemetry.Emit) {
			for _, stats := range p.relay.Stats() {
				emit(figure(stats), strconv.Itoa(stats.Shard))
			}
		})
	}
	kept(telemetry.OutboxOwned, func(s outbox.Stats) float64 { return oneIf(s.Fence != 0) })
	kept(telemetry.OutboxLag, func(s outbox.Stats) float64 { return s.Lag.Seconds() })
	kept(telemetry.OutboxPublished, func(s outbox.Stats) float64 { return float64(s.Confirmed) })
	kept(telemetry.OutboxReturned, func(s outbox.Stats) float64 { return float64(s.Returned) })
	kept(telemetry.OutboxFailed, func(s outbox.Stats) float64 { return float64(s.Failed) })
	kept(telemetry.OutboxParkings, func(s outbox.Stats) float64 { return float64(s.Parked) })
}

// watchProcess is there before all parts are.
func (d *Daemon) watchProcess() {
	d.metrics.Read(telemetry.Build, func(emit telemetry.Emit) { emit(1, d.version) })
	d.metrics.Read(telemetry.Ready, func(emit telemetry.Emit) { emit(oneIf(d.health.readiness().Ready)) })
}

func oneIf(condition bool) float64 {
	if condition {
		return 1
	}
	return 0
}
