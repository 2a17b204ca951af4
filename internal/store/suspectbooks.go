package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/coupon"
)

var (
	//go:embed sql/books_claims.sql
	booksClaimsSQL string
	//go:embed sql/books_armed.sql
	booksArmedSQL string
	//go:embed sql/books_flows.sql
	booksFlowsSQL string
	//go:embed sql/books_ended.sql
	booksEndedSQL string
)

// showCoupons reads suspects whole, which are sorted, and shows them.
func (w *faultWalk) showCoupons(ctx context.Context, ids []string) error {
	coupons, err := w.named(ctx, []*coupon.Order{{Named: namedAs(ids)}})
	if err != nil {
		return err
	}
	var known []*coupon.Coupon
	e, lost := &evidence{}, map[string]*evidence{}
	claims, armed, open := map[string][]coupon.Claim{}, map[string]bool{}, map[string][]coupon.FlowRow{}
	t := &trip{}
	for _, id := range ids {
		of := e
		if coupons[id] != nil {
			known = append(known, coupons[id])
		} else {
			of = &evidence{}
			lost[id] = of
		}
		of.query(t, id, id)
	}
	t.query("read who names the coupons", booksClaimsSQL, func(rows pgx.Rows) error {
		var id string
		var claim coupon.Claim
		err := rows.Scan(&id, &claim.Order, toText{&claim.RedemptionID})
		claims[id] = append(claims[id], claim)
		return err
	}, texts(ids))
	t.query("read timers", booksArmedSQL, func(rows pgx.Rows) error {
		var id string
		err := rows.Scan(&id)
		armed[id] = true
		return err
	}, texts(ids))
	t.query("read redemptions at tills", booksFlowsSQL, func(rows pgx.Rows) error {
		flow, err := scanFlowRow(rows)
		open[flow.Coupon] = append(open[flow.Coupon], flow)
		return err
	}, texts(ids))
	if err := w.read(ctx, t); err != nil {
		return err
	}
	histories, err := e.join(known)
	if err != nil {
		return err
	}
	for _, h := range histories {
		id := h.Coupon.ID
		books := coupon.Books{History: h, Claims: claims[id], Armed: armed[id], Open: open[id]}
		if err := w.visitor.Coupon(books); err != nil {
			return err
		}
	}
	for _, id := range ids {
		if of := lost[id]; of != nil && len(of.operations) > 0 {
			if err := w.visitor.Coupon(coupon.Books{History: coupon.History{Operations: of.operations}}); err != nil {
				return err
			}
		}
	}
	return nil
}

func namedAs(ids []string) []coupon.Named {
	named := make([]coupon.Named, len(ids))
	for i, id := range ids {
		named[i].Coupon = id
	}
	return named
}

// showOrders reads suspects whole, with what their settlement depends on, and shows them.
func (w *faultWalk) showOrders(ctx context.Context, ids []string) error {
	orders, err := w.orders(ctx, ids)
	if err != nil {
		return err
	}
	related, err := w.related(ctx, orders)
	if err != nil {
		return err
	}
	coupons, err := w.named(ctx, orders)
	if err != nil {
		return err
	}
	ended, err := w.ended(ctx, orders)
	if err != nil {
		return err
	}
	for _, o := range orders {
		err := w.visitor.Order(coupon.OrderBooks{
			Order: o, Coupon: func(id string) *coupon.Coupon { return coupons[id] },
			Related: func(id string) *coupon.Order { return related[id] },
			Ended:   func(id, redemption string) bool { return ended[id+"/"+redemption] },
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ended gives the redemptions of the orders' coupons that the ledger ends.
func (w *faultWalk) ended(ctx context.Context, orders []*coupon.Order) (map[string]bool, error) {
	var ids texts
	for _, o := range orders {
		for i := range o.Named {
			if o.Named[i].RedemptionID != "" {
				ids = append(ids, o.Named[i].Coupon)
			}
		}
	}
	ended := map[string]bool{}
	if len(ids) == 0 {
		return ended, nil
	}
	t := &trip{}
	t.query("read what ended", booksEndedSQL, func(rows pgx.Rows) error {
		var id, redemption string
		err := rows.Scan(&id, &redemption)
		ended[id+"/"+redemption] = true
		return err
	}, distinct(ids))
	return ended, w.read(ctx, t)
}

// Orders implements reconcile.Orders.
func (s *Store) Orders(ctx context.Context, ids []string) (map[string]*coupon.Order, error) {
	known := make(map[string]*coupon.Order, len(ids))
	err := s.inSnapshot(ctx, func(ctx context.Context, v *snapshot) error {
		orders, err := v.orders(ctx, distinct(ids))
		for _, o := range orders {
			known[o.ID] = o
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read %d orders: %w", len(ids), err)
	}
	return known, nil
}
