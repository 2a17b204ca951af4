package store

import (
	"context"
	_ "embed"
	"fmt"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

//go:embed sql/get_coupons.sql
var getCouponsSQL string

// Auditor is shown the whole database as of one moment, so that nothing that it finds
// comes from looking at two moments. An error of any function ends the audit.
type Auditor struct {
	// Coupon is shown every coupon, in the order of ids.
	Coupon func(coupon.History) error
	// Order is shown every order of which something is known, in the order of ids.
	Order func(Settlement) error
	// Template is shown every template and its counters per person that differ from
	// what the coupons say, after the coupons; policy gives every policy version.
	Template func(coupon.Template, []PersonUse) error
}

// Settlement is an order with the rows that its settlement depends on.
type Settlement struct {
	Order *coupon.Order
	// Coupons are those that it named, Related the orders linked to it, directly or
	// by way of others. They are shared with other orders.
	Coupons map[string]*coupon.Coupon
	Related map[string]*coupon.Order
}

// maxRelatedRounds bounds how far links between orders are followed.
const maxRelatedRounds = 64

// Audit shows everything to the auditor. Memory holds two pages and all templates,
// however many coupons and orders there are. The policies are handed over first.
func (s *Store) Audit(ctx context.Context, open func(policies map[int64]policy.Policy) Auditor) error {
	err := s.inSnapshot(ctx, func(ctx context.Context, v *snapshot) error {
		policies, templates, err := v.rules(ctx)
		if err != nil {
			return err
		}
		a := open(policies)
		if err := auditPages(ctx, v.eachHistory, a.Coupon); err != nil {
			return err
		}
		if err := auditPages(ctx, v.eachSettlement, a.Order); err != nil {
			return err
		}
		return v.eachTemplate(ctx, templates, a.Template)
	})
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// auditPages shows one row after the other while the next page is on its way.
func auditPages[Row any](
	ctx context.Context, produce func(context.Context, func([]Row) error) error, visit func(Row) error,
) error {
	return pages(ctx, produce, func(rows []Row) error {
		for _, row := range rows {
			if err := visit(row); err != nil {
				return err
			}
		}
		return nil
	})
}

// rules reads all policies and all templates; both are few.
func (v *snapshot) rules(ctx context.Context) (map[int64]policy.Policy, []*coupon.Template, error) {
	policies := map[int64]policy.Policy{}
	var (
		versions  []policy.Policy
		templates []*coupon.Template
	)
	t := &trip{}
	t.query("read policies", dumpPoliciesSQL, list(&versions, v.store.scanPolicy))
	t.query("read templates", dumpTemplatesSQL, list(&templates, scanTemplateRow))
	if err := v.send(ctx, t); err != nil {
		return nil, nil, err
	}
	for _, p := range versions {
		policies[p.Version] = p
	}
	return policies, templates, nil
}

// eachSettlement reads, with each page of orders, what they depend on.
func (v *snapshot) eachSettlement(ctx context.Context, emit func([]Settlement) error) error {
	return v.eachOrder(ctx, func(orders []*coupon.Order) error {
		related, err := v.related(ctx, orders)
		if err != nil {
			return err
		}
		coupons, err := v.named(ctx, orders)
		if err != nil {
			return err
		}
		settlements := make([]Settlement, len(orders))
		for i, o := range orders {
			settlements[i] = Settlement{Order: o, Coupons: coupons, Related: related}
		}
		return emit(settlements)
	})
}

// related gives the orders and all that are linked to them.
func (v *snapshot) related(ctx context.Context, orders []*coupon.Order) (map[string]*coupon.Order, error) {
	known := make(map[string]*coupon.Order, len(orders))
	for _, o := range orders {
		known[o.ID] = o
	}
	for range maxRelatedRounds {
		asked := map[string]bool{}
		var missing []string
		for _, o := range orders {
			for _, id := range o.Links() {
				if known[id] == nil && !asked[id] {
					asked[id] = true
					missing = append(missing, id)
				}
			}
		}
		if len(missing) == 0 {
			return known, nil
		}
		var err error
		if orders, err = v.orders(ctx, missing); err != nil {
			return nil, err
		}
		for _, o := range orders {
			known[o.ID] = o
		}
	}
	return known, nil
}

// named gives the coupons that the orders named.
func (v *snapshot) named(ctx context.Context, orders []*coupon.Order) (map[string]*coupon.Coupon, error) {
	var ids texts
	for _, o := range orders {
		for i := range o.Named {
			ids = append(ids, o.Named[i].Coupon)
		}
	}
	known := make(map[string]*coupon.Coupon, len(ids))
	if len(ids) == 0 {
		return known, nil
	}
	var rows []*coupon.Coupon
	t := &trip{}
	t.query("read the coupons of orders", getCouponsSQL, list(&rows, scanCouponRow), distinct(ids))
	if err := v.send(ctx, t); err != nil {
		return nil, err
	}
	for _, c := range rows {
		known[c.ID] = c
	}
	return known, nil
}

func (v *snapshot) eachTemplate(
	ctx context.Context, templates []*coupon.Template, visit func(coupon.Template, []PersonUse) error,
) error {
	wrong := map[string][]PersonUse{}
	var uses []PersonUse
	t := &trip{}
	t.query("compare the uses of persons", personUsesSQL, list(&uses, scanPersonUse), v.store.options.PageSize, nil)
	if err := v.send(ctx, t); err != nil {
		return err
	}
	for _, use := range uses {
		wrong[use.Template] = append(wrong[use.Template], use)
	}
	for _, template := range templates {
		if err := visit(*template, wrong[template.ID]); err != nil {
			return err
		}
	}
	return nil
}

func scanPersonUse(row scanTarget) (u PersonUse, err error) {
	err = row.Scan(toText{&u.Counter}, &u.Template, &u.Person, &u.Held, &u.Actual)
	return u, err
}
