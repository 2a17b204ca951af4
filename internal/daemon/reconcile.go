package daemon

import (
	"context"
	"math"
	"time"

	"couponlease/internal/batcher"
	"couponlease/internal/config"
	"couponlease/internal/coupon"
	"couponlease/internal/engine"
	"couponlease/internal/outbox"
	"couponlease/internal/reconcile"
	"couponlease/internal/telemetry"
)

const (
	// reconcilePart is the number of the lease for reconciliation, behind those of the
	// sweeps.
	reconcilePart = 3 * outbox.MaxShards
	// figuresInterval is how often the figures of gates are read.
	figuresInterval = 30 * time.Second
	// repairsClosing is how long the end waits for a repair that is under way.
	repairsClosing = time.Second
)

// newSchedule is nil when reconciliation is switched off on this replica. Repairs have an
// engine of their own: what is counted again takes as long as half a minute, and no message
// may be in a batch with that.
func (p *parts) newSchedule() *reconcile.Schedule {
	if p.cfg.ReconcileInterval == 0 {
		return nil
	}
	patience := coupon.DefaultPatience()
	options := reconcile.RunOptions{Actor: "reconciliation@" + p.host, Patience: patience, AtLeisure: true}
	if p.claims.inspection != nil {
		options.Stocks = p.claims.inspection
	}
	if p.cfg.ReconcileRepair == config.On {
		p.repairs = p.newEngine(p.workers, engine.Options{
			Limits: batcher.Limits{Batch: p.cfg.Batch, Workers: 1, Queue: p.cfg.Batch},
		})
		options.Repair = &reconcile.Repair{
			Engine: p.repairs, Reason: "scheduled reconciliation", Rate: p.cfg.SweepRate, Patience: patience.Payment,
		}
	}
	return &reconcile.Schedule{
		Books: p.workers, Leases: p.workers, Part: reconcilePart, Owner: p.owner,
		Last: func(ctx context.Context) (*reconcile.Run, error) {
			return p.workers.LastRun(ctx, reconcile.OwnBooks)
		},
		Interval: p.cfg.ReconcileInterval, Options: options, Logger: p.log,
	}
}

// endRepairs takes back what is still being repaired at the end: the next run finds it again.
func (p *parts) endRepairs(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, repairsClosing)
	defer cancel()
	if err := p.repairs.Close(ctx); err != nil {
		p.log.Info("a repair is left to the next run", "error", err)
	}
}

// figures reads again and again what the gates are judged by.
func (p *parts) figures(ctx context.Context) {
	latest := newLatest[reconcile.Figures](figuresInterval)
	p.watchFigures(latest)
	for ; ctx.Err() == nil; pause(ctx, figuresInterval) {
		if f, err := p.workers.GateFigures(ctx, leastOverdue); err == nil {
			latest.store(f)
		} else if ctx.Err() == nil {
			p.log.Warn("the figures of gates could not be read", "error", err)
		}
	}
}

func (p *parts) watchFigures(latest *latest[reconcile.Figures]) {
	p.metrics.Read(telemetry.FindingsOpen, func(emit telemetry.Emit) {
		f, _ := latest.load()
		if f == nil {
			return
		}
		for _, fault := range append(coupon.OwnFaults(), coupon.UpstreamFaults()...) {
			emit(float64(f.Open[fault]), string(fault))
		}
	})
	p.metrics.Read(telemetry.ReconcileAge, func(emit telemetry.Emit) {
		switch f, age := latest.load(); {
		case f == nil:
		case f.Reconciled:
			emit((f.ReconciledAge + age).Seconds()) // as of now, not as of when it was read
		default:
			emit(math.Inf(1))
		}
	})
	p.metrics.Read(telemetry.ReconcileRuns, func(emit telemetry.Emit) {
		if p.schedule == nil {
			return
		}
		done, failed := p.schedule.Runs()
		emit(float64(done), "done")
		emit(float64(failed), "failed")
	})
}
