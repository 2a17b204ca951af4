package simulate

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
	"couponlease/internal/simulate/dealertest"
)

// The run: so many worlds of so many steps, each with its own seed.
const (
	runWorlds = 500
	runSteps  = 2000
	// runTable is after how many steps a world goes on with other coupons and orders.
	runTable = 100
)

// runWorld is one world, judged after every step.
type runWorld struct {
	name   string
	ledger *Ledger
	judge  *judge
	now    time.Time
	steps  int
	seen   seen
}

// seen counts what a world has shown.
type seen struct {
	Answers     map[dealertest.Answer]bool
	Transitions map[transition]bool
}

func newSeen() seen { return seen{map[dealertest.Answer]bool{}, map[transition]bool{}} }

func (s seen) add(more seen) {
	for answer := range more.Answers {
		s.Answers[answer] = true
	}
	for edge := range more.Transitions {
		s.Transitions[edge] = true
	}
}

func newRunWorld(name string, stacking coupon.Stacking) *runWorld {
	w := &runWorld{name: name, now: start, seen: newSeen()}
	rules := coupon.DefaultRules()
	rules.Stacking = stacking
	w.ledger = NewLedger(func() time.Time { return w.now }, rules, NewSource(name))
	w.judge = newJudge(w.ledger)
	return w
}

// step asks one thing, and judges everything that came of it.
func (w *runWorld) step(r coupon.Request) (coupon.Outcome, error) {
	w.steps++
	if _, command := r.Fact.(coupon.Command); command {
		r.Reply = &coupon.ReplyTo{Queue: "asker", Correlation: r.ID}
	}
	var outcome coupon.Outcome
	var changes *coupon.Changes
	err := w.ledger.Apply(noContext, []coupon.Request{r}, func(world *coupon.World) {
		outcome = coupon.Decide(world, &r)
		changes = world.Seal()
	})
	if err == nil {
		err = w.judge.step(&r, &outcome, changes)
	}
	if answer, command := dealertest.AnswerTo(&r, &outcome); command {
		w.seen.Answers[answer] = true
	}
	if err != nil {
		return outcome, fmt.Errorf("%s, step %d: %T%+v under key %q at %s, answered %s %s: %w", w.name, w.steps,
			r.Fact, r.Fact, r.Key, w.now.Format(time.TimeOnly), outcome.Status, outcome.Code, err)
	}
	return outcome, nil
}

// end proves what is about all coupons together, once.
func (w *runWorld) end() error {
	broken, err := w.ledger.Violations(noContext)
	if err != nil || len(broken) > 0 {
		return fmt.Errorf("%s: in the end %v %v", w.name, broken, err)
	}
	for edge := range w.judge.tookEdges {
		w.seen.Transitions[edge] = true
	}
	return nil
}

// play deals a whole world.
func play(seed uint64) (*runWorld, error) {
	stacking := coupon.StackAll
	if seed%2 == 0 {
		stacking = coupon.StackPartial
	}
	w := newRunWorld(fmt.Sprint("seed ", seed), stacking)
	chance := dealertest.Seeded(seed)
	dealer := dealertest.New(chance, w.ledger.evidence, dealertest.Options{Policies: 10})
	var waiting []coupon.Request
	for w.steps < runSteps {
		if w.steps%runTable == 0 {
			waiting = dealer.Lay(w.now)
		}
		var request coupon.Request
		if len(waiting) > 0 {
			request, waiting = waiting[0], waiting[1:]
		} else {
			w.now = w.now.Add([...]time.Duration{0, 0, 0, 1, 60, 1000}[chance.Below(6, "later")] * time.Second)
			request = dealer.Deal(w.now)
		}
		if _, err := w.step(request); err != nil {
			return w, err
		}
	}
	return w, w.end()
}

// TestMillionSteps: a million random commands and facts over several coupons and
// orders, and after each of them: the transition is in the table and adds one to the
// version; replay of the ledger gives the row and every invariant holds; who showed an
// old token or an old version changed nothing; what was not applied changed nothing;
// a repeated key got the first answer.
func TestMillionSteps(t *testing.T) {
	t.Parallel()
	all, steps := newSeen(), 0
	var mutex sync.Mutex
	var next atomic.Uint64
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for seed := next.Add(1); seed <= runWorlds && !t.Failed(); seed = next.Add(1) {
				w, err := play(seed)
				mutex.Lock()
				if err != nil {
					t.Error(err)
				}
				all.add(w.seen)
				steps += w.steps
				mutex.Unlock()
			}
		})
	}
	group.Wait()
	if steps != runWorlds*runSteps || steps < 1_000_000 {
		t.Fatalf("%d steps", steps)
	}
	for answer := range all.Answers {
		if !dealertest.Answers()[answer] {
			t.Errorf("an answer that is not listed: %+v", answer)
		}
	}
	t.Logf("%d steps, %d answers of %d, %d transitions of %d", steps,
		len(all.Answers), len(dealertest.Answers()), len(all.Transitions), len(transitions()))
}

// TestScriptSeesEverything: what a million steps show may be a matter of luck. Under
// the same judge, each answer that commands can get and each transition, for certain.
func TestScriptSeesEverything(t *testing.T) {
	t.Parallel()
	w := newRunWorld("script", coupon.StackAll)
	dealertest.Script(t, dealertest.Stage{
		Options: dealertest.Options{Policies: 10}, Sight: w.ledger.evidence,
		Now: func() time.Time { return w.now }, Pass: func(d time.Duration) { w.now = w.now.Add(d) },
		Ask: func(requests ...coupon.Request) (outcomes []coupon.Outcome) {
			for _, request := range requests {
				outcome, err := w.step(request)
				if err != nil {
					t.Fatal(err)
				}
				outcomes = append(outcomes, outcome)
			}
			return outcomes
		},
	})
	if err := w.end(); err != nil {
		t.Error(err)
	}
	want := seen{dealertest.Answers(), transitions()}
	if diff := cmp.Diff(want, w.seen, cmp.AllowUnexported(transition{})); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
	table := map[transition]bool{}
	for _, edge := range coupon.Table() {
		table[transition{edge.Operation, edge.From, edge.To}] = true
	}
	if diff := cmp.Diff(transitions(), table, cmp.AllowUnexported(transition{})); diff != "" {
		t.Errorf("the core's table (-specified +core's):\n%s", diff)
	}
}
