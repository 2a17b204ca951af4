package simulate

import (
	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

// loadMiscount hands over how far the counters of a template are wrong, and those of all its
// persons.
func (l *Ledger) loadMiscount(world *coupon.World, template string) {
	t := l.templates[template]
	if t == nil {
		return
	}
	var truth coupon.Usage
	rules := func(version int64) policy.Policy { return l.policies[version] }
	for id, c := range l.coupons {
		if c.Template == template {
			truth.Add(l.history(id), rules)
		}
	}
	uses, claims := map[string]int64{}, map[string]int64{}
	for key, counted := range l.uses {
		if key.template == template {
			uses[key.person] = counted.Held
			l.loadUses(world, template, key.person)
		}
	}
	for key, counted := range l.claims {
		if key.template == template {
			claims[key.person] = counted.Count
			row := *counted
			world.AddClaims(&row)
			numbers := l.numbers[key]
			world.AddNumbers(template, key.person, numbers.most, numbers.claims)
		}
	}
	world.AddMiscount(template, coupon.Miscount{
		Issued: truth.Issued - t.Issued, Imported: truth.Imported - t.Imported, Held: truth.Held - t.Held,
		Uses: behind(truth.Persons, uses), Claims: behind(truth.Claimed, claims),
	})
}

// behind gives how far counters are behind what is actually so, where they are.
func behind(actual, counted map[string]int64) map[string]int64 {
	all := map[string]int64{}
	for person, n := range counted {
		all[person] -= n
	}
	for person, n := range actual {
		all[person] += n
	}
	for person, n := range all {
		if n == 0 {
			delete(all, person)
		}
	}
	return all
}
