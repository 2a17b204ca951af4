package claims_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"couponlease/internal/claims"
	"couponlease/internal/coupon"
	"couponlease/internal/simulate"
	"couponlease/internal/testkit"
)

// start is a moment in the middle of a day in any zone of the tests.
var start = time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)

// campaign is the one of most tests.
const campaign = "spring"

// errAway is what a pool or books that are away answer.
var errAway = errors.New("away")

// world is a desk in front of a ledger in memory, with a pool in memory.
type world struct {
	t      testing.TB
	ledger *simulate.Ledger
	pool   *pool
	desk   *claims.Desk
	survey *claims.Survey

	mutex sync.Mutex
	now   time.Time
	// before, when set, is called before a request reaches the ledger, and after when it did.
	before, after func(coupon.Request)
	// booksAway has the books fail when they are asked for something.
	booksAway bool
	// engineFails are the errors of the coming requests.
	engineFails []error
	asked       map[string]int // how often what was asked of engine and books
	told        []claims.Refusal
	tellFails   bool
	alone       sync.Mutex
}

func newWorld(t testing.TB, terms func(*coupon.Terms)) *world {
	t.Helper()
	w := &world{t: t, now: start, asked: map[string]int{}}
	w.ledger = simulate.NewLedger(w.clock, coupon.DefaultRules(), simulate.NewSource(t.Name()))
	w.pool = &pool{Pool: simulate.NewPool()}
	w.desk = w.open()
	w.survey = claims.NewSurvey(w.pool, w)
	w.define(campaign, terms)
	return w
}

// open gives another replica's desk on the same books and pool.
func (w *world) open() *claims.Desk {
	desk := claims.New(w, w.pool, w, w, claims.Options{Now: w.clock})
	w.t.Cleanup(func() {
		if err := desk.Close(context.Background()); err != nil {
			w.t.Error(err)
		}
	})
	return desk
}

func (w *world) define(id string, terms func(*coupon.Terms)) {
	w.t.Helper()
	template := coupon.Template{ID: id, Terms: coupon.Unlimited()}
	terms(&template.Terms)
	if outcome, err := w.apply(coupon.Request{At: w.clock(), Fact: coupon.DefineTemplate{Template: template}}); err != nil {
		w.t.Fatal(outcome, err)
	}
}

func (w *world) clock() time.Time {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.now
}

func (w *world) set(now time.Time) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.now = now
}

func (w *world) pass(d time.Duration) { w.set(w.clock().Add(d)) }

func (w *world) count(what string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.asked[what]++
}

// counted gives how often something was asked since it was last counted.
func (w *world) counted(what string) int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	n := w.asked[what]
	w.asked[what] = 0
	return n
}

func (w *world) apply(r coupon.Request) (outcome coupon.Outcome, err error) {
	err = w.ledger.Apply(context.Background(), []coupon.Request{r}, func(world *coupon.World) {
		outcome = coupon.Decide(world, &r)
		world.Seal()
	})
	return outcome, err
}

// SubmitAll implements claims.Engine.
func (w *world) SubmitAll(_ context.Context, requests []coupon.Request) ([]coupon.Outcome, []error) {
	outcomes, errs := make([]coupon.Outcome, len(requests)), make([]error, len(requests))
	for i, r := range requests {
		w.count("engine")
		if w.before != nil {
			w.before(r)
		}
		w.mutex.Lock()
		if len(w.engineFails) > 0 {
			errs[i], w.engineFails = w.engineFails[0], w.engineFails[1:]
		}
		w.mutex.Unlock()
		if errs[i] == nil {
			outcomes[i], errs[i] = w.apply(r)
		}
		if w.after != nil {
			w.after(r)
		}
	}
	return outcomes, errs
}

func (w *world) books(what string) error {
	w.count(what)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.booksAway {
		return errAway
	}
	return nil
}

// Template implements claims.Books.
func (w *world) Template(ctx context.Context, id string) (coupon.Template, bool, error) {
	if err := w.books("template"); err != nil {
		return coupon.Template{}, false, err
	}
	return w.ledger.Template(ctx, id)
}

// AnswersTo implements claims.Books.
func (w *world) AnswersTo(ctx context.Context, keys []string) (map[string]*coupon.Answer, error) {
	known := map[string]*coupon.Answer{}
	for _, key := range keys {
		if err := w.books("answer"); err != nil {
			return nil, err
		}
		answer, err := w.ledger.Answer(ctx, key)
		if err != nil {
			return nil, err
		}
		if answer != nil {
			known[key] = answer
		}
	}
	return known, nil
}

// Claimants implements claims.Books.
func (w *world) Claimants(ctx context.Context, template, after string, limit int) ([]string, error) {
	if err := w.books("claimants"); err != nil {
		return nil, err
	}
	return w.ledger.Claimants(ctx, template, after, limit)
}

// Alone implements claims.Books.
func (w *world) Alone(ctx context.Context, _ string, work func(context.Context) error) error {
	if err := w.books("alone"); err != nil {
		return err
	}
	w.alone.Lock()
	defer w.alone.Unlock()
	return work(ctx)
}

// Rationed implements claims.Rationed.
func (w *world) Rationed(ctx context.Context) ([]*coupon.Template, error) {
	t, found, err := w.Template(ctx, campaign)
	if err != nil || !found || !t.Rationed() {
		return nil, err
	}
	return []*coupon.Template{&t}, nil
}

// Tell implements claims.Teller.
func (w *world) Tell(_ context.Context, refusals []claims.Refusal) []error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	errs := make([]error, len(refusals))
	for i, refusal := range refusals {
		if w.tellFails {
			errs[i] = errAway
			continue
		}
		w.told = append(w.told, refusal)
	}
	return errs
}

// ask is a claim as its message gives it.
func (w *world) ask(person, key string) coupon.Request {
	return coupon.Request{
		ID: "message of " + key, Key: key, Hash: sha256.Sum256([]byte(person)), At: w.clock(),
		Fact: coupon.ClaimCoupon{Template: campaign, Person: person},
	}
}

// claim has a desk answer a claim.
func (w *world) claim(person, key string) (coupon.Outcome, error) {
	return submit(w.desk, w.ask(person, key))
}

func submit(d *claims.Desk, r coupon.Request) (coupon.Outcome, error) {
	outcomes, errs := d.SubmitAll(context.Background(), []coupon.Request{r})
	return outcomes[0], errs[0]
}

// gets wants the code of a claim, and gives its coupon.
func (w *world) gets(want coupon.Code, person, key string) string {
	w.t.Helper()
	outcome, err := w.claim(person, key)
	code := outcome.Code
	if outcome.Status == coupon.Repeated {
		code = outcome.First
	}
	if err != nil || code != want {
		w.t.Fatalf("%s with key %s got %+v, %v, want %s", person, key, outcome, err, want)
	}
	return outcome.Answer.Coupon
}

// edit changes the campaign past all desks, as an operator's program does.
func (w *world) edit(set coupon.TermsEdit) {
	w.t.Helper()
	w.mutex.Lock()
	w.asked["edit"]++
	key := fmt.Sprint("edit ", w.asked["edit"])
	w.mutex.Unlock()
	outcome, err := w.apply(coupon.Request{Key: key, At: w.clock(), Fact: coupon.EditTemplate{Template: campaign, Set: set}})
	if err != nil || outcome.Status != coupon.Applied {
		w.t.Fatal(outcome, err)
	}
}

func (w *world) template() coupon.Template {
	w.t.Helper()
	t, found, err := w.ledger.Template(context.Background(), campaign)
	if err != nil || !found {
		w.t.Fatal(found, err)
	}
	return t
}

func (w *world) level() claims.Level {
	w.t.Helper()
	level, err := w.pool.Pool.Level(context.Background(), campaign)
	if err != nil {
		w.t.Fatal(err)
	}
	return level
}

// left wants so many to be left in the pool.
func (w *world) left(want int64) {
	w.t.Helper()
	if level := w.level(); !level.Loaded || level.Left != want {
		w.t.Errorf("the pool has %+v, want %d left", level, want)
	}
}

// look gives what the survey finds.
func (w *world) look() []claims.Drift {
	w.t.Helper()
	drifts, err := w.survey.Look(context.Background(), w.clock())
	if err != nil {
		w.t.Fatal(err)
	}
	return drifts
}

// round looks and repairs, as a replica does again and again.
func (w *world) round() []claims.Drift {
	w.t.Helper()
	drifts := w.look()
	for _, drift := range drifts {
		if err := w.desk.Repair(context.Background(), drift); err != nil {
			w.t.Fatal(err)
		}
	}
	w.desk.Mend(context.Background())
	for _, template := range w.survey.Incomplete() {
		if err := w.desk.Recall(context.Background(), template); err != nil {
			w.t.Fatal(err)
		}
	}
	return drifts
}

// waitFor waits until something was asked so often.
func (w *world) waitFor(what string, n int) {
	w.t.Helper()
	testkit.Eventually(w.t, time.Minute, fmt.Sprintf("%s is asked %d times", what, n), func() (bool, string) {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		return w.asked[what] >= n, fmt.Sprint(w.asked[what])
	})
}
