package claims

import (
	"context"
	"fmt"
	"time"

	"couponlease/internal/coupon"
)

// Inspection is what reconciliation asks of a pool: which stocks are wrong, and that they
// are loaded again. Unlike a survey it is done once.
type Inspection struct {
	pool  Pool
	books Rationed
	desk  *Desk
	found map[string]Drift
}

// NewInspection prepares an inspection. Without a desk nothing can be restocked.
func NewInspection(pool Pool, books Rationed, desk *Desk) *Inspection {
	return &Inspection{pool: pool, books: books, desk: desk}
}

// Look gives the stocks that are wrong. Where one is lower than the books, it waits for as
// long as a claim may be under way, and looks again.
func (i *Inspection) Look(ctx context.Context) ([]Drift, error) {
	survey := NewSurvey(i.pool, i.books)
	drifts, err := survey.Look(ctx, time.Now())
	if err == nil && survey.isLow {
		if err = wait(ctx, Patience); err == nil {
			drifts, err = survey.Look(ctx, time.Now())
		}
	}
	i.found = make(map[string]Drift, len(drifts))
	for _, drift := range drifts {
		i.found[drift.Template] = drift
	}
	return drifts, err
}

// Drifts is Look for reconciliation.
func (i *Inspection) Drifts(ctx context.Context) ([]coupon.Finding, error) {
	drifts, err := i.Look(ctx)
	findings := make([]coupon.Finding, len(drifts))
	for n, drift := range drifts {
		findings[n] = coupon.Finding{
			Fault: coupon.FaultQuotaDrift, Subject: drift.Template, Template: drift.Template, Detail: drift.String(),
		}
	}
	return findings, err
}

// Restock has a stock that was found to be wrong loaded again, unless somebody else did
// meanwhile.
func (i *Inspection) Restock(ctx context.Context, template string) error {
	drift, wasFound := i.found[template]
	if i.desk == nil || !wasFound {
		return fmt.Errorf("the stock of campaign %s was not found to be wrong", template)
	}
	return i.desk.Repair(ctx, drift)
}

// wait waits, but not beyond the end of ctx.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
