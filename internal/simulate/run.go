package simulate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

// Backend is a ledger under a clock that the runner sets.
type Backend interface {
	Apply(ctx context.Context, requests []coupon.Request, decide func(*coupon.World)) error
	History(ctx context.Context, id string) (coupon.History, bool, error)
	Order(ctx context.Context, id string) (*coupon.Order, error)
	Expirable(ctx context.Context, cursor string, limit int) ([]string, error)
}

// Open gives a backend for one run: its clock, its rules and its source of ids
// and tokens.
type Open func(now func() time.Time, rules coupon.Rules, source coupon.Source) Backend

// unsupportedError names an operation of a case that does not exist yet.
type unsupportedError struct{ what string }

func (e unsupportedError) Error() string { return "unsupported: " + e.what }

// run is one interleaving of one case on a fresh world.
type run struct {
	c       *Case
	backend Backend
	// space keeps the ids of this run apart from those of all others.
	space string
	t0    time.Time
	now   time.Time

	coupons []string
	orders  []string
	events  []coupon.Event
	reviews []coupon.ReviewRow
	decided []coupon.RefundDecision
	first   map[string]time.Time
	results []string
	clock   int
}

func newRun(c *Case, open Open, space string) *run {
	r := &run{c: c, space: strings.ToLower(space), first: map[string]time.Time{}}
	r.t0 = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	if !c.Setup.T0.absolute.IsZero() {
		r.t0 = c.Setup.T0.absolute
	}
	r.now = r.t0
	rules := coupon.DefaultRules()
	rules.Stacking = coupon.Stacking(cmp.Or(c.Setup.Config.Stacking, string(rules.Stacking)))
	if seconds := c.Setup.Config.OrderLease; seconds != nil {
		rules.OrderLease = time.Duration(*seconds) * time.Second
	}
	// A case may tell of a fact long before or after its delivery.
	rules.FutureTolerance = 100 * 365 * 24 * time.Hour
	r.backend = open(func() time.Time { return r.now }, rules, NewSource(r.space))
	return r
}

func (r *run) name(id string) string {
	if id == "" {
		return ""
	}
	return r.space + id
}

func (r *run) coupon(code string) string { return r.space + coupon.Fold(code) }

// play runs the steps in the given order; after each one the invariants hold.
func (r *run) play(ctx context.Context, order []int) error {
	if err := r.prepare(ctx); err != nil {
		return fmt.Errorf("setup: %w", err)
	}
	r.results = make([]string, len(r.c.Sequence))
	for _, index := range order {
		step := &r.c.Sequence[index]
		if at := step.T.From(r.t0); at.After(r.now) {
			r.now = at
		}
		for delivery := range max(1, step.Times) {
			result, err := r.step(ctx, step)
			if err != nil {
				return fmt.Errorf("step %d (%s): %w", index, step.Do, err)
			}
			if delivery == 0 {
				r.results[index] = result
			}
			if err := r.check(ctx); err != nil {
				return fmt.Errorf("after step %d (%s): %w", index, step.Do, err)
			}
		}
	}
	return nil
}

func (r *run) step(ctx context.Context, step *Step) (string, error) {
	switch step.Do {
	case "Import":
		return r.importCodes(ctx, step)
	case "ExpireScan":
		return r.expireScan(ctx)
	}
	fact, err := r.fact(ctx, step)
	if err != nil {
		return "", err
	}
	request := r.request(step, fact)
	switch step.Fault {
	case "":
	case "crash_before_commit", "db_commit_fail":
		return r.crash(ctx, request, step.Fault)
	default:
		return "", unsupportedError{"fault " + step.Fault}
	}
	outcome, err := r.apply(ctx, request)
	if err != nil {
		return "", err
	}
	return string(outcome.Code), nil
}

// request gives the message of a step. Its identity, content and own time stay
// the same however often it is delivered.
func (r *run) request(step *Step, fact coupon.Fact) coupon.Request {
	r.clock++
	at := step.T.From(r.t0)
	if step.OccurredAt != nil {
		at = step.OccurredAt.From(r.t0)
	}
	id := step.EventID
	if id == "" {
		id = fmt.Sprintf("step-%d", r.clock)
	} else if known, ok := r.first[id]; ok && step.OccurredAt == nil {
		at = known
	}
	r.first[id] = at
	content := *step
	content.T, content.OccurredAt, content.Par = Instant{}, nil, ""
	content.Times, content.Fault, content.EventID = 0, "", ""
	body, _ := json.Marshal(content)
	return coupon.Request{ID: r.name(id), Hash: sha256.Sum256(body), At: at, Actor: "case", Fact: fact}
}

// apply runs one request in its own transaction and keeps what it announced.
func (r *run) apply(ctx context.Context, request coupon.Request) (coupon.Outcome, error) {
	var outcome coupon.Outcome
	var changes *coupon.Changes
	err := r.backend.Apply(ctx, []coupon.Request{request}, func(w *coupon.World) {
		outcome = coupon.Decide(w, &request)
		changes = w.Seal()
	})
	if err != nil {
		return outcome, err
	}
	for _, event := range changes.Events {
		r.events = append(r.events, *event)
	}
	for _, review := range changes.Reviews {
		r.reviews = append(r.reviews, *review)
	}
	for _, decision := range changes.Decisions {
		r.decided = append(r.decided, *decision)
	}
	return outcome, nil
}

// crash decides and dies before the commit: nothing may be kept.
func (r *run) crash(ctx context.Context, request coupon.Request, fault string) (string, error) {
	dying, die := context.WithCancel(ctx)
	defer die()
	err := r.backend.Apply(dying, []coupon.Request{request}, func(w *coupon.World) {
		coupon.Decide(w, &request)
		w.Seal()
		die()
	})
	switch {
	case err == nil:
		return "", errors.New("a transaction survived the death of its process")
	case fault == "db_commit_fail":
		return "RETRYABLE_ERROR", nil
	default:
		return "CRASHED", nil
	}
}

func (r *run) importCodes(ctx context.Context, step *Step) (string, error) {
	var created, skipped int
	for _, code := range step.Codes {
		id := r.coupon(code)
		outcome, err := r.apply(ctx, coupon.Request{At: r.now, Fact: coupon.ImportCoupon{
			Code: id, Template: r.name("T1"),
		}})
		if err != nil {
			return "", err
		}
		if outcome.Code == coupon.Created {
			created++
			r.coupons = append(r.coupons, id)
		} else {
			skipped++
		}
	}
	return fmt.Sprintf("CREATED:%d,SKIPPED:%d", created, skipped), nil
}

func (r *run) expireScan(ctx context.Context) (string, error) {
	const page = 100
	var expired int
	for cursor := ""; ; {
		ids, err := r.backend.Expirable(ctx, cursor, page)
		if err != nil {
			return "", err
		}
		for _, id := range ids {
			cursor = id
			if !slices.Contains(r.coupons, id) {
				continue
			}
			outcome, err := r.apply(ctx, coupon.Request{At: r.now, Fact: coupon.ValidityOver{Coupon: id}})
			if err != nil {
				return "", err
			}
			if outcome.Code == coupon.Lapsed {
				expired++
			}
		}
		if len(ids) < page {
			return fmt.Sprintf("EXPIRED:%d", expired), nil
		}
	}
}

// check proves the invariants on everything this run knows of.
func (r *run) check(ctx context.Context) error {
	rows := map[string]*coupon.Coupon{}
	for _, id := range r.coupons {
		history, found, err := r.backend.History(ctx, id)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("coupon %s is gone", id)
		}
		rows[id] = history.Coupon
		if broken := coupon.Check(history); len(broken) > 0 {
			return errors.New(broken[0].String())
		}
	}
	orders := map[string]*coupon.Order{}
	for _, id := range r.orders {
		row, err := r.backend.Order(ctx, id)
		if err != nil {
			return err
		}
		orders[id] = row
	}
	for _, id := range r.orders {
		broken := coupon.CheckOrder(orders[id],
			func(coupon string) *coupon.Coupon { return rows[coupon] },
			func(order string) *coupon.Order { return orders[order] })
		if len(broken) > 0 {
			return errors.New(broken[0].String())
		}
	}
	return nil
}

// prepare defines the templates and issues the coupons of the case.
func (r *run) prepare(ctx context.Context) error {
	templates := r.c.Setup.Templates
	if templates["T1"].isZero() && len(templates) == 0 {
		templates = map[string]TemplateSetup{"T1": {}}
	}
	for index, id := range sortedKeys(templates) {
		if err := r.defineTemplate(ctx, id, templates[id], int64(index)); err != nil {
			return err
		}
	}
	owner := "u1"
	coupons := map[string]CouponSetup{"c1": {}}
	if r.c.Setup.Coupons != nil {
		coupons = *r.c.Setup.Coupons
	}
	for _, id := range sortedKeys(coupons) {
		setup := coupons[id]
		if setup.Owner == nil {
			setup.Owner = &owner
		}
		folded := r.coupon(id)
		_, err := r.apply(ctx, coupon.Request{At: r.now, Fact: coupon.ImportCoupon{
			Code: folded, Template: r.name(cmp.Or(setup.Template, "T1")), Owner: r.person(*setup.Owner),
		}})
		if err != nil {
			return err
		}
		r.coupons = append(r.coupons, folded)
	}
	r.events = nil
	return nil
}

// person resolves an alias to the one person behind it.
func (r *run) person(id string) string {
	if alias, known := r.c.Setup.Identity[id]; known {
		id = alias
	}
	return r.name(id)
}

func (r *run) defineTemplate(ctx context.Context, id string, setup TemplateSetup, index int64) error {
	rules, err := setup.Policy.policy(policyVersion(r.space, index))
	if err != nil {
		return err
	}
	template := coupon.Template{
		ID: r.name(id), Status: coupon.TemplateStatus(cmp.Or(setup.Status, "ACTIVE")),
		Budget: limit(setup.Budget), UsesPerPerson: limit(setup.PerUserUses),
		PolicyVersion: rules.Version, ValidDays: setup.Days, Zone: setup.TZ,
	}
	if template.ValidUntil, err = setup.until(r.t0); err != nil {
		return err
	}
	if _, err := r.apply(ctx, coupon.Request{At: r.now, Fact: coupon.DefinePolicy{Policy: rules}}); err != nil {
		return err
	}
	_, err = r.apply(ctx, coupon.Request{At: r.now, Fact: coupon.DefineTemplate{Template: template}})
	return err
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
