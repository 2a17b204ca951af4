package daemon

import (
	"couponlease/internal/amqp"
	"couponlease/internal/config"
	"couponlease/internal/deadletter"
	"couponlease/internal/store"
	"couponlease/router"
)

// deadPrefetch is how many dead letters are in memory at once. Each may be as large as
// the broker allows.
const deadPrefetch = deadletter.DefaultBatch

// serveDeadLetters adds to a router what files and replays dead letters.
func (p *parts) serveDeadLetters(cfg *router.Config) {
	p.desk = deadletter.NewDesk(p.workers, p.workers, deadletter.Options{
		Classify: store.Classify, OnPause: p.onDeadPause,
	})
	p.replays = deadletter.NewRunner(p.workers, deadletter.RunnerOptions{
		Shards: p.cfg.OutboxShards, Kick: p.kick, Logger: p.log,
	})
	cfg.Desk = desk{p.desk, p.metrics}
	switch {
	case p.cfg.DeadLetters == config.DeadLettersLeave:
	case p.isWindowed():
		p.dead = amqp.NewSubscriber(p.consume, amqp.SubscriberConfig{
			Prefetch: deadPrefetch, DrainTimeout: p.cfg.DrainTimeout, Logger: p.log,
		})
		cfg.DeadLetters = p.dead
	default:
		cfg.DeadLetters = cfg.Subscriber
	}
}

// onDeadPause leaves dead letters in their queue while they could not be filed.
func (p *parts) onDeadPause(paused bool) {
	switch {
	case p.dead == nil:
	case paused:
		p.dead.Pause("the database is away")
	default:
		p.dead.Resume()
	}
}

// kick tells the relay that there is something to publish.
func (p *parts) kick(shard int) {
	if p.relay != nil {
		p.relay.Kick(shard)
	}
}
