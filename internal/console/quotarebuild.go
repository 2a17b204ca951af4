package console

import (
	"context"

	"couponlease/internal/claims"
	"couponlease/internal/coupon"
	"couponlease/internal/deadletter"
)

// rebuildQuota is what the audit log calls it.
const rebuildQuota = "RebuildQuota"

// QuotaRebuilt is what a rebuild did to one stock.
type QuotaRebuilt struct {
	Template string `json:"template"`
	// Before and After are what Redis held; null is nothing.
	Before *QuotaLevel `json:"before"`
	After  *QuotaLevel `json:"after"`
}

// QuotaRebuildReport is what a rebuild did.
type QuotaRebuildReport struct {
	Rebuilt []QuotaRebuilt `json:"rebuilt"`
}

// RebuildQuota has the stock of a campaign loaded anew from the books, whatever Redis holds;
// "" is all campaigns that are open, and those that Redis has a stock of. Doing so again
// does no harm: claims that were granted and not answered yet are refused or granted by the
// books. Each stock has two rows in the audit log, as has all that is more than a
// transaction.
func (d *Database) RebuildQuota(ctx context.Context, template string, by deadletter.Decision) (QuotaRebuildReport, error) {
	report := QuotaRebuildReport{Rebuilt: []QuotaRebuilt{}}
	if err := checkWords(by.Actor, by.Reason); err != nil {
		return report, err
	}
	err := d.withStocks(func(s stocks) error {
		campaigns, err := d.campaigns(ctx, template)
		if err != nil {
			return err
		}
		for _, t := range campaigns {
			before, err := s.pool.Level(ctx, t.ID)
			if err != nil {
				return err
			}
			if template == "" && t.Status != coupon.TemplateActive && !before.Loaded {
				continue // nobody can claim
			}
			one, err := d.rebuild(ctx, s, t.ID, before, by)
			if err != nil {
				return err
			}
			report.Rebuilt = append(report.Rebuilt, one)
		}
		return nil
	})
	return report, err
}

// rebuild has one stock loaded between its two rows of the audit log.
func (d *Database) rebuild(
	ctx context.Context, s stocks, template string, before claims.Level, by deadletter.Decision,
) (QuotaRebuilt, error) {
	done := QuotaRebuilt{Template: template, Before: quotaLevel(before)}
	err := d.aroundStock(ctx, rebuildQuota, &done, by, func() error {
		if err := s.desk.Rebuild(ctx, template); err != nil {
			return err
		}
		after, err := s.pool.Level(ctx, template)
		done.After = quotaLevel(after)
		return err
	})
	return done, err
}

// aroundStock does something to a stock between two rows of the audit log with one key:
// database and Redis share no transaction.
func (d *Database) aroundStock(
	ctx context.Context, action string, what *QuotaRebuilt, by deadletter.Decision, work func() error,
) error {
	row := coupon.AuditRow{Actor: by.Actor, Action: action, Subject: what.Template, Reason: by.Reason}
	return aroundAudit(ctx, d.store.Record, row, what, func() (worked, error) {
		err := work()
		return worked{report: what}, err
	})
}

// auditedStocks are stocks as reconciliation repairs them by hand.
type auditedStocks struct {
	*claims.Inspection
	database *Database
	stocks   stocks
	by       deadletter.Decision
}

// Restock implements reconcile.Stocks.
func (a auditedStocks) Restock(ctx context.Context, template string) error {
	before, err := a.stocks.pool.Level(ctx, template)
	if err != nil {
		return err
	}
	done := QuotaRebuilt{Template: template, Before: quotaLevel(before)}
	return a.database.aroundStock(ctx, "RestockQuota", &done, a.by, func() error {
		if err := a.Inspection.Restock(ctx, template); err != nil {
			return err
		}
		after, err := a.stocks.pool.Level(ctx, template)
		done.After = quotaLevel(after)
		return err
	})
}
