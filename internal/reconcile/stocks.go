package reconcile

import (
	"context"

	"couponlease/internal/coupon"
)

// Stocks are what a pool in front of the engine holds of campaigns.
type Stocks interface {
	// Drifts gives a finding for each stock that is wrong. It may wait for as long as claims
	// are under way.
	Drifts(ctx context.Context) ([]coupon.Finding, error)
	// Restock has a stock that Drifts has found loaded again.
	Restock(ctx context.Context, template string) error
}

// stocked looks at the stocks, if there are any to look at; why says why not.
func (o *RunOptions) stocked(ctx context.Context) (drifts []coupon.Finding, why string) {
	if o.Stocks == nil {
		return nil, "there is no Redis to look at"
	}
	drifts, err := o.Stocks.Drifts(ctx)
	if err != nil {
		return nil, err.Error()
	}
	return drifts, ""
}

// restock has those stocks loaded again that a run has found to be wrong. A pool that does
// not take them stops nothing else.
func restock(ctx context.Context, books Books, stocks Stocks, s *Summary, page []Record) (restocked int64, err error) {
	for i := range page {
		f := &page[i]
		if f.Fault != coupon.FaultQuotaDrift || stocks == nil {
			continue
		}
		answer := coupon.Restocked
		if stocks.Restock(ctx, f.Template) != nil {
			answer = coupon.NotRestocked
		} else {
			restocked++
		}
		s.Repairs[string(answer)]++
		if err := books.NoteRepair(ctx, f.ID, string(answer)); err != nil {
			return restocked, err
		}
	}
	return restocked, nil
}
