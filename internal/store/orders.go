package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"couponlease/internal/coupon"
)

// EachOrder visits every order of which something is known, in the order of their ids,
// as of one moment. Memory holds two pages. An error of visit ends it and is returned.
func (s *Store) EachOrder(ctx context.Context, visit func(*coupon.Order) error) error {
	produce := func(ctx context.Context, emit func([]*coupon.Order) error) error {
		return s.inSnapshot(ctx, func(ctx context.Context, v *snapshot) error { return v.eachOrder(ctx, emit) })
	}
	return pages(ctx, produce, func(orders []*coupon.Order) error {
		for _, o := range orders {
			if err := visit(o); err != nil {
				return err
			}
		}
		return nil
	})
}

// Order reads what is known of one order; an order nobody has heard of is empty.
func (s *Store) Order(ctx context.Context, id string) (*coupon.Order, error) {
	order := &coupon.Order{ID: id}
	err := s.inSnapshot(ctx, func(ctx context.Context, v *snapshot) error {
		orders, err := v.orders(ctx, []string{id})
		if len(orders) > 0 {
			order = orders[0]
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read order %s: %w", id, err)
	}
	return order, nil
}

// orders reads some orders, sorted by id; those nobody has heard of are left out.
func (v *snapshot) orders(ctx context.Context, ids []string) ([]*coupon.Order, error) {
	var p orderPage
	wanted := texts(ids)
	t := &trip{}
	t.query("read orders", getOrdersSQL, list(&p.orders, scanOrderRow), wanted)
	t.query("read the coupons of orders", readNamedSQL, p.scanNamed, wanted)
	t.query("read refunds", readRefundsSQL, p.scanRefund, wanted)
	t.query("read refund decisions", readDecidedSQL, p.scanDecided, wanted)
	err := v.send(ctx, t)
	return p.orders, err
}

// eachOrder reads page by page. Each trip brings what hangs on the orders of one page
// and the orders of the next.
func (v *snapshot) eachOrder(ctx context.Context, emit func([]*coupon.Order) error) error {
	var p orderPage
	for last := ""; ; {
		var next orderPage
		t := &trip{}
		if len(p.orders) > 0 {
			first := p.orders[0].ID
			last = p.orders[len(p.orders)-1].ID
			t.query("read the coupons of orders", rangeNamedSQL, p.scanNamed, first, last)
			t.query("read refunds", rangeRefundsSQL, p.scanRefund, first, last)
			t.query("read refund decisions", rangeDecidedSQL, p.scanDecided, first, last)
		}
		t.query("read orders", pageOrdersSQL, list(&next.orders, scanOrderRow), last, v.store.options.PageSize)
		if err := v.send(ctx, t); err != nil {
			return err
		}
		if len(p.orders) > 0 {
			if err := emit(p.orders); err != nil {
				return err
			}
		}
		if len(next.orders) == 0 {
			return nil
		}
		p = next
	}
}

// orderPage is some orders in the order of their ids. What hangs on them comes in that
// order too, so the order of a row is found by walking along.
type orderPage struct {
	orders []*coupon.Order
	walk   map[string]*coupon.Order
}

func (p *orderPage) order(id string) (*coupon.Order, error) {
	if p.walk == nil {
		p.walk = make(map[string]*coupon.Order, len(p.orders))
		for _, o := range p.orders {
			p.walk[o.ID] = o
		}
	}
	if o := p.walk[id]; o != nil {
		return o, nil
	}
	return nil, fmt.Errorf("order %s has rows of its own, but no row itself", id)
}

func (p *orderPage) scanNamed(rows pgx.Rows) error {
	id, named, err := scanNamedRow(rows)
	if err != nil {
		return err
	}
	o, err := p.order(id)
	if err != nil {
		return err
	}
	o.Named = append(o.Named, named)
	return nil
}

func (p *orderPage) scanRefund(rows pgx.Rows) error {
	id, refund, err := scanRefundRow(rows)
	if err != nil {
		return err
	}
	o, err := p.order(id)
	if err != nil {
		return err
	}
	o.Refunds = append(o.Refunds, refund)
	return nil
}

func (p *orderPage) scanDecided(rows pgx.Rows) error {
	var order, refund, couponID string
	if err := rows.Scan(&order, &refund, &couponID); err != nil {
		return err
	}
	o, err := p.order(order)
	if err != nil {
		return err
	}
	return addDecided(o, refund, couponID)
}
