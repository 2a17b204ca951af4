package simulate

import (
	"cmp"

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
		l.loadUses(world, f.Template, f.Owner)
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

func (l *Ledger) loadPolicy(world *coupon.World, version int64) {
	if rules, known := l.policies[version]; known {
		world.AddPolicy(rules)
	}
}
