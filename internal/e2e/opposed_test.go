package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"couponlease/handlers"
	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
	"couponlease/internal/engine"
	"couponlease/internal/leasetoken"
	"couponlease/internal/store"
	"couponlease/internal/testkit"
)

const (
	// opposedTime is how long two writers work against each other.
	opposedTime = time.Minute
	// opposedPause leaves the machine to others between two batches of a writer's hand.
	opposedPause = 20 * time.Millisecond
	// opposedHands is how many batches each writer has under way.
	opposedHands = 3
	// opposedCoupons and opposedOrders are what they fight for at a time.
	opposedCoupons = 8
	opposedOrders  = 6
)

// opposed is a writer that names everything in one direction.
type opposed struct {
	engine   *engine.Engine
	backward bool
	began    time.Time

	mutex sync.Mutex
	codes map[coupon.Code]int
	// lost are errors of the ledger, which the engine tries again.
	lost []error
}

// listened is a ledger whose errors the writer hears of.
type listened struct {
	engine.Ledger
	writer *opposed
}

func (l listened) Apply(ctx context.Context, requests []coupon.Request, decide func(*coupon.World)) error {
	err := l.Ledger.Apply(ctx, requests, decide)
	if err != nil {
		l.writer.mutex.Lock()
		defer l.writer.mutex.Unlock()
		l.writer.lost = append(l.writer.lost, err)
	}
	return err
}

// open starts the writer's engine and gives what ends it.
func (w *opposed) open(t *testing.T, url string, keys leasetoken.Keys) (end func()) {
	t.Helper()
	s, err := store.Open(t.Context(), url, store.Options{
		Rules: coupon.DefaultRules(), Source: engine.NewSource(keys), ApplicationName: "opposed",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.MigrateUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	encode := func(changes *coupon.Changes) ([]coupon.OutboxRow, error) { return handlers.Outbox(changes, 1) }
	w.engine = engine.New(listened{s, w}, encode, engine.Options{
		Limits: batcher.Limits{Batch: 16, Workers: 2}, Classify: store.Classify,
	})
	return func() {
		if err := w.engine.Close(context.Background()); err != nil {
			t.Errorf("close engine: %v", err)
		}
		s.Close()
	}
}

// work asks batch after batch until ctx ends.
func (w *opposed) work(ctx context.Context, t *testing.T, hand uint64) {
	random := rand.New(rand.NewPCG(hand, 1))
	pace := time.NewTicker(opposedPause)
	defer pace.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-pace.C:
		}
		requests := w.batch(random)
		for i := range requests {
			r := &requests[i]
			r.ID = fmt.Sprintf("%d-%d-%d", hand, n, i)
			r.Hash, r.At, r.Actor = [32]byte{1}, time.Now(), "writer"
			if _, command := r.Fact.(coupon.Command); command {
				r.Key = r.ID
			}
		}
		outcomes, errs := w.engine.SubmitAll(context.WithoutCancel(ctx), requests)
		w.mutex.Lock()
		for i, err := range errs {
			if err != nil {
				t.Error(err)
			}
			w.codes[outcomes[i].Code]++
		}
		w.mutex.Unlock()
	}
}

// batch names the coupons and the orders of this second, in the writer's direction:
// placements that take each other's coupons and places, swaps, locks and closes.
func (w *opposed) batch(random *rand.Rand) []coupon.Request {
	second := int(time.Since(w.began) / time.Second)
	order := func(n int) string { return fmt.Sprintf("o%d-%d", second, n) }
	coupons := w.some(random, opposedCoupons)
	var requests []coupon.Request
	add := func(fact coupon.Fact) { requests = append(requests, coupon.Request{Fact: fact}) }
	for _, n := range w.some(random, opposedOrders) {
		switch random.IntN(5) {
		case 0, 1:
			f := coupon.OrderPlaced{Order: order(n), Customer: "u1", Payable: 100, Lease: time.Millisecond}
			for _, c := range coupons {
				f.Wanted = append(f.Wanted, coupon.Wanted{Coupon: fmt.Sprint("c", c)})
			}
			if random.IntN(4) == 0 {
				f.Supersedes = order(random.IntN(opposedOrders))
			}
			add(f)
		case 2:
			f := coupon.SwapCoupons{Order: order(n)}
			for _, c := range coupons {
				if random.IntN(2) == 0 {
					f.Drop = append(f.Drop, fmt.Sprint("c", c))
				} else {
					f.Add = append(f.Add, coupon.Wanted{Coupon: fmt.Sprint("c", c)})
				}
			}
			add(f)
		default:
			add(coupon.OrderClosed{Order: order(n), Reason: "cancelled"})
		}
	}
	for _, c := range coupons {
		id := fmt.Sprint("c", c)
		switch random.IntN(4) {
		case 0:
			add(coupon.LockCoupon{Coupon: id, Order: order(random.IntN(opposedOrders)), Lease: time.Millisecond})
		case 1: // and free again, whoever had it
			add(coupon.VoidCoupon{Coupon: id, Force: true})
			add(coupon.ReverseChange{Coupon: id})
		}
	}
	return requests
}

// some gives up to half of the numbers below n, in the writer's direction.
func (w *opposed) some(random *rand.Rand, n int) []int {
	numbers := random.Perm(n)[:1+random.IntN(n/2)]
	slices.Sort(numbers)
	if w.backward {
		slices.Reverse(numbers)
	}
	return numbers
}

// TestOpposedWritersNeverDeadlock: two replicas name overlapping sets of coupons and
// orders in opposite directions for a minute, and the database has not found a deadlock:
// not in its counter, not in its log, not in an answer. A deadlock that is made on
// purpose afterwards shows in each.
func TestOpposedWritersNeverDeadlock(t *testing.T) {
	t.Parallel()
	stack := testkit.PrivateStack(t, testkit.ServicePostgres)
	keys := leasetoken.Random()
	writers := []*opposed{
		{began: time.Now(), codes: map[coupon.Code]int{}},
		{began: time.Now(), codes: map[coupon.Code]int{}, backward: true},
	}
	var ends []func()
	for _, w := range writers {
		ends = append(ends, w.open(t, stack.PostgresURL, keys))
	}
	issueOpposed(t, writers[0])
	ctx, cancel := context.WithTimeout(t.Context(), opposedTime)
	defer cancel()
	var group sync.WaitGroup
	for i, w := range writers {
		for hand := range opposedHands {
			group.Go(func() { w.work(ctx, t, uint64(opposedHands*i+hand+1)) })
		}
	}
	group.Wait()
	for _, end := range ends {
		end()
	}
	for i, w := range writers {
		stats := w.engine.Stats()
		if stats.Retries > 0 || len(w.lost) > 0 {
			t.Errorf("writer %d: %d runs were repeated, because of %v", i, stats.Retries, w.lost)
		}
		if w.codes[coupon.OK] == 0 || w.codes[coupon.AlreadyLocked] == 0 || w.codes[coupon.Rejected(coupon.AlreadyLocked)] == 0 {
			t.Errorf("writer %d met nobody: %v", i, w.codes)
		}
		t.Logf("writer %d: %d batches of %.1f requests: %v", i, stats.Batches, stats.MeanSize(), w.codes)
	}
	conn := connect(t, stack.PostgresURL)
	deadlocks := deadlocksOf(t, conn)
	if logged := deadlocksIn(stack.Log(t, testkit.ServicePostgres)); deadlocks > 0 || logged != "" {
		t.Errorf("the database found %d deadlocks:\n%s", deadlocks, logged)
	}
	provoke(t, stack.PostgresURL)
	testkit.Eventually(t, time.Minute, "the deadlock is counted", func() (bool, string) {
		deadlocks := deadlocksOf(t, conn)
		return deadlocks == 1, fmt.Sprint(deadlocks, " deadlocks")
	})
	if deadlocksIn(stack.Log(t, testkit.ServicePostgres)) == "" {
		t.Error("the deadlock that was made is not in the log")
	}
}

func issueOpposed(t *testing.T, w *opposed) {
	t.Helper()
	ask := func(fact coupon.Fact) {
		outcome, err := w.engine.Submit(t.Context(), coupon.Request{At: w.began, Actor: "test", Fact: fact})
		if err != nil || outcome.Code != coupon.Created {
			t.Fatalf("%T: %+v, %v", fact, outcome, err)
		}
	}
	for i := range 2 {
		ask(coupon.DefineTemplate{Template: coupon.Template{
			ID: fmt.Sprint("T", i),
			Terms: coupon.Terms{
				Budget: 1000, UsesPerPerson: 1000,
			},
		}})
	}
	for i := range opposedCoupons {
		ask(coupon.ImportCoupon{Code: fmt.Sprint("c", i), Template: fmt.Sprint("T", i%2), Owner: "u1"})
	}
}

// deadlockText is how the server reports one.
const deadlockText = "deadlock detected"

// deadlocksIn gives the lines of a log that tell of one.
func deadlocksIn(log string) string {
	var found strings.Builder
	for line := range strings.Lines(log) {
		if strings.Contains(line, deadlockText) {
			found.WriteString(line)
		}
	}
	return found.String()
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// deadlocksOf counts those that the server ended, once it has taken note of the
// connections that are gone.
func deadlocksOf(t *testing.T, conn *pgx.Conn) (count int) {
	t.Helper()
	testkit.Eventually(t, time.Minute, "the writers' connections are gone", func() (bool, string) {
		var left int
		if err := conn.QueryRow(t.Context(), `select count(*) from pg_stat_activity
			where backend_type = 'client backend' and pid <> pg_backend_pid()`).Scan(&left); err != nil {
			t.Fatal(err)
		}
		return left == 0, fmt.Sprint(left, " are left")
	})
	err := conn.QueryRow(t.Context(), `select deadlocks from pg_stat_database
		where datname = current_database()`).Scan(&count)
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// provoke lets two transactions wait for each other in a circle.
func provoke(t *testing.T, url string) {
	t.Helper()
	const lock = "select from user_coupon where coupon_id = $1 for update"
	coupons := []string{"c0", "c1"}
	var first []pgx.Tx
	for i := range coupons {
		tx, err := connect(t, url).Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), lock, coupons[i]); err != nil {
			t.Fatal(err)
		}
		first = append(first, tx)
	}
	errs := make(chan error, len(first))
	for i, tx := range first {
		go func() {
			_, err := tx.Exec(t.Context(), lock, coupons[1-i])
			_ = tx.Rollback(t.Context())
			errs <- err
		}()
	}
	one, other := <-errs, <-errs
	if (one == nil) == (other == nil) || !strings.Contains(fmt.Sprint(one, other), deadlockText) {
		t.Errorf("two writers in a circle: %v, %v", one, other)
	}
	for _, tx := range first {
		_ = tx.Conn().Close(context.Background())
	}
}
