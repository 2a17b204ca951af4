package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"couponlease/internal/claims"
	"couponlease/internal/coupon"
)

// openDesk gives a run with claims a desk for them, in front of whatever ledger it has by
// then.
func (r *run) openDesk() {
	r.pool = NewPool()
	claiming := slices.ContainsFunc(r.c.Sequence, func(s Step) bool { return s.Do == "Claim" })
	if !claiming {
		return
	}
	r.desk = claims.New(asEngine{r}, r.pool, asBooks{r}, asTeller{r}, claims.Options{
		Now: func() time.Time { return r.now },
	})
}

func (r *run) close(ctx context.Context) error {
	if r.desk == nil {
		return nil
	}
	return r.desk.Close(ctx)
}

// submit asks for one thing, by way of the desk if there is one.
func (r *run) submit(ctx context.Context, request coupon.Request) (coupon.Outcome, error) {
	if r.desk == nil {
		return r.apply(ctx, request)
	}
	outcomes, errs := r.desk.SubmitAll(ctx, []coupon.Request{request})
	if a := outcomes[0].Answer; a != nil && a.Kind == "ClaimCoupon" && a.Coupon != "" && !slices.Contains(r.coupons, a.Coupon) {
		r.coupons = append(r.coupons, a.Coupon)
	}
	return outcomes[0], errs[0]
}

// asEngine applies each request in a transaction of its own.
type asEngine struct{ *run }

func (e asEngine) SubmitAll(ctx context.Context, requests []coupon.Request) ([]coupon.Outcome, []error) {
	outcomes, errs := make([]coupon.Outcome, len(requests)), make([]error, len(requests))
	for i := range requests {
		outcomes[i], errs[i] = e.apply(ctx, requests[i])
	}
	return outcomes, errs
}

type asBooks struct{ *run }

func (b asBooks) Template(ctx context.Context, id string) (coupon.Template, bool, error) {
	return b.backend.Template(ctx, id)
}

func (b asBooks) AnswersTo(ctx context.Context, keys []string) (map[string]*coupon.Answer, error) {
	known := map[string]*coupon.Answer{}
	for _, key := range keys {
		answer, err := b.backend.Answer(ctx, key)
		if err != nil {
			return nil, err
		}
		if answer != nil {
			known[key] = answer
		}
	}
	return known, nil
}

func (b asBooks) Claimants(ctx context.Context, template, after string, limit int) ([]string, error) {
	return b.backend.Claimants(ctx, template, after, limit)
}

// Alone: a run does one thing at a time.
func (b asBooks) Alone(ctx context.Context, _ string, work func(context.Context) error) error {
	return work(ctx)
}

// asTeller keeps the events that a desk sends by itself.
type asTeller struct{ *run }

func (t asTeller) Tell(_ context.Context, refusals []claims.Refusal) []error {
	for _, refusal := range refusals {
		t.events = append(t.events, claims.Rejection(refusal, t.now))
	}
	return make([]error, len(refusals))
}

// claim translates a claim; the template is T1 unless another is named.
func (r *run) claim(step *Step) coupon.Fact {
	f := coupon.ClaimCoupon{Template: r.name(r.template(step.Template))}
	if step.Customer != nil {
		f.Person = r.name(*step.Customer)
	}
	return f
}

// edit translates a change of a template: what Set names, null for no limit and no end.
func (r *run) edit(ctx context.Context, step *Step) (coupon.Fact, error) {
	id := r.template(step.Template)
	f := coupon.EditTemplate{Template: r.name(id)}
	set := map[string]json.RawMessage{}
	if len(step.Set) > 0 {
		if err := json.Unmarshal(step.Set, &set); err != nil {
			return nil, fmt.Errorf("set: %w", err)
		}
	}
	for _, name := range sortedKeys(set) {
		if err := r.editTerm(ctx, &f.Set, id, name, set[name]); err != nil {
			return nil, fmt.Errorf("set %s: %w", name, err)
		}
	}
	return f, nil
}

func (r *run) editTerm(ctx context.Context, set *coupon.TermsEdit, id, name string, value json.RawMessage) error {
	limits := map[string]**int64{
		"total": &set.Total, "perUser": &set.PerPerson, "perDay": &set.PerDay, "budget": &set.Budget,
		"perUserUses": &set.UsesPerPerson,
	}
	if field := limits[name]; field != nil {
		var n *int64
		err := json.Unmarshal(value, &n)
		most := limit(n)
		*field = &most
		return err
	}
	switch name {
	case "status":
		return json.Unmarshal(value, &set.Status)
	case "days":
		return json.Unmarshal(value, &set.ValidDays)
	case "tz":
		return json.Unmarshal(value, &set.Zone)
	case "until":
		until, err := TemplateSetup{Until: value}.until(r.t0)
		set.ValidUntil = &until
		return err
	case "policy":
		return r.editPolicy(ctx, set, id, value)
	default:
		return unsupportedError{"EditTemplate of " + name}
	}
}

// editPolicy makes a return policy that differs from the template's first one in what the
// edit says.
func (r *run) editPolicy(ctx context.Context, set *coupon.TermsEdit, id string, value json.RawMessage) error {
	setup := r.c.Setup.Templates[id].Policy
	if err := json.Unmarshal(value, &setup); err != nil {
		return err
	}
	r.edits++
	rules, err := setup.policy(policyVersion(r.space, maxTemplatesOfCase+r.edits))
	if err != nil {
		return err
	}
	_, err = r.apply(ctx, coupon.Request{At: r.now, Fact: coupon.DefinePolicy{Policy: rules}})
	set.PolicyVersion = &rules.Version
	return err
}

// maxTemplatesOfCase keeps the policies of edits apart from those of the setup.
const maxTemplatesOfCase = 1000

// eraser is a ledger that can forget a person.
type eraser interface {
	ErasePerson(ctx context.Context, id string) error
}

func (r *run) erase(ctx context.Context, step *Step) (string, error) {
	ledger, able := r.backend.(eraser)
	if !able || step.Customer == nil {
		return "", unsupportedError{"EraseCustomer"}
	}
	if err := ledger.ErasePerson(ctx, r.name(*step.Customer)); err != nil {
		return "", err
	}
	if r.desk == nil {
		return string(coupon.OK), nil
	}
	for _, id := range r.templates { // replicas see the new generations within seconds
		if err := r.desk.Rebuild(ctx, r.name(id)); err != nil {
			return "", fmt.Errorf("fill the pool anew: %w", err)
		}
	}
	return string(coupon.OK), nil
}

// quota is how a template stands in the books and in the pool.
type quota struct {
	template coupon.Template
	level    claims.Level
}

// readQuotas looks at all templates of the case.
func (r *run) readQuotas(ctx context.Context) error {
	r.quotas = map[string]quota{}
	for _, id := range r.templates {
		t, found, err := r.backend.Template(ctx, r.name(id))
		if err != nil || !found {
			return errors.Join(err, fmt.Errorf("template %s is there: %t", id, found))
		}
		level, err := r.pool.Level(ctx, t.ID)
		if err != nil {
			return err
		}
		r.quotas[id] = quota{t, level}
	}
	return nil
}

// drifts compares the pool with the books.
func (r *run) drifts(ctx context.Context) ([]coupon.Finding, error) {
	if err := r.readQuotas(ctx); err != nil {
		return nil, err
	}
	var findings []coupon.Finding
	for _, id := range sortedKeys(r.quotas) {
		t, level := r.quotas[id].template, r.quotas[id].level
		if level.Loaded && (level.Generation != t.Generation || level.Left != t.Left()) {
			findings = append(findings, coupon.Finding{Fault: coupon.FaultQuotaDrift, Subject: t.ID, Template: t.ID})
		}
	}
	return findings, nil
}

// assertQuota: so many were issued under the quota, and so much is left in the pool.
func assertQuota(r *run, _ map[string]coupon.History, want json.RawMessage) (string, error) {
	var wanted map[string]struct{ Issued, RedisRemaining *int64 }
	if err := json.Unmarshal(want, &wanted); err != nil {
		return "", err
	}
	for _, id := range sortedKeys(wanted) {
		got, known := r.quotas[id]
		issued, left := wanted[id].Issued, wanted[id].RedisRemaining
		switch {
		case !known:
			return fmt.Sprintf("%s: there is no such template", id), nil
		case issued != nil && *issued != got.template.Issued:
			return fmt.Sprintf("%s: expected %d issued, got %d", id, *issued, got.template.Issued), nil
		case left != nil && (!got.level.Loaded || *left != got.level.Left):
			return fmt.Sprintf("%s: expected %d remaining, got %d (loaded: %t)", id, *left, got.level.Left, got.level.Loaded), nil
		}
	}
	return "", nil
}
