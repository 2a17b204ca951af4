package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"couponlease/handlers"
	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
	"couponlease/internal/engine"
	"couponlease/internal/outbox"
	"couponlease/internal/reconcile"
	"couponlease/internal/simulate"
)

// errPoison makes the batch that gets it fail for good.
var errPoison = errors.New("poison")

// world is a product in memory, on the clock of its bubble.
type world struct {
	t      *testing.T
	ledger *simulate.Ledger
	engine *engine.Engine
	leases *outbox.Memory

	mutex  sync.Mutex
	pages  [][2]string // first and last coupon of every page that was listed
	broken error       // what listing pages answers
}

const leaseLength = time.Minute

func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rules := coupon.DefaultRules()
		rules.OrderLease = leaseLength
		w := &world{t: t, leases: outbox.NewMemory(time.Now)}
		w.ledger = simulate.NewLedger(time.Now, rules, simulate.NewSource(t.Name()))
		encode := func(changes *coupon.Changes) ([]coupon.OutboxRow, error) { return handlers.Outbox(changes, 1) }
		w.engine = engine.New(w.ledger, encode, engine.Options{
			Limits: batcher.Limits{Batch: 1, Workers: 1},
			Classify: func(err error) batcher.Class {
				if errors.Is(err, errPoison) {
					return batcher.Poison
				}
				return batcher.Transient
			},
		})
		w.ask(coupon.DefineTemplate{Template: coupon.Template{
			ID: "T1",
			Terms: coupon.Terms{
				Status: coupon.TemplateActive, Budget: coupon.NoLimit, UsesPerPerson: coupon.NoLimit, PolicyVersion: 1,
			},
		}})
		test(t, w)
		if err := w.engine.Close(t.Context()); err != nil {
			t.Errorf("close engine: %v", err)
		}
	})
}

func (w *world) ask(fact coupon.Fact) coupon.Outcome {
	w.t.Helper()
	outcome, err := w.engine.Submit(w.t.Context(), coupon.Request{At: time.Now(), Actor: "test", Fact: fact})
	if err != nil {
		w.t.Fatalf("ask %T: %v", fact, err)
	}
	return outcome
}

func code(i int) string { return fmt.Sprintf("c%03d", i) }

// lease issues coupons and leases each to an order of its own.
func (w *world) lease(coupons int) { w.leaseFrom(0, coupons) }

func (w *world) leaseFrom(first, coupons int) {
	w.t.Helper()
	for i := first; i < first+coupons; i++ {
		w.ask(coupon.ImportCoupon{Code: code(i), Template: "T1"})
		w.ask(coupon.OrderPlaced{
			Order: "o" + code(i), Wanted: []coupon.Wanted{{Coupon: coupon.Fold(code(i))}}, Payable: 100, Currency: "EUR",
		})
	}
}

// listed gives the pages so far, and fail makes listing answer an error.
func (w *world) listed() [][2]string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return slices.Clone(w.pages)
}

func (w *world) fail(err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.broken = err
}

// states counts the coupons by state.
func (w *world) states() map[coupon.State]int {
	w.t.Helper()
	counts := map[coupon.State]int{}
	err := w.ledger.EachHistory(w.t.Context(), func(h coupon.History) error {
		counts[h.Coupon.State]++
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return counts
}

// versions adds up the versions of all coupons: the number of operations.
func (w *world) versions() (sum int64) {
	w.t.Helper()
	err := w.ledger.EachHistory(w.t.Context(), func(h coupon.History) error {
		sum += h.Coupon.Version
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return sum
}

// place is a place in the order of timers.
type place struct {
	due   time.Time
	lease string
}

// timers is the source of due leases, as the store gives it.
func (w *world) timers(grace time.Duration) reconcile.Source[coupon.Timer, place] {
	return reconcile.Source[coupon.Timer, place]{
		Name: "leases",
		Page: func(ctx context.Context, after place, limit int) (reconcile.Page[coupon.Timer, place], error) {
			w.mutex.Lock()
			defer w.mutex.Unlock()
			page := reconcile.Page[coupon.Timer, place]{Next: after, Last: true}
			if w.broken != nil {
				return page, w.broken
			}
			all, err := w.ledger.DueTimers(ctx, 1<<20)
			for _, timer := range all {
				here := place{timer.Due, timer.LeaseID}
				if time.Since(timer.Due) < grace || !after.before(here) {
					continue
				}
				if page.Last = len(page.Items) < limit; !page.Last {
					break
				}
				page.Items, page.Next = append(page.Items, timer), here
			}
			if n := len(page.Items); n > 0 {
				w.pages = append(w.pages, [2]string{page.Items[0].Coupon, page.Items[n-1].Coupon})
			}
			return page, err
		},
		Coupon:  func(timer coupon.Timer) string { return timer.Coupon },
		Request: handlers.DueRequest,
	}
}

func (a place) before(b place) bool {
	return a.due.Before(b.due) || a.due.Equal(b.due) && a.lease < b.lease
}

// validity is the source of free coupons whose validity is over.
func (w *world) validity() reconcile.Source[string, string] {
	return reconcile.Source[string, string]{
		Name: "validity",
		Page: func(ctx context.Context, after string, limit int) (reconcile.Page[string, string], error) {
			ids, err := w.ledger.Expirable(ctx, after, limit)
			page := reconcile.Page[string, string]{Items: ids, Next: after, Last: len(ids) < limit}
			if len(ids) > 0 {
				page.Next = ids[len(ids)-1]
			}
			return page, err
		},
		Coupon: func(id string) string { return id },
		Request: func(id string) coupon.Request {
			return coupon.Request{At: time.Now(), Actor: "sweeper", Fact: coupon.ValidityOver{Coupon: id}}
		},
	}
}

func options() reconcile.Options {
	return reconcile.Options{
		Interval: 10 * time.Second, Rate: 1000, StartOver: 10 * time.Minute, Logger: slog.New(slog.DiscardHandler),
	}
}

// run starts a sweeper and returns what stops it and waits for its end.
func run[T, C any](t *testing.T, sweeper *reconcile.Sweeper[T, C]) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		sweeper.Run(ctx)
		close(done)
	}()
	return func() {
		cancel()
		<-done
	}
}

// pass lets the bubble's time pass.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
