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

	"couponlease/internal/claims"
	"couponlease/internal/coupon"
)

// Backend is a ledger under a clock that the runner sets.
type Backend interface {
	Apply(ctx context.Context, requests []coupon.Request, decide func(*coupon.World)) error
	History(ctx context.Context, id string) (coupon.History, bool, error)
	Order(ctx context.Context, id string) (*coupon.Order, error)
	Expirable(ctx context.Context, cursor string, limit int) ([]string, error)
	Template(ctx context.Context, id string) (coupon.Template, bool, error)
	Answer(ctx context.Context, key string) (*coupon.Answer, error)
	Claimants(ctx context.Context, template, after string, limit int) ([]string, error)
	LinkPerson(ctx context.Context, alias, person, actor string) error
}

// auditor is a backend that can judge everything it holds, because it holds one
// run only.
type auditor interface {
	Violations(ctx context.Context) ([]coupon.Violation, error)
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

	coupons, templates []string
	orders             []string
	events             []coupon.Event
	reviews            []coupon.ReviewRow
	decided            []coupon.RefundDecision
	// first is when each fact happened, by event id: a message that comes again
	// tells of the same moment.
	first   map[string]time.Time
	results []string

	// pool and desk are what claims go through; edits counts the changes to templates, and
	// quotas are how those stand at the end.
	pool   *Pool
	desk   *claims.Desk
	edits  int64
	quotas map[string]quota
}

func newRun(c *Case, open Open, space string) *run {
	r := &run{c: c, space: strings.ToLower(space), first: map[string]time.Time{}}
	r.t0 = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	if c.Setup.T0 != nil && !c.Setup.T0.absolute.IsZero() {
		r.t0 = c.Setup.T0.absolute
	}
	r.now = r.t0
	rules := coupon.DefaultRules()
	rules.Stacking = coupon.Stacking(cmp.Or(c.Setup.Config.Stacking, string(rules.Stacking)))
	for _, config := range []struct {
		seconds *int64
		rule    *time.Duration
	}{
		{c.Setup.Config.OrderLease, &rules.OrderLease},
		{c.Setup.Config.QuoteLease, &rules.QuoteLease},
		{c.Setup.Config.RenewCap, &rules.RenewGrace},
	} {
		if config.seconds != nil {
			*config.rule = time.Duration(*config.seconds) * time.Second
		}
	}
	// A case may tell of a fact long before or after its delivery.
	rules.FutureTolerance = 100 * 365 * 24 * time.Hour
	r.backend = open(func() time.Time { return r.now }, rules, NewSource(r.space))
	r.openDesk()
	return r
}

func (r *run) name(id string) string {
	if id == "" {
		return ""
	}
	return r.space + id
}

// code gives a coupon code of this run, as it would be written: with its letter
// case and the white space around it.
func (r *run) code(written string) string {
	bare := strings.TrimSpace(written)
	if bare == "" {
		return written
	}
	return strings.Replace(written, bare, r.space+bare, 1)
}

// coupon gives the id of the coupon with that code.
func (r *run) coupon(written string) string { return coupon.Fold(r.code(written)) }

// play runs the steps in the given order; after each one the invariants hold.
func (r *run) play(ctx context.Context, order []int) error {
	if err := r.prepare(ctx); err != nil {
		return fmt.Errorf("setup: %w", err)
	}
	r.results = make([]string, len(r.c.Sequence))
	for _, index := range order {
		step := &r.c.Sequence[index]
		if step.T != nil && step.T.From(r.t0).After(r.now) {
			r.now = step.T.From(r.t0)
		}
		for delivery := range max(1, step.Times) {
			result, err := r.step(ctx, step, index)
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

// step does one step. A step with a fault is done by a process that dies, or
// loses the database, before its transaction commits.
func (r *run) step(ctx context.Context, step *Step, index int) (string, error) {
	answer := ""
	switch step.Fault {
	case "":
	case "crash_before_commit", "crash_after_redis":
		answer = "CRASHED"
	case "db_commit_fail":
		answer = "RETRYABLE_ERROR"
	default:
		return "", unsupportedError{"fault " + step.Fault}
	}
	if answer != "" {
		backend := r.backend
		r.backend = dying{backend}
		defer func() { r.backend = backend }()
	}
	result, err := r.do(ctx, step, index)
	switch {
	case answer == "":
		return result, err
	case errors.Is(err, errDied):
		return answer, nil
	case err == nil: // it had nothing to write
		return result, nil
	default:
		return "", err
	}
}

func (r *run) do(ctx context.Context, step *Step, index int) (string, error) {
	switch step.Do {
	case "Import":
		return r.importCodes(ctx, step)
	case "ExpireScan":
		return r.expireScan(ctx)
	case "Reconcile":
		return r.reconcile(ctx, step, index)
	case "EraseCustomer":
		return r.erase(ctx, step)
	}
	fact, err := r.fact(ctx, step)
	if err != nil {
		return "", err
	}
	request := r.request(step, index, fact)
	if _, command := fact.(coupon.Command); command {
		request.Key = r.name(cmp.Or(step.Key, step.Request, fmt.Sprintf("step-%d", index)))
	}
	outcome, err := r.submit(ctx, request)
	if outcome.Answer != nil { // a repeated command is answered as it was
		return string(outcome.Answer.Code), err
	}
	return string(outcome.Code), err
}

// request gives the message of a step. Its identity, content and own time stay
// the same however often it is delivered.
func (r *run) request(step *Step, index int, fact coupon.Fact) coupon.Request {
	id := cmp.Or(step.EventID, fmt.Sprintf("step-%d", index))
	at, known := r.first[id]
	switch {
	case step.OccurredAt != nil:
		at = step.OccurredAt.From(r.t0)
	case known:
	case step.T != nil:
		at = step.T.From(r.t0)
	default:
		at = r.now
	}
	r.first[id] = at
	content := *step
	content.T, content.OccurredAt, content.Par = nil, nil, ""
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
		return coupon.Outcome{}, err
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

// errDied is how the runner learns that a process died before its commit.
var errDied = errors.New("the process died before its commit")

// dying is a backend whose process dies between a decision and its commit.
type dying struct{ Backend }

func (d dying) Apply(ctx context.Context, requests []coupon.Request, decide func(*coupon.World)) error {
	doomed, die := context.WithCancelCause(ctx)
	defer die(nil)
	err := d.Backend.Apply(doomed, requests, func(w *coupon.World) {
		decide(w)
		die(errDied)
	})
	if err == nil {
		return errors.New("a transaction survived the death of its process")
	}
	if errors.Is(context.Cause(doomed), errDied) {
		return errDied
	}
	return err
}

func (r *run) importCodes(ctx context.Context, step *Step) (string, error) {
	var created, skipped int
	for _, code := range step.Codes {
		outcome, err := r.apply(ctx, coupon.Request{At: r.now, Fact: coupon.ImportCoupon{
			Code: r.code(code), Template: r.name(r.template(step.Template)),
		}})
		if err != nil {
			return "", err
		}
		if outcome.Code == coupon.Created {
			created++
			r.coupons = append(r.coupons, r.coupon(code))
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
	var broken []coupon.Violation
	var err error
	if audit, whole := r.backend.(auditor); whole {
		broken, err = audit.Violations(ctx)
	} else {
		broken, err = r.violations(ctx)
	}
	if err == nil && len(broken) > 0 {
		return errors.New(broken[0].String())
	}
	return err
}

func (r *run) violations(ctx context.Context) ([]coupon.Violation, error) {
	var broken []coupon.Violation
	rows := map[string]*coupon.Coupon{}
	for _, id := range r.coupons {
		history, found, err := r.backend.History(ctx, id)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, fmt.Errorf("coupon %s is gone", id)
		}
		rows[id] = history.Coupon
		broken = append(broken, coupon.Check(history)...)
	}
	orders := map[string]*coupon.Order{}
	for _, id := range r.orders {
		row, err := r.backend.Order(ctx, id)
		if err != nil {
			return nil, err
		}
		orders[id] = row
	}
	for _, id := range r.orders {
		broken = append(broken, coupon.CheckOrder(orders[id],
			func(coupon string) *coupon.Coupon { return rows[coupon] },
			func(order string) *coupon.Order { return orders[order] })...)
	}
	return broken, nil
}
