package simulate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"couponlease/internal/claims"
	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

const (
	// defaultValidity is how long the coupons of a case are valid.
	defaultValidity = 30 * 24 * time.Hour
	// defaultOwner owns the coupons of a case, and defaultTemplate is theirs.
	defaultOwner    = "u1"
	defaultTemplate = "T1"
)

// prepare defines the templates and issues the coupons of the case.
func (r *run) prepare(ctx context.Context) error {
	coupons := map[string]CouponSetup{"c1": {}}
	if r.c.Setup.Coupons != nil {
		coupons = *r.c.Setup.Coupons
	}
	templates := map[string]TemplateSetup{}
	maps.Copy(templates, r.c.Setup.Templates)
	named := []string{r.template("")}
	for _, id := range sortedKeys(coupons) {
		named = append(named, r.template(coupons[id].Template))
	}
	for _, step := range r.c.Sequence {
		named = append(named, r.template(step.Template))
	}
	for _, id := range named {
		if _, known := templates[id]; !known {
			templates[id] = TemplateSetup{}
		}
	}
	for _, alias := range sortedKeys(r.c.Setup.Identity) {
		if err := r.backend.LinkPerson(ctx, r.name(alias), r.name(r.c.Setup.Identity[alias]), "case"); err != nil {
			return err
		}
	}
	r.templates = sortedKeys(templates)
	for index, id := range r.templates {
		if err := r.defineTemplate(ctx, id, templates[id], int64(index)); err != nil {
			return fmt.Errorf("template %s: %w", id, err)
		}
	}
	for _, id := range sortedKeys(coupons) {
		if err := r.issue(ctx, id, coupons[id]); err != nil {
			return fmt.Errorf("coupon %s: %w", id, err)
		}
	}
	r.events = nil
	return nil
}

// fill gives the pool the stock of a template, unless the case says that it has none.
func (r *run) fill(ctx context.Context, id string) error {
	if loaded := r.c.Setup.RedisLoaded; loaded != nil && !*loaded {
		return nil
	}
	t, _, err := r.backend.Template(ctx, id)
	if err != nil || !t.Rationed() {
		return err
	}
	return r.pool.Load(ctx, claims.StockOf(&t))
}

// template gives the template meant where none is named: T1, or the only one.
func (r *run) template(named string) string {
	known := sortedKeys(r.c.Setup.Templates)
	if named == "" && len(known) == 1 {
		return known[0]
	}
	return cmp.Or(named, defaultTemplate)
}

func (r *run) issue(ctx context.Context, code string, setup CouponSetup) error {
	owner := defaultOwner
	if setup.Owner != nil {
		owner = ""
		if err := json.Unmarshal(setup.Owner, &owner); err != nil {
			return fmt.Errorf("owner: %w", err)
		}
	}
	f := coupon.ImportCoupon{
		Code: r.code(code), Template: r.name(r.template(setup.Template)), Owner: r.name(owner),
	}
	if setup.From != nil {
		f.ValidFrom = setup.From.From(r.t0)
	}
	if setup.Until != nil {
		f.ValidUntil = setup.Until.From(r.t0)
	}
	outcome, err := r.apply(ctx, coupon.Request{At: r.now, Fact: f})
	if err != nil {
		return err
	}
	if outcome.Code != coupon.Created {
		return fmt.Errorf("not issued: %s", outcome.Code)
	}
	r.coupons = append(r.coupons, r.coupon(code))
	return nil
}

func (r *run) defineTemplate(ctx context.Context, id string, setup TemplateSetup, index int64) error {
	rules, err := setup.Policy.policy(policyVersion(r.space, index))
	if err != nil {
		return err
	}
	template := coupon.Template{ID: r.name(id), Terms: coupon.Terms{
		Status: coupon.TemplateStatus(setup.Status), PolicyVersion: rules.Version, ValidDays: setup.Days, Zone: setup.TZ,
		Total: limit(setup.Total), PerPerson: limit(setup.PerUser), PerDay: limit(setup.PerDay),
		Budget: limit(setup.Budget), UsesPerPerson: limit(setup.PerUserUses),
	}}
	if template.ValidUntil, err = setup.until(r.t0); err != nil {
		return err
	}
	if _, err := r.apply(ctx, coupon.Request{At: r.now, Fact: coupon.DefinePolicy{Policy: rules}}); err != nil {
		return err
	}
	outcome, err := r.apply(ctx, coupon.Request{At: r.now, Fact: coupon.DefineTemplate{Template: template}})
	if err == nil && outcome.Code != coupon.Created {
		err = fmt.Errorf("not defined: %s %s", outcome.Code, outcome.Detail)
	}
	if err != nil {
		return err
	}
	return r.fill(ctx, template.ID)
}

// until reads the end of validity: absent is the default, null is none.
func (t TemplateSetup) until(t0 time.Time) (time.Time, error) {
	switch {
	case t.Until == nil && t.Days > 0:
		return time.Time{}, nil
	case t.Until == nil:
		return t0.Add(defaultValidity), nil
	}
	var at *Instant
	if err := json.Unmarshal(t.Until, &at); err != nil {
		return time.Time{}, fmt.Errorf("until: %w", err)
	}
	if at == nil {
		return time.Time{}, nil
	}
	return at.From(t0), nil
}

// policyVersion gives each run a version of its own above the standard ones.
func policyVersion(space string, index int64) int64 {
	sum := sha256.Sum256([]byte(space))
	var version int64
	for _, b := range sum[:6] {
		version = version<<8 | int64(b)
	}
	return 1000 + version + index
}

func (s PolicySetup) policy(version int64) (policy.Policy, error) {
	rules := policy.Default()
	rules.Version, rules.BudgetBack = version, s.BudgetBack
	rules.Full = policy.Decision(cmp.Or(s.Full, string(rules.Full)))
	rules.Partial = policy.Decision(cmp.Or(s.Partial, string(rules.Partial)))
	rules.Chargeback = policy.Decision(cmp.Or(s.Chargeback, string(rules.Chargeback)))
	var err error
	if rules.ExtendDays, err = policy.ParseExpired(s.Expired); err != nil {
		return rules, err
	}
	return rules, rules.Validate()
}

func limit(n *int64) int64 {
	if n == nil {
		return coupon.NoLimit
	}
	return *n
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
