package daemon

import (
	"context"
	"time"
)

// When the database's partitions are seen to: first soon after the start, so that
// a daemon that is often started again gets to it at all, then every hour.
const (
	maintenanceFirst    = time.Minute
	maintenanceInterval = time.Hour
)

// maintain makes the partitions of the coming days and drops those whose time is
// over, and deletes old dead letters and findings. Every replica does; whoever comes second finds
// nothing to do. What fails is tried again an hour later: days are made well ahead.
func (p *parts) maintain(ctx context.Context) {
	for pause(ctx, maintenanceFirst); ctx.Err() == nil; pause(ctx, maintenanceInterval) {
		p.maintainOnce(ctx)
	}
}

func (p *parts) maintainOnce(ctx context.Context) {
	if err := p.workers.EnsurePartitions(ctx); err != nil && ctx.Err() == nil {
		p.log.Error("partitions of the coming days were not made", "error", err)
	}
	if err := p.workers.DropExpiredPartitions(ctx); err != nil && ctx.Err() == nil {
		p.log.Warn("partitions whose time is over were not all dropped", "error", err)
	}
	if err := p.workers.PurgeLetters(ctx, p.cfg.DeadRetentionDays); err != nil && ctx.Err() == nil {
		p.log.Warn("dead letters whose time is over were not all deleted", "error", err)
	}
	if err := p.workers.PurgeFindings(ctx, p.cfg.FindingRetentionDays); err != nil && ctx.Err() == nil {
		p.log.Warn("findings whose time is over were not all deleted", "error", err)
	}
}
