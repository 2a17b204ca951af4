package e2e

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"couponlease/handlers"
	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
	"couponlease/internal/engine"
	"couponlease/internal/leasetoken"
	"couponlease/internal/reconcile"
	"couponlease/internal/store"
	"couponlease/internal/testkit"
)

const (
	// buyers ask for one coupon at the same time, each buyerAsks times.
	buyers    = 200
	buyerAsks = 40
	// quoteTime is how long a buyer may decide: some never do.
	quoteTime = 50 * time.Millisecond
	// checkLimit is how long the checker may think; no answer is no proof. It needs a
	// thousandth of that.
	checkLimit = 5 * time.Minute
)

// asked is one thing that was asked of the coupon, and what was answered.
type asked struct {
	request coupon.Request
	outcome coupon.Outcome
	// began and ended are places in the order of events.
	began, ended int64
}

// recorder keeps the history of one coupon. An operation lasts from when its
// transaction has read the rows that it locked until it is committed. That lies within
// the time in which its asker waited: a history that is linearizable so is linearizable
// as the askers saw it, and short operations leave the checker less to try.
type recorder struct {
	clock atomic.Int64

	mutex sync.Mutex
	spans map[string][2]int64 // by Trace, which is unique
	asked []asked
	count map[string]int // of answers, by what was asked
	wrong []error
}

func newRecorder() *recorder {
	return &recorder{spans: map[string][2]int64{}, count: map[string]int{}}
}

// watched is a ledger with a stopwatch.
type watched struct {
	engine.Ledger
	recorder *recorder
}

func (w watched) Apply(ctx context.Context, requests []coupon.Request, decide func(*coupon.World)) error {
	var began int64
	err := w.Ledger.Apply(ctx, requests, func(world *coupon.World) {
		began = w.recorder.clock.Add(1)
		decide(world)
	})
	ended := w.recorder.clock.Add(1)
	w.recorder.mutex.Lock()
	defer w.recorder.mutex.Unlock()
	if err != nil {
		w.recorder.wrong = append(w.recorder.wrong, err)
		return err
	}
	for i := range requests {
		w.recorder.spans[requests[i].Trace] = [2]int64{began, ended}
	}
	return nil
}

// witness is an engine whose answers are kept.
type witness struct {
	*engine.Engine
	recorder *recorder
}

// Submit asks one thing.
func (w witness) Submit(ctx context.Context, request coupon.Request) (coupon.Outcome, error) {
	outcomes, errs := w.SubmitAll(ctx, []coupon.Request{request})
	return outcomes[0], errs[0]
}

// SubmitAll is also what the sweeper asks by.
func (w witness) SubmitAll(ctx context.Context, requests []coupon.Request) ([]coupon.Outcome, []error) {
	r := w.recorder
	requests = slices.Clone(requests)
	for i := range requests {
		requests[i].Trace = fmt.Sprint("op ", r.clock.Add(1))
	}
	outcomes, errs := w.Engine.SubmitAll(ctx, requests)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for i := range requests {
		span := r.spans[requests[i].Trace]
		if errs[i] != nil || span[1] == 0 {
			r.wrong = append(r.wrong, fmt.Errorf("%T, span %v: %w", requests[i].Fact, span, errs[i]))
			continue
		}
		r.asked = append(r.asked, asked{requests[i], outcomes[i], span[0], span[1]})
		r.count[answered(requests[i].Fact, outcomes[i].Code)]++
	}
	return outcomes, errs
}

// events is the history as the checker wants it. What begins at the same place may be
// put in any order; the answers that changed nothing come first, because they can be
// explained where they stand, and then nothing has to be tried twice.
func (r *recorder) events() []porcupine.Event {
	slices.SortFunc(r.asked, func(a, b asked) int {
		return cmp.Or(cmp.Compare(a.began, b.began), cmp.Compare(a.rank(), b.rank()))
	})
	type mark struct {
		place int64
		event porcupine.Event
	}
	var marks []mark
	for id, one := range r.asked {
		marks = append(marks,
			mark{one.began, porcupine.Event{Kind: porcupine.CallEvent, Value: one.request, Id: id}},
			mark{one.ended, porcupine.Event{Kind: porcupine.ReturnEvent, Value: one.outcome, Id: id}})
	}
	slices.SortStableFunc(marks, func(a, b mark) int { return cmp.Compare(a.place, b.place) })
	events := make([]porcupine.Event, len(marks))
	for i := range marks {
		events[i] = marks[i].event
	}
	return events
}

func (a *asked) rank() int64 {
	if a.outcome.Status != coupon.Applied {
		return 0
	}
	if a.outcome.Answer == nil {
		return 1
	}
	return a.outcome.Answer.Version
}

// check asks the checker, and fails if anything went wrong on the way.
func (r *recorder) check(t *testing.T) porcupine.CheckResult {
	t.Helper()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, err := range r.wrong {
		t.Error(err)
	}
	began := time.Now()
	result := porcupine.CheckEventsTimeout(oneCoupon(), r.events(), checkLimit)
	t.Logf("%d operations, %s after %s", len(r.asked), result, time.Since(began))
	return result
}

// times is how often something was answered so.
func (r *recorder) times(fact coupon.Fact, code coupon.Code) int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.count[answered(fact, code)]
}

func answered(fact coupon.Fact, code coupon.Code) string {
	return coupon.Kind(fact) + " " + string(code)
}

// TestOneCouponIsLinearizable: two hundred buyers lock, renew, release, redeem and
// reverse one coupon through two replicas, whose sweepers release what is due. There is
// an order of all that was asked, one after the other, in which each answer is right.
// What the buyers come to ask is left to chance; a scene before sees to it that every
// answer is in the history, and one after it asks again what was asked at first.
func TestOneCouponIsLinearizable(t *testing.T) {
	t.Parallel()
	url := testkit.Postgres(t)
	keys := leasetoken.Random()
	r := newRecorder()
	replicas := []witness{startReplica(t, url, keys, r, 0), startReplica(t, url, keys, r, 1)}
	actors := scene{t: t, replicas: replicas, recorder: r}
	actors.play()
	var group sync.WaitGroup
	for i := range buyers {
		group.Go(func() {
			b := newBuyer(replicas[i%2], i)
			for range buyerAsks {
				if err := b.ask(t.Context()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	actors.askAgain()
	t.Log(r.count)
	if result := r.check(t); result != porcupine.Ok {
		t.Errorf("the history is %s", result)
	}
}

// startReplica starts an engine and a sweeper on a store of their own.
func startReplica(t *testing.T, url string, keys leasetoken.Keys, r *recorder, number int) witness {
	t.Helper()
	s, err := store.Open(t.Context(), url, store.Options{
		Rules: coupon.DefaultRules(), Source: engine.NewSource(keys), ApplicationName: fmt.Sprint(t.Name(), number),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := s.MigrateUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := startWitness(t, s, store.Classify, r)
	if number == 0 {
		issueOne(t, w)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	shards := reconcile.NewShards(s, fmt.Sprint("sweeper ", number), 100+number, 1, time.Minute)
	sweeper := reconcile.NewSweeper(dueLeases(s), w, shards, reconcile.Options{
		Interval: 5 * time.Millisecond, Rate: 1000, Logger: slog.New(slog.DiscardHandler),
	})
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		sweeper.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-swept
	})
	return w
}

// startWitness starts an engine with small batches, so that there are many.
func startWitness(t *testing.T, ledger engine.Ledger, classify func(error) batcher.Class, r *recorder) witness {
	t.Helper()
	encode := func(changes *coupon.Changes) ([]coupon.OutboxRow, error) { return handlers.Outbox(changes, 1) }
	e := engine.New(watched{ledger, r}, encode, engine.Options{
		Limits: batcher.Limits{Batch: 32, Workers: 2}, Classify: classify,
	})
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Errorf("close engine: %v", err)
		}
	})
	return witness{e, r}
}

// dueLeases are those whose deadline has passed.
func dueLeases(s *store.Store) reconcile.Source[coupon.Timer, store.TimerCursor] {
	return reconcile.Source[coupon.Timer, store.TimerCursor]{
		Name: "leases",
		Page: func(ctx context.Context, after store.TimerCursor, limit int) (
			reconcile.Page[coupon.Timer, store.TimerCursor], error,
		) {
			page, err := s.DueTimers(ctx, store.TimerScan{After: after, Limit: limit})
			return reconcile.Page[coupon.Timer, store.TimerCursor]{Items: page.Timers, Next: page.Next, Last: page.Last}, err
		},
		Coupon:  func(timer coupon.Timer) string { return timer.Coupon },
		Request: handlers.DueRequest,
	}
}

// theCoupon is the one.
const theCoupon = "one"

func issueOne(t *testing.T, w witness) {
	t.Helper()
	for _, fact := range []coupon.Fact{
		coupon.DefineTemplate{Template: coupon.Template{
			ID: "T",
			Terms: coupon.Terms{
				Budget: coupon.NoLimit, UsesPerPerson: coupon.NoLimit,
			},
		}},
		coupon.ImportCoupon{Code: theCoupon, Template: "T"},
	} {
		outcome, err := w.Submit(t.Context(), coupon.Request{At: time.Now(), Actor: "test", Fact: fact})
		if err != nil || outcome.Code != coupon.Created {
			t.Fatalf("%T: %+v, %v", fact, outcome, err)
		}
	}
}

// buyer wants the coupon, and remembers the last lease that it got.
type buyer struct {
	random *rand.Rand
	shop   witness
	order  string
	asks   int
	lease  *coupon.Answer
	used   bool
}

func newBuyer(shop witness, number int) *buyer {
	return &buyer{random: rand.New(rand.NewPCG(uint64(number), 1)), shop: shop, order: fmt.Sprint("o", number)}
}

// ask asks one thing and learns from the answer.
func (b *buyer) ask(ctx context.Context) error {
	b.asks++
	fact := b.next()
	outcome, err := b.shop.Submit(ctx, coupon.Request{
		ID: fmt.Sprint(b.order, " m", b.asks), Key: fmt.Sprint(b.order, " k", b.asks), Hash: [32]byte{1},
		At: time.Now(), Actor: "buyer", Fact: fact,
	})
	if err != nil {
		return err
	}
	if outcome.Status != coupon.Applied {
		b.think(ctx)
	}
	b.used = outcome.Code == coupon.AlreadyUsed || coupon.Kind(fact) == "RedeemCoupon" && outcome.Code == coupon.OK
	switch {
	case outcome.Answer.Token != nil:
		b.lease = outcome.Answer
	case coupon.Kind(fact) == "RenewLease" && outcome.Code == coupon.OK:
		renewed := *b.lease
		renewed.Version = outcome.Answer.Version
		b.lease = &renewed
	}
	return nil
}

// think makes room for those who hold the coupon.
func (b *buyer) think(ctx context.Context) {
	timer := time.NewTimer(time.Duration(b.random.Int64N(int64(quoteTime))))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// next is what a buyer asks for: a lease, something to do with the lease that it has or
// once had, or the coupon back from whoever has used it.
func (b *buyer) next() coupon.Fact {
	if b.used && b.random.IntN(2) == 0 {
		return coupon.ReverseChange{Coupon: theCoupon}
	}
	if b.lease == nil || b.random.IntN(4) == 0 {
		return coupon.LockCoupon{Coupon: theCoupon, Order: b.order, Lease: quoteTime}
	}
	version := [...]int64{0, b.lease.Version, b.lease.Version - 1}[b.random.IntN(3)]
	switch b.random.IntN(7) {
	case 0, 1:
		return coupon.RenewLease{Coupon: theCoupon, Token: *b.lease.Token, Version: version, Lease: quoteTime}
	case 2, 3:
		return coupon.ReleaseLease{Coupon: theCoupon, Token: *b.lease.Token, Version: version}
	case 4, 5:
		return coupon.RedeemCoupon{Coupon: theCoupon, Order: b.order, Token: *b.lease.Token, Version: version}
	default: // says nothing, and asks anew
		return coupon.LockCoupon{Coupon: theCoupon, Order: b.order, Lease: quoteTime}
	}
}
