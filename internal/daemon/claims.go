package daemon

import (
	"context"
	"time"

	"couponlease/handlers"
	"couponlease/internal/claims"
	"couponlease/internal/engine"
	"couponlease/internal/outbox"
	"couponlease/internal/quota"
	"couponlease/internal/telemetry"
	"couponlease/router"
)

// claimsDesk is what claims go through before the engine; empty without Redis.
type claimsDesk struct {
	pool   *quota.Pool
	desk   *claims.Desk
	survey *claims.Survey
	// inspection is what reconciliation looks through.
	inspection *claims.Inspection
	// back is told when Redis answers again.
	back chan struct{}
	// drifted is how many stocks the last survey found wrong.
	drifted *latest[int]
}

// surveyEvery is the time between two looks at the stocks.
const surveyEvery = claims.Patience + time.Second

// newClaims puts a desk with a pool in Redis in front of the engine. Nothing waits for
// Redis, now or later.
func (p *parts) newClaims(published outbox.Publisher) claimsDesk {
	if p.repeats.redis == nil {
		return claimsDesk{}
	}
	c := claimsDesk{back: make(chan struct{}, 1), drifted: newLatest[int](surveyEvery)}
	c.pool = quota.NewPool(p.repeats.redis, quota.PoolOptions{Prefix: quota.ClaimPrefix(p.cfg.RedisPrefix), Logger: p.log, OnBack: func() {
		select {
		case c.back <- struct{}{}:
		default: // it is being seen to
		}
	}})
	c.drifted.store(0) // nothing is loaded yet
	source := engine.NewSource(p.keys)
	c.desk = claims.New(p.engine, c.pool, p.workers, refusals{published, source.ID}, claims.Options{
		WithoutPool: p.cfg.ClaimsWithoutRedis, Zone: source.Zone, Logger: p.log,
	})
	c.survey = claims.NewSurvey(c.pool, p.workers)
	c.inspection = claims.NewInspection(c.pool, p.workers, c.desk)
	return c
}

// orEngine gives what answers messages.
func (c claimsDesk) orEngine(e *engine.Engine) router.Engine {
	if c.desk == nil {
		return e
	}
	return c.desk
}

func (c claimsDesk) close(ctx context.Context) error {
	if c.desk == nil {
		return nil
	}
	return c.desk.Close(ctx)
}

// surveyQuotas compares the stocks in Redis with the books again and again, and has those
// that are wrong loaded anew.
func (p *parts) surveyQuotas(ctx context.Context) {
	if p.claims.desk == nil {
		return
	}
	ticker := time.NewTicker(surveyEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.claims.back:
			p.claims.desk.PoolChanged()
		case <-ticker.C:
		}
		p.lookAtQuotas(ctx)
	}
}

func (p *parts) lookAtQuotas(ctx context.Context) {
	drifts, err := p.claims.survey.Look(ctx, time.Now())
	if err != nil {
		p.log.Debug("the stocks of campaigns could not be compared", "error", err)
		return
	}
	p.claims.drifted.store(len(drifts))
	for _, drift := range drifts {
		p.log.Info("a stock in Redis differs from the books and is loaded again", "drift", drift.String())
		if err := p.claims.desk.Repair(ctx, drift); err != nil {
			p.log.Warn("a stock in Redis is still wrong", "template", drift.Template, "error", err)
		}
	}
	p.claims.desk.Mend(ctx)
	for _, template := range p.claims.survey.Incomplete() {
		if err := p.claims.desk.Recall(ctx, template); err != nil {
			p.log.Warn("Redis does not know yet who has something of a campaign", "template", template, "error", err)
		}
	}
}

// refusals tells of claims that were refused before the engine: the world, and whoever
// asked for an answer.
type refusals struct {
	published outbox.Publisher
	id        func() string
}

// Tell implements claims.Teller.
func (r refusals) Tell(ctx context.Context, refused []claims.Refusal) []error {
	now := time.Now()
	errs := make([]error, len(refused))
	var list []outbox.Message
	var of []int
	add := func(i int, m outbox.Message, err error) {
		if err != nil {
			errs[i] = err
			return
		}
		list, of = append(list, m), append(of, i)
	}
	for i, refusal := range refused {
		event := claims.Rejection(refusal, now)
		event.ID = r.id()
		m, err := handlers.EventMessage(&event)
		add(i, m, err)
		if reply := refusal.Reply(r.id(), now); reply != nil {
			m, err := handlers.ReplyMessage(reply)
			add(i, m, err)
		}
	}
	for n, err := range r.published.PublishBatch(ctx, list, now) {
		if err != nil {
			errs[of[n]] = err
		}
	}
	return errs
}

func (p *parts) watchClaims() {
	if p.claims.desk == nil {
		return
	}
	pool, desk := p.claims.pool, p.claims.desk
	p.metrics.Read(telemetry.ClaimsAsked, func(emit telemetry.Emit) {
		stats := pool.Stats()
		emit(float64(stats.Granted), "granted")
		emit(float64(stats.Already), "already")
		emit(float64(stats.SoldOut), "sold_out")
		emit(float64(stats.UserLimit), "user_limit")
		emit(float64(stats.DayLimit), "day_limit")
		emit(float64(stats.NotLoaded), "not_loaded")
		emit(float64(stats.Failed-stats.Skipped), "failed")
		emit(float64(stats.Skipped), "skipped")
	})
	p.metrics.Read(telemetry.ClaimsRefused, func(emit telemetry.Emit) { emit(float64(desk.Stats().Refused)) })
	p.metrics.Read(telemetry.ClaimsBypassed, func(emit telemetry.Emit) { emit(float64(desk.Stats().Bypassed)) })
	p.metrics.Read(telemetry.QuotaReturned, func(emit telemetry.Emit) {
		emit(float64(pool.Stats().GivenBack), "done")
		emit(float64(desk.Stats().Lost), "lost")
	})
	p.metrics.Read(telemetry.QuotaRestocks, func(emit telemetry.Emit) { emit(float64(desk.Stats().Restocks)) })
	p.metrics.Read(telemetry.QuotaDrifts, func(emit telemetry.Emit) {
		if drifted, _ := p.claims.drifted.load(); drifted != nil {
			emit(float64(*drifted))
		}
	})
	p.metrics.Read(telemetry.QuotaAway, func(emit telemetry.Emit) { emit(oneIf(pool.Stats().Away)) })
}
