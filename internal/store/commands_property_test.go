package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"couponlease/internal/coupon"
	"couponlease/internal/simulate"
	"couponlease/internal/simulate/dealertest"
)

// The traffic that the database gets: so many worlds of so many steps, in batches as
// they come under load.
const (
	trafficWorlds = 10
	trafficSteps  = 5000
	trafficTable  = 100
)

// twin is a world in memory and the same one in the database.
type twin struct {
	t      *testing.T
	name   string
	now    time.Time
	memory *simulate.Ledger
	store  *Store
	// asked are the requests that memory has decided, one by one, and told are its
	// answers; the database has not been asked yet.
	asked []coupon.Request
	told  []coupon.Outcome
	steps int
	seen  map[dealertest.Answer]bool
}

func newTwin(t *testing.T, shared *Store, number int) *twin {
	w := &twin{
		t: t, name: fmt.Sprintf("w%d.", number), seen: map[dealertest.Answer]bool{},
		// Within the days that the inbox remembers.
		now: time.Now().UTC().Truncate(24 * time.Hour),
	}
	rules := coupon.DefaultRules()
	if number%2 == 0 {
		rules.Stacking = coupon.StackPartial
	}
	now := func() time.Time { return w.now }
	w.memory = simulate.NewLedger(now, rules, simulate.NewSource(w.name))
	w.store = shared.Under(rules, simulate.NewSource(w.name), now)
	return w
}

// options keep the worlds apart.
func (w *twin) options(number int) dealertest.Options {
	return dealertest.Options{Space: w.name, Policies: int64(1000 * (number + 1))}
}

func (w *twin) history(id string) coupon.History {
	history, _, err := w.memory.History(context.Background(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return history
}

// decide asks memory.
func (w *twin) decide(request coupon.Request) coupon.Outcome {
	w.steps++
	var outcomes []coupon.Outcome
	requests := []coupon.Request{request}
	if err := w.memory.Apply(context.Background(), requests, decideAll(requests, &outcomes)); err != nil {
		w.t.Fatalf("%s, step %d: %T%+v: %v", w.name, w.steps, request.Fact, request.Fact, err)
	}
	w.asked, w.told = append(w.asked, request), append(w.told, outcomes[0])
	if answer, command := dealertest.AnswerTo(&request, &outcomes[0]); command {
		w.seen[answer] = true
	}
	return outcomes[0]
}

// commit asks the database all that it was not asked yet, in one transaction.
func (w *twin) commit() {
	w.t.Helper()
	var outcomes []coupon.Outcome
	if err := w.store.Apply(w.t.Context(), w.asked, decideAll(w.asked, &outcomes)); err != nil {
		w.t.Fatalf("%s, steps up to %d: %v", w.name, w.steps, err)
	}
	for i := range w.asked {
		if diff := cmp.Diff(w.told[i], outcomes[i]); diff != "" {
			w.t.Fatalf("%s, step %d: %T%+v (-memory +database):\n%s", w.name, w.steps-len(w.asked)+i+1,
				w.asked[i].Fact, w.asked[i].Fact, diff)
		}
	}
	w.asked, w.told = w.asked[:0], w.told[:0]
}

// play deals a whole world in batches of 100 to 200.
func (w *twin) play(number int) {
	chance := dealertest.Seeded(uint64(number))
	dealer := dealertest.New(chance, w.history, w.options(number))
	for w.steps < trafficSteps {
		w.now = w.now.Add([...]time.Duration{0, 1, 60, 120, 1000}[chance.Below(5, "later")] * time.Second)
		for range min(100+chance.Below(101, "batch"), trafficSteps-w.steps) {
			if w.steps%trafficTable == 0 {
				for _, request := range dealer.Lay(w.now) {
					w.decide(request)
				}
			} else {
				w.decide(dealer.Deal(w.now))
			}
		}
		w.commit()
	}
}

// compare holds what the database keeps against what memory keeps, and proves it.
func (w *twin) compare(kept *Dump, histories map[string]coupon.History) {
	broken, err := w.memory.Violations(context.Background())
	if err != nil || len(broken) > 0 {
		w.t.Errorf("%s: %v %v", w.name, broken, err)
	}
	same := func(what string, want, got any) {
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			w.t.Errorf("%s (-memory +database):\n%s", what, diff)
		}
	}
	err = w.memory.EachHistory(context.Background(), func(want coupon.History) error {
		got := histories[want.Coupon.ID]
		same("coupon "+want.Coupon.ID, want, got)
		for _, violation := range coupon.Check(got) {
			w.t.Error(violation)
		}
		return nil
	})
	if err != nil {
		w.t.Error(err)
	}
	orders := map[string]*coupon.Order{}
	for _, order := range kept.Orders {
		orders[order.ID] = order
	}
	err = w.memory.EachOrder(context.Background(), func(want *coupon.Order) error {
		same("order "+want.ID, want, orders[want.ID])
		return nil
	})
	if err != nil {
		w.t.Error(err)
	}
	for _, got := range kept.Templates {
		want, known, err := w.memory.Template(context.Background(), got.ID)
		if err != nil || known && !cmp.Equal(want, *got) {
			w.t.Errorf("template %s (-memory +database): %v\n%s", got.ID, err, cmp.Diff(want, *got))
		}
	}
}

// TestTrafficOfCommands: fifty thousand random commands and facts, in batches as they
// come under load, are answered by the database as by memory, one by one, and leave the
// same rows; and so is the script that gets every answer a command can get.
func TestTrafficOfCommands(t *testing.T) {
	shared := open(t)
	var worlds []*twin
	steps := 0
	for number := 1; number <= trafficWorlds; number++ {
		w := newTwin(t, shared, number)
		w.play(number)
		worlds = append(worlds, w)
		steps += w.steps
	}
	if steps < 50_000 {
		t.Errorf("%d steps", steps)
	}
	script := newTwin(t, shared, 0)
	dealertest.Script(t, dealertest.Stage{
		Options: script.options(0), Sight: script.history,
		Now: func() time.Time { return script.now }, Pass: func(d time.Duration) { script.now = script.now.Add(d) },
		Ask: func(requests ...coupon.Request) (outcomes []coupon.Outcome) {
			for _, request := range requests {
				outcomes = append(outcomes, script.decide(request))
			}
			script.commit()
			return outcomes
		},
	})
	if diff := cmp.Diff(dealertest.Answers(), script.seen); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	kept, err := shared.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	histories := map[string]coupon.History{}
	for _, history := range kept.Histories {
		histories[history.Coupon.ID] = history
	}
	for _, w := range append(worlds, script) {
		w.compare(kept, histories)
		w.compareAnswers(kept)
	}
	t.Logf("%d steps, %d coupons, %d answers", steps, len(kept.Histories), len(kept.Answers))
}

// compareAnswers holds the answers to commands, and the steps of redemptions at tills.
func (w *twin) compareAnswers(kept *Dump) {
	flows := map[string][]coupon.FlowRow{}
	for _, row := range kept.Flows {
		flows[row.RedeemNo] = append(flows[row.RedeemNo], row)
	}
	for number, got := range flows {
		want, err := w.memory.Flow(context.Background(), number)
		if err != nil || len(want) > 0 && !cmp.Equal(want, got) {
			w.t.Errorf("redemption %s (-memory +database): %v\n%s", number, err, cmp.Diff(want, got))
		}
	}
	for _, got := range kept.Answers {
		want, err := w.memory.Answer(context.Background(), got.Key)
		if err != nil || want != nil && !cmp.Equal(want, got) {
			w.t.Errorf("answer %s (-memory +database): %v\n%s", got.Key, err, cmp.Diff(want, got))
		}
	}
}
