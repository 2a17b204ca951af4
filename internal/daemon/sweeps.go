package daemon

import (
	"context"
	"time"

	"couponlease/handlers"
	"couponlease/internal/coupon"
	"couponlease/internal/outbox"
	"couponlease/internal/reconcile"
	"couponlease/internal/store"
	"couponlease/internal/telemetry"
)

// sweep is a sweeper of whatever.
type sweep interface {
	Run(ctx context.Context)
	Stats() reconcile.Stats
}

const (
	// validityEvery is how many intervals pass between two walks over validities,
	// which are in nobody's way when they end a minute late.
	validityEvery = 6
	// startOver is how often a walk begins anew, for what could not be answered.
	startOver = 24 * time.Hour
	// leaseLength is how long a replica holds a share of a sweep after its last
	// sign of life, at least.
	leaseLength = 30 * time.Second
)

// Sweeps take their leases from those of the outbox, with numbers of their own.
const (
	firstLeaseShard    = outbox.MaxShards
	firstValidityShard = 2 * outbox.MaxShards
)

func (p *parts) newSweeps() []sweep {
	interval := p.cfg.SweepInterval
	if interval == 0 {
		return nil
	}
	shards := func(first int, interval time.Duration) *reconcile.Shards {
		return reconcile.NewShards(p.workers, p.owner, first, p.cfg.SweepShards, max(leaseLength, 3*interval))
	}
	options := func(interval time.Duration) reconcile.Options {
		return reconcile.Options{Interval: interval, Rate: p.cfg.SweepRate, StartOver: startOver, Logger: p.log}
	}
	return []sweep{
		reconcile.NewSweeper(dueLeases(p.workers, p.cfg.SweepGrace), p.engine,
			shards(firstLeaseShard, interval), options(interval)),
		reconcile.NewSweeper(endedValidities(p.workers), p.engine,
			shards(firstValidityShard, validityEvery*interval), options(validityEvery*interval)),
	}
}

// dueLeases are leases that are still held a while after their deadline.
func dueLeases(s *store.Store, grace time.Duration) reconcile.Source[coupon.Timer, store.TimerCursor] {
	return reconcile.Source[coupon.Timer, store.TimerCursor]{
		Name: "leases",
		Page: func(ctx context.Context, after store.TimerCursor, limit int) (
			reconcile.Page[coupon.Timer, store.TimerCursor], error,
		) {
			page, err := s.DueTimers(ctx, store.TimerScan{After: after, Overdue: grace, Limit: limit})
			return reconcile.Page[coupon.Timer, store.TimerCursor]{
				Items: page.Timers, Next: page.Next, Last: page.Last,
			}, err
		},
		Coupon:  func(timer coupon.Timer) string { return timer.Coupon },
		Request: handlers.DueRequest,
	}
}

// endedValidities are free coupons whose validity is over.
func endedValidities(s *store.Store) reconcile.Source[string, string] {
	return reconcile.Source[string, string]{
		Name: "validity",
		Page: func(ctx context.Context, after string, limit int) (reconcile.Page[string, string], error) {
			page, err := s.Expirable(ctx, after, limit)
			return reconcile.Page[string, string]{Items: page.Coupons, Next: page.Next, Last: page.Last}, err
		},
		Coupon: func(id string) string { return id },
		Request: func(id string) coupon.Request {
			// No message id: the state itself protects against asking twice.
			return coupon.Request{At: time.Now().UTC(), Actor: "sweeper", Fact: coupon.ValidityOver{Coupon: id}}
		},
	}
}

func (p *parts) watchSweeps() {
	kept := func(name string, figure func(reconcile.Stats) uint64) {
		p.metrics.Read(name, func(emit telemetry.Emit) {
			for _, sweep := range p.sweeps {
				stats := sweep.Stats()
				emit(float64(figure(stats)), stats.Sweep)
			}
		})
	}
	kept(telemetry.SweeperDue, func(s reconcile.Stats) uint64 { return s.Due })
	kept(telemetry.SweeperSubmitted, func(s reconcile.Stats) uint64 { return s.Submitted })
	kept(telemetry.SweeperFailed, func(s reconcile.Stats) uint64 { return s.Failed })
}
