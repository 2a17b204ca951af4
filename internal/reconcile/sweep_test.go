package reconcile_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
	"couponlease/internal/reconcile"
)

const ttl = 30 * time.Second

func TestDueLeasesAreReleasedAfterTheGrace(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.lease(40)
		shards := reconcile.NewShards(w.leases, "a", 0, 1, ttl)
		sweeper := reconcile.NewSweeper(w.timers(30*time.Second), w.engine, shards, options())
		stop := run(t, sweeper)
		defer stop()
		pass(leaseLength + 25*time.Second)
		if diff := cmp.Diff(map[coupon.State]int{coupon.Locked: 40}, w.states()); diff != "" {
			t.Errorf("within the grace (-want +got):\n%s", diff)
		}
		pass(20 * time.Second)
		if diff := cmp.Diff(map[coupon.State]int{coupon.Available: 40}, w.states()); diff != "" {
			t.Errorf("after the grace (-want +got):\n%s", diff)
		}
		want := reconcile.Stats{Sweep: "leases", Due: 40, Submitted: 40}
		if diff := cmp.Diff(want, sweeper.Stats()); diff != "" {
			t.Errorf("stats (-want +got):\n%s", diff)
		}
	})
}

func TestAPaidOrderIsSettledAndNotReleased(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.lease(2)
		w.ask(coupon.PaymentSucceeded{Order: "o" + code(1), Payment: "p1", Amount: 100, Currency: "EUR"})
		stop := run(t, reconcile.NewSweeper(w.timers(0), w.engine, reconcile.NewShards(w.leases, "a", 0, 1, ttl), options()))
		defer stop()
		pass(leaseLength + 20*time.Second)
		want := map[coupon.State]int{coupon.Available: 1, coupon.Used: 1}
		if diff := cmp.Diff(want, w.states()); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
	})
}

// Two sweepers that both believe to hold everything do the work twice at most,
// and each change once.
func TestOverlapChangesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.lease(60)
		locked := w.versions()
		for _, first := range []int{0, 100} {
			shards := reconcile.NewShards(w.leases, "same", first, 1, ttl)
			defer run(t, reconcile.NewSweeper(w.timers(0), w.engine, shards, options()))()
		}
		pass(leaseLength + 20*time.Second)
		if got := w.versions() - locked; got != 60 {
			t.Errorf("%d operations on 60 leases", got)
		}
	})
}

func TestTheRateIsKept(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.lease(100)
		pass(leaseLength)
		slow := options()
		slow.Rate = 5
		defer run(t, reconcile.NewSweeper(w.timers(0), w.engine, reconcile.NewShards(w.leases, "a", 0, 1, ttl), slow))()
		pass(10 * time.Second)
		// One page of a second's work may have been begun.
		if got := w.states()[coupon.Available]; got < 50 || got > 55 {
			t.Errorf("%d leases released in 10 s at 5 a second", got)
		}
		pass(12 * time.Second)
		if got := w.states()[coupon.Available]; got != 100 {
			t.Errorf("%d leases released in the end, want 100", got)
		}
	})
}

func TestReplicasShareAndTakeOver(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		// Leases this long are only free because they are given up.
		a := reconcile.NewSweeper(w.timers(0), w.engine, reconcile.NewShards(w.leases, "a", 0, 4, time.Hour), options())
		b := reconcile.NewSweeper(w.timers(0), w.engine, reconcile.NewShards(w.leases, "b", 0, 4, time.Hour), options())
		stopA := run(t, a)
		defer run(t, b)()
		w.lease(100)
		pass(leaseLength + 20*time.Second)
		if got := w.states()[coupon.Available]; got != 100 {
			t.Fatalf("%d leases released by two, want 100", got)
		}
		first, second := a.Stats(), b.Stats()
		if first.Due == 0 || second.Due == 0 || first.Due+second.Due != 100 {
			t.Errorf("two replicas found %d and %d of 100: they do not share", first.Due, second.Due)
		}

		stopA()
		w.leaseFrom(100, 100)
		if got := w.states()[coupon.Locked]; got != 100 {
			t.Fatalf("%d coupons leased, want 100", got)
		}
		pass(leaseLength + 40*time.Second)
		if got := w.states()[coupon.Available]; got != 200 {
			t.Errorf("%d leases released, want all 200: the one left did not take over", got)
		}
	})
}

func TestAnOrderedWalkGoesOnWhereItEndedAndStartsOver(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		small := options()
		small.Look, small.StartOver = 2, 3*time.Minute
		// Refused by the ledger: the first two leases stay due.
		w.lease(5)
		w.ledger.Fail(errPoison, errPoison)
		sweeper := reconcile.NewSweeper(w.timers(0), w.engine, reconcile.NewShards(w.leases, "a", 0, 1, ttl), small)
		defer run(t, sweeper)()
		pass(leaseLength + 15*time.Second)
		want := [][2]string{{code(0), code(1)}, {code(2), code(3)}, {code(4), code(4)}}
		if diff := cmp.Diff(fold(want), w.listed()); diff != "" {
			t.Errorf("pages of the first walk (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(reconcile.Stats{Sweep: "leases", Due: 5, Submitted: 3, Failed: 2}, sweeper.Stats()); diff != "" {
			t.Errorf("stats (-want +got):\n%s", diff)
		}
		pass(time.Minute)
		if pages := w.listed(); len(pages) != 3 {
			t.Errorf("the walk did not go on where it ended: %v", pages[3:])
		}
		pass(3 * time.Minute)
		if got := w.states()[coupon.Available]; got != 5 {
			t.Errorf("%d leases released after starting over, want 5", got)
		}
	})
}

// A replica that died has left work behind that the others' walks have passed.
func TestShardsGainedLaterAreWalkedFromTheStart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for shard := range 3 {
			if _, held, err := w.leases.Acquire(t.Context(), shard, "died", 2*time.Minute); !held || err != nil {
				t.Fatalf("acquire: %v, %v", held, err)
			}
		}
		w.lease(100)
		shards := reconcile.NewShards(w.leases, "a", 0, 4, ttl)
		defer run(t, reconcile.NewSweeper(w.timers(0), w.engine, shards, options()))()
		pass(leaseLength + 20*time.Second)
		if got := w.states()[coupon.Available]; got == 0 || got == 100 {
			t.Fatalf("%d of 100 leases released by the holder of one shard in four", got)
		}
		pass(90 * time.Second)
		if got := w.states()[coupon.Available]; got != 100 {
			t.Errorf("%d of 100 leases released by the holder of all shards", got)
		}
	})
}

func fold(pages [][2]string) [][2]string {
	for i := range pages {
		pages[i] = [2]string{coupon.Fold(pages[i][0]), coupon.Fold(pages[i][1])}
	}
	return pages
}

func TestABrokenWalkIsTakenUpAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.lease(3)
		w.fail(errors.New("database is away"))
		defer run(t, reconcile.NewSweeper(w.timers(0), w.engine, reconcile.NewShards(w.leases, "a", 0, 1, ttl), options()))()
		pass(leaseLength + 30*time.Second)
		if got := w.states()[coupon.Available]; got != 0 {
			t.Fatalf("%d leases released without a list of them", got)
		}
		w.fail(nil)
		pass(15 * time.Second)
		if got := w.states()[coupon.Available]; got != 3 {
			t.Errorf("%d leases released, want 3", got)
		}
	})
}

// What the closing engine did not answer is asked again by whoever comes next.
func TestAClosedEngineEndsTheWalk(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.lease(3)
		pass(leaseLength)
		if err := w.engine.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		sweeper := reconcile.NewSweeper(w.timers(0), w.engine, reconcile.NewShards(w.leases, "a", 0, 1, ttl), options())
		defer run(t, sweeper)()
		pass(25 * time.Second)
		stats := sweeper.Stats()
		if stats.Submitted != 0 || stats.Failed != stats.Due || stats.Due < 6 {
			t.Errorf("stats %+v: want every lease asked about with every walk, and none answered", stats)
		}
	})
}

func TestEndedValidityExpiresFreeCouponsOnly(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.lease(1)
		until := time.Now().Add(30 * time.Second)
		for i := 10; i < 30; i++ {
			w.ask(coupon.ImportCoupon{Code: code(i), Template: "T1", ValidUntil: until})
		}
		small := options()
		small.Look, small.Chunk, small.StartOver = 7, 3, 0
		sweeper := reconcile.NewSweeper(w.validity(), w.engine, reconcile.NewShards(w.leases, "a", 0, 1, ttl), small)
		defer run(t, sweeper)()
		pass(25 * time.Second)
		if diff := cmp.Diff(map[coupon.State]int{coupon.Locked: 1, coupon.Available: 20}, w.states()); diff != "" {
			t.Errorf("before the end (-want +got):\n%s", diff)
		}
		pass(20 * time.Second)
		if diff := cmp.Diff(map[coupon.State]int{coupon.Locked: 1, coupon.Expired: 20}, w.states()); diff != "" {
			t.Errorf("after the end (-want +got):\n%s", diff)
		}
		for i := 5; i < 10; i++ { // before all others in the order of the walk
			w.ask(coupon.ImportCoupon{Code: code(i), Template: "T1", ValidUntil: time.Now().Add(5 * time.Second)})
		}
		pass(20 * time.Second)
		if diff := cmp.Diff(map[coupon.State]int{coupon.Locked: 1, coupon.Expired: 25}, w.states()); diff != "" {
			t.Errorf("later (-want +got):\n%s", diff)
		}
	})
}
