package daemon

import (
	"couponlease/internal/engine"
	"couponlease/internal/outbox"
	"couponlease/internal/quota"
	"couponlease/internal/telemetry"
	"couponlease/router"
)

// repeats is what answers repeated requests of tills past the engine.
type repeats struct {
	redis    *quota.Client
	requests *quota.Requests
	router   *router.Repeats
}

// newRepeats prepares the connection to Redis; nothing waits for it, now or later.
// Without a URL there are no repeats, and the engine answers everything.
func (p *parts) newRepeats(replies outbox.Publisher) (r repeats, err error) {
	if p.cfg.RedisURL == "" {
		return r, nil
	}
	security, err := p.cfg.RedisTLS()
	if err != nil {
		return r, err
	}
	r.redis, err = quota.Open(p.cfg.RedisURL, quota.ClientOptions{Name: "coupond", TLS: security, Logger: p.log})
	if err != nil {
		return r, err
	}
	r.requests = quota.NewRequests(r.redis, quota.RequestsOptions{Prefix: p.cfg.RedisPrefix + "request:", Logger: p.log})
	r.router = router.NewRepeats(router.RepeatsConfig{
		Memory: r.requests, Answers: p.workers, Replies: replies, ID: engine.NewSource(p.keys).ID, Logger: p.log,
	})
	return r, nil
}

func (p *parts) watchRepeats() {
	if p.repeats.requests == nil {
		return
	}
	p.metrics.Read(telemetry.RequestsRemembered, func(emit telemetry.Emit) {
		stats := p.repeats.requests.Stats()
		emit(float64(stats.First), "first")
		emit(float64(stats.Seen), "seen")
		emit(float64(stats.Failed), "failed")
		emit(float64(stats.Skipped), "skipped")
	})
	p.metrics.Read(telemetry.RequestsRepeated, func(emit telemetry.Emit) { emit(float64(p.repeats.router.Answered())) })
	p.metrics.Read(telemetry.RedisAway, func(emit telemetry.Emit) { emit(oneIf(p.repeats.requests.Stats().Away)) })
}
