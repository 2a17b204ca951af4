package simulate

import (
	"cmp"
	"context"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

// loadRules hands over the templates, counters and policies that a fact may need, as
// the database would: those of its coupons, and those that it names.
func (l *Ledger) loadRules(world *coupon.World, fact coupon.Fact) {
	for _, id := range fact.Coupons() {
		l.loadRulesOf(world, id)
	}
	switch f := fact.(type) {
	case coupon.ImportCoupon: // whose coupon the next request may lease
		l.loadTemplate(world, f.Template)
		l.loadUses(world, f.Template, l.person(f.Owner))
	case coupon.ClaimCoupon:
		l.loadTemplate(world, f.Template)
		l.loadClaims(world, f.Template, l.person(f.Person), f.Batch)
	case coupon.IssueCoupons:
		l.loadTemplate(world, f.Template)
		for _, item := range f.Items {
			l.loadClaims(world, f.Template, l.person(item.Person), f.Batch)
		}
	case coupon.Restock:
		l.loadTemplate(world, f.Template)
	case coupon.RecountTemplate:
		l.loadTemplate(world, f.Template)
		l.loadMiscount(world, f.Template)
	case coupon.CreateTemplate:
		l.loadTemplate(world, f.Template)
		l.loadPolicy(world, cmp.Or(f.Terms.PolicyVersion, policy.DefaultVersion))
	case coupon.EditTemplate:
		l.loadTemplate(world, f.Template)
		if f.Set.PolicyVersion != nil {
			l.loadPolicy(world, *f.Set.PolicyVersion)
		}
	case coupon.ResolveReview: // which may issue another coupon to the buyer
		l.loadTemplate(world, f.Template)
		if order := l.orders[f.Order]; order != nil {
			l.loadUses(world, f.Template, order.Customer)
		}
	case coupon.DefineTemplate:
		l.loadTemplate(world, f.Template.ID)
		l.loadPolicy(world, cmp.Or(f.Template.PolicyVersion, policy.DefaultVersion))
	case coupon.DefinePolicy:
		l.loadPolicy(world, f.Policy.Version)
	}
}

// loadRulesOf hands over what a coupon is judged by. Its redemption is judged by the
// policy that was the coupon's when it was used.
func (l *Ledger) loadRulesOf(world *coupon.World, id string) {
	c := l.coupons[id]
	if c == nil {
		return
	}
	l.loadTemplate(world, c.Template)
	l.loadUses(world, c.Template, c.Owner)
	l.loadPolicy(world, c.PolicyVersion)
	for i := range l.redemptions[id] {
		l.loadPolicy(world, l.redemptions[id][i].PolicyVersion)
	}
}

func (l *Ledger) loadTemplate(world *coupon.World, id string) {
	if template := l.templates[id]; template != nil {
		row := *template
		world.AddTemplate(&row)
		l.loadPolicy(world, row.PolicyVersion)
	}
}

func (l *Ledger) loadUses(world *coupon.World, template, person string) {
	if uses := l.uses[usesKey{template, person}]; uses != nil {
		row := *uses
		world.AddUses(&row)
	}
}

// loadClaims hands over what a person has got from a template, and from a batch of it.
func (l *Ledger) loadClaims(world *coupon.World, template, person, batch string) {
	if person == "" {
		return
	}
	l.loadUses(world, template, person)
	if claims := l.claims[usesKey{template, person}]; claims != nil {
		row := *claims
		world.AddClaims(&row)
	}
	numbers := l.numbers[usesKey{template, person}]
	world.AddNumbers(template, person, numbers.most, numbers.claims)
	if batch == "" {
		return
	}
	for id, c := range l.coupons {
		if c.Template == template && c.Owner == person && c.Batch == batch && c.ClaimNo > 0 {
			world.AddInBatch(template, person, batch, id)
		}
	}
}

// loadPersons hands over who the ids stand for that a fact names people by.
func (l *Ledger) loadPersons(world *coupon.World, fact coupon.Fact) {
	personal, ok := fact.(coupon.Personal)
	if !ok {
		return
	}
	for _, id := range personal.Persons() {
		id = coupon.FoldPerson(id)
		if person, alias := l.aliases[id]; alias {
			world.AddAlias(id, person)
		}
	}
}

// person gives the one person that an id stands for.
func (l *Ledger) person(id string) string {
	id = coupon.FoldPerson(id)
	return cmp.Or(l.aliases[id], id)
}

// LinkPerson makes an id another name of a person from now on, together with the other
// names that it has.
func (l *Ledger) LinkPerson(_ context.Context, alias, person, _ string) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	alias, person = coupon.FoldPerson(alias), l.person(person)
	if person == alias {
		return nil // they are one already
	}
	for other, known := range l.aliases {
		if known == alias {
			l.aliases[other] = person
		}
	}
	l.aliases[alias] = person
	return nil
}

func (l *Ledger) loadPolicy(world *coupon.World, version int64) {
	if rules, known := l.policies[version]; known {
		world.AddPolicy(rules)
	}
}
