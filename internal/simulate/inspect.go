package simulate

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

// EachHistory gives every coupon with its evidence, in id order.
func (l *Ledger) EachHistory(_ context.Context, visit func(coupon.History) error) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, id := range slices.Sorted(maps.Keys(l.coupons)) {
		if err := visit(l.history(id)); err != nil {
			return err
		}
	}
	return nil
}

func (l *Ledger) history(id string) coupon.History {
	return coupon.History{
		Coupon:      l.coupons[id].Clone(),
		Operations:  slices.Clone(l.operations[id]),
		Leases:      slices.Clone(l.leases[id]),
		Redemptions: slices.Clone(l.redemptions[id]),
		Decisions:   slices.Clone(l.decisions[id]),
	}
}

// EachOrder gives every order row, in id order.
func (l *Ledger) EachOrder(_ context.Context, visit func(*coupon.Order) error) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, id := range slices.Sorted(maps.Keys(l.orders)) {
		if err := visit(l.orders[id].Clone()); err != nil {
			return err
		}
	}
	return nil
}

// Violations proves every invariant on everything in the ledger.
func (l *Ledger) Violations(context.Context) ([]coupon.Violation, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var broken []coupon.Violation
	usage := map[string]*coupon.Usage{}
	rules := func(version int64) policy.Policy { return l.policies[version] }
	for _, id := range slices.Sorted(maps.Keys(l.coupons)) {
		history := l.evidence(id)
		broken = append(broken, coupon.Check(history)...)
		template := history.Coupon.Template
		if usage[template] == nil {
			usage[template] = &coupon.Usage{}
		}
		usage[template].Add(history, rules)
	}
	for _, id := range slices.Sorted(maps.Keys(l.orders)) {
		broken = append(broken, coupon.CheckOrder(l.orders[id],
			func(id string) *coupon.Coupon { return l.coupons[id] },
			func(id string) *coupon.Order { return l.orders[id] })...)
	}
	for _, id := range slices.Sorted(maps.Keys(l.templates)) {
		var uses []*coupon.Uses
		for key, row := range l.uses {
			if key.template == id {
				uses = append(uses, row)
			}
		}
		var claims []*coupon.Claims
		for key, row := range l.claims {
			if key.template == id {
				claims = append(claims, row)
			}
		}
		truth := coupon.Usage{}
		if counted := usage[id]; counted != nil {
			truth = *counted
		}
		broken = append(broken, coupon.CheckTemplate(l.templates[id], uses, claims, truth)...)
	}
	return broken, nil
}

// evidence gives what is kept about a coupon, without a copy.
func (l *Ledger) evidence(id string) coupon.History {
	return coupon.History{
		Coupon: l.coupons[id], Operations: l.operations[id], Leases: l.leases[id],
		Redemptions: l.redemptions[id], Decisions: l.decisions[id],
	}
}

// Reviews lists the cases opened, oldest first.
func (l *Ledger) Reviews(context.Context) ([]coupon.ReviewRow, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.reviews), nil
}

// Expirable lists, after cursor and in id order, free coupons whose validity is
// over.
func (l *Ledger) Expirable(_ context.Context, cursor string, limit int) ([]string, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now := l.Now()
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(l.coupons)) {
		if row := l.coupons[id]; id > cursor && row.State == coupon.Available && row.Over(now) && len(ids) < limit {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// DueTimers lists the armed timers that are due, earliest first.
func (l *Ledger) DueTimers(_ context.Context, limit int) ([]coupon.Timer, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now := l.Now()
	var due []coupon.Timer
	for _, timer := range l.timers {
		row := l.coupons[timer.Coupon]
		if !timer.Due.After(now) && row.Lease != nil && row.Lease.ID == timer.LeaseID {
			due = append(due, timer)
		}
	}
	slices.SortStableFunc(due, func(a, b coupon.Timer) int {
		return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.LeaseID, b.LeaseID))
	})
	return due[:min(len(due), limit)], nil
}

// History gives one coupon with its evidence.
func (l *Ledger) History(_ context.Context, id string) (coupon.History, bool, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.coupons[id] == nil {
		return coupon.History{}, false, nil
	}
	return l.history(id), true, nil
}

// Answer gives what a command was answered under a key; nil when there was none.
func (l *Ledger) Answer(_ context.Context, key string) (*coupon.Answer, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if answer := l.answers[key]; answer != nil {
		kept := *answer
		return &kept, nil
	}
	return nil, nil
}

// Template gives a template, and whether it exists.
func (l *Ledger) Template(_ context.Context, id string) (coupon.Template, bool, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if template := l.templates[id]; template != nil {
		return *template, true, nil
	}
	return coupon.Template{}, false, nil
}

// Claimants lists, after one and in order, persons who have a coupon of a template that they
// claimed or were issued.
func (l *Ledger) Claimants(_ context.Context, template, after string, limit int) ([]string, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	owners := map[string]bool{}
	for _, c := range l.coupons {
		if c.Template == template && c.ClaimNo > 0 && c.Owner > after {
			owners[c.Owner] = true
		}
	}
	sorted := slices.Sorted(maps.Keys(owners))
	return sorted[:min(limit, len(sorted))], nil
}

// Flow gives the steps of a redemption at a till, first to last.
func (l *Ledger) Flow(_ context.Context, redeemNo string) ([]coupon.FlowRow, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.flows[redeemNo]), nil
}

// Order gives the row of an order, empty if nothing is known of it.
func (l *Ledger) Order(_ context.Context, id string) (*coupon.Order, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if row := l.orders[id]; row != nil {
		return row.Clone(), nil
	}
	return &coupon.Order{ID: id}, nil
}
