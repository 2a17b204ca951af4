package simulate

import (
	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

// loadTruth hands over what the coupons of a template say about its counters, and those of
// all its persons.
func (l *Ledger) loadTruth(world *coupon.World, template string) {
	truth := coupon.Usage{Persons: map[string]int64{}, Claimed: map[string]int64{}}
	for key := range l.uses {
		if key.template == template {
			truth.Persons[key.person] = 0
			l.loadUses(world, template, key.person)
		}
	}
	for key, claims := range l.claims {
		if key.template == template {
			truth.Claimed[key.person] = 0
			row := *claims
			world.AddClaims(&row)
		}
	}
	rules := func(version int64) policy.Policy { return l.policies[version] }
	for id, c := range l.coupons {
		if c.Template == template {
			truth.Add(l.history(id), rules)
		}
	}
	world.AddTruth(template, truth)
}
