package store

import (
	"context"
	"fmt"
	"strings"

	"couponlease/internal/coupon"
)

// EachHistory visits every coupon with its evidence, in the order of coupon ids, as of
// one moment. Memory holds two pages, however many coupons there are. An error of visit
// ends it and is returned.
func (s *Store) EachHistory(ctx context.Context, visit func(coupon.History) error) error {
	produce := func(ctx context.Context, emit func([]coupon.History) error) error {
		return s.inSnapshot(ctx, func(ctx context.Context, v *snapshot) error { return v.eachHistory(ctx, emit) })
	}
	return pages(ctx, produce, func(histories []coupon.History) error {
		for _, h := range histories {
			if err := visit(h); err != nil {
				return err
			}
		}
		return nil
	})
}

// History reads one coupon with its evidence, and whether there is such a coupon.
func (s *Store) History(ctx context.Context, couponID string) (h coupon.History, found bool, err error) {
	err = s.inSnapshot(ctx, func(ctx context.Context, v *snapshot) error {
		h, found, err = v.history(ctx, couponID)
		return err
	})
	return h, found, err
}

func (v *snapshot) history(ctx context.Context, couponID string) (coupon.History, bool, error) {
	var coupons []*coupon.Coupon
	e := &evidence{}
	t := &trip{}
	t.query("read the coupon", getCouponSQL, list(&coupons, scanCouponRow), couponID)
	e.query(t, couponID, couponID)
	if err := v.send(ctx, t); err != nil {
		return coupon.History{}, false, err
	}
	histories, err := e.join(coupons)
	if err != nil || len(histories) == 0 {
		return coupon.History{}, false, err
	}
	return histories[0], true, nil
}

// eachHistory reads page by page. Each trip brings the evidence of one page and the
// coupons of the next.
func (v *snapshot) eachHistory(ctx context.Context, emit func([]coupon.History) error) error {
	var page []*coupon.Coupon
	for last := ""; ; {
		var next []*coupon.Coupon
		e, t := &evidence{}, &trip{}
		if len(page) > 0 {
			last = page[len(page)-1].ID
			e.query(t, page[0].ID, last)
		}
		t.query("read coupons", pageCouponsSQL, list(&next, scanCouponRow), last, v.store.options.PageSize)
		if err := v.send(ctx, t); err != nil {
			return err
		}
		histories, err := e.join(page)
		if err != nil {
			return err
		}
		if len(histories) > 0 {
			if err := emit(histories); err != nil {
				return err
			}
		}
		if len(next) == 0 {
			return nil
		}
		page = next
	}
}

// evidence is what is kept about a range of coupons.
type evidence struct {
	operations  []coupon.OperationRow
	leases      []coupon.LeaseRow
	redemptions []coupon.RedemptionRow
	decisions   []coupon.RefundDecision
}

func (e *evidence) query(t *trip, first, last string) {
	t.query("read the ledger", rangeOperationsSQL, list(&e.operations, scanOperationRow), first, last)
	t.query("read leases", rangeLeasesSQL, list(&e.leases, scanLeaseRow), first, last)
	t.query("read redemptions", rangeRedemptionsSQL, list(&e.redemptions, scanRedemptionRow), first, last)
	t.query("read refund decisions", rangeDecisionsSQL, list(&e.decisions, scanDecisionRow), first, last)
}

// join gives each coupon its part. All lists are in the order of coupon ids.
func (e *evidence) join(coupons []*coupon.Coupon) ([]coupon.History, error) {
	histories := make([]coupon.History, len(coupons))
	var err error
	for i, c := range coupons {
		h := &histories[i]
		h.Coupon = c
		if h.Operations, e.operations, err = cut(e.operations, c.ID,
			func(r *coupon.OperationRow) string { return r.Coupon }); err != nil {
			return nil, err
		}
		if h.Leases, e.leases, err = cut(e.leases, c.ID,
			func(r *coupon.LeaseRow) string { return r.Coupon }); err != nil {
			return nil, err
		}
		if h.Redemptions, e.redemptions, err = cut(e.redemptions, c.ID,
			func(r *coupon.RedemptionRow) string { return r.Coupon }); err != nil {
			return nil, err
		}
		if h.Decisions, e.decisions, err = cut(e.decisions, c.ID,
			func(r *coupon.RefundDecision) string { return r.Coupon }); err != nil {
			return nil, err
		}
	}
	return histories, nil
}

// cut splits the rows of one coupon off the front. Rows of a coupon that does not exist
// are a broken database, and no reason to look away.
func cut[Row any](rows []Row, couponID string, of func(*Row) string) (mine, rest []Row, err error) {
	end := 0
	for end < len(rows) {
		order := strings.Compare(of(&rows[end]), couponID)
		if order < 0 {
			return nil, nil, fmt.Errorf("there is evidence of coupon %s, but no such coupon", of(&rows[end]))
		}
		if order > 0 {
			break
		}
		end++
	}
	if end == 0 {
		return nil, rows, nil
	}
	return rows[:end:end], rows[end:], nil
}
