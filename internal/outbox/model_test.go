package outbox_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"couponlease/internal/outbox"
)

// transaction changes coupons: it locks them, draws its row ids, and commits.
type transaction struct {
	Gap, Hold time.Duration // before it begins; while it holds the locks
	Coupons   []int         // ascending
}

// fault is what happens to one call of the publisher.
type fault int

const (
	none fault = iota
	refuseAll
	loseTail // the first half is taken, nothing is confirmed
	refuseOne
	hang
)

// history is a random plan of commits, kills and faults.
type history struct {
	Shards       int
	Transactions []transaction
	Kills        []time.Duration // between one kill and the next
	Points       []string        // where the victim of each kill dies; "" is at once
	Faults       []fault         // of the publisher's calls, in turn
	Rows, Window int
}

const modelCoupons = 4

func histories(t *rapid.T) history {
	gap := rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.IntRange(0, 40).Draw(t, "ms")) * time.Millisecond
	})
	one := rapid.Custom(func(t *rapid.T) transaction {
		coupons := rapid.SliceOfNDistinct(rapid.IntRange(0, modelCoupons-1), 1, 3, rapid.ID).Draw(t, "coupons")
		slices.Sort(coupons)
		return transaction{Gap: gap.Draw(t, "gap"), Hold: gap.Draw(t, "hold"), Coupons: coupons}
	})
	return history{
		Shards:       rapid.IntRange(1, 2).Draw(t, "shards"),
		Transactions: rapid.SliceOfN(one, 1, 60).Draw(t, "transactions"),
		Kills:        rapid.SliceOfN(gap, 0, 8).Draw(t, "kills"),
		Points:       rapid.SliceOfN(rapid.SampledFrom(append([]string{""}, points...)), 8, 8).Draw(t, "points"),
		Faults:       rapid.SliceOfN(rapid.SampledFrom([]fault{none, none, refuseAll, loseTail, refuseOne, hang}), 0, 20).Draw(t, "faults"),
		Rows:         rapid.IntRange(1, 6).Draw(t, "rows"),
		Window:       rapid.IntRange(1, 5).Draw(t, "window"),
	}
}

// Whatever is committed in whatever order, however often the relay dies and the
// broker refuses: every committed message is published, and the messages of each
// coupon in commit order.
func TestEveryCommittedRowIsPublishedInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := histories(rt)
		var committed [modelCoupons][]string
		var published []string
		inWorld(t, func(_ *testing.T, w *world) {
			w.broker.latency = 3 * time.Millisecond
			w.broker.answer = h.faults()
			relays := h.run(w, &committed)
			for shard := range h.Shards {
				w.awaitEmpty(shard, 10*time.Minute)
			}
			for _, stop := range relays {
				stop()
			}
			published = w.broker.ids()
		})
		for coupon, want := range committed {
			own := ofCoupon(fmt.Sprint(coupon), published)
			if diff := cmp.Diff(want, last(own)); diff != "" {
				rt.Errorf("last sightings of coupon %d (-committed +published):\n%s", coupon, diff)
			}
			// A hole in the middle of a batch lets what is behind it be seen first.
			if diff := cmp.Diff(want, first(own)); diff != "" && !slices.Contains(h.Faults, refuseOne) {
				rt.Errorf("first sightings of coupon %d (-committed +published):\n%s", coupon, diff)
			}
		}
	})
}

// run plays the history and returns how to stop the relays that are alive.
func (h history) run(w *world, committed *[modelCoupons][]string) (stops []func()) {
	var locks [modelCoupons]chan struct{}
	for i := range locks {
		locks[i] = make(chan struct{}, 1)
	}
	var transactions sync.WaitGroup
	transactions.Go(func() {
		for number, tx := range h.Transactions {
			time.Sleep(tx.Gap)
			transactions.Go(func() { tx.run(w, number, h.Shards, &locks, committed) })
		}
	})
	options := outbox.Options{Shards: h.Shards, Lease: time.Second, Rows: h.Rows, Messages: h.Window, PublishTimeout: 50 * time.Millisecond}
	start := func(point string) (kill func()) {
		p := w.process()
		var doomed atomic.Bool
		p.at = func(at string) bool { return at == point && doomed.Load() }
		_, stop := w.start(p, options)
		stops = append(stops, stop)
		return func() {
			doomed.Store(true)
			if point == "" {
				p.killed.Store(true)
			}
		}
	}
	start("") // the one that stays
	for i, wait := range h.Kills {
		kill := start(h.Points[i])
		time.Sleep(10 * wait)
		kill()
	}
	transactions.Wait()
	return stops
}

// run is the engine in small. The row of a shard is drawn while the locks are
// held and visible before they are released.
func (tx transaction) run(w *world, number, shards int, locks *[modelCoupons]chan struct{}, committed *[modelCoupons][]string) {
	for _, coupon := range tx.Coupons {
		locks[coupon] <- struct{}{}
	}
	rows := make([][]string, shards)
	ids := make([]int64, shards)
	for _, coupon := range tx.Coupons {
		message := fmt.Sprintf("%d/%d", coupon, number)
		rows[coupon%shards] = append(rows[coupon%shards], message)
		committed[coupon] = append(committed[coupon], message)
	}
	for shard := range rows {
		ids[shard] = w.store.Draw()
	}
	time.Sleep(tx.Hold)
	for shard, messages := range rows {
		if len(messages) > 0 {
			w.store.Commit(shard, ids[shard], row(w, messages...))
		}
	}
	for _, coupon := range tx.Coupons {
		<-locks[coupon]
	}
}

// faults answers one call after the other with the planned faults, and then well.
func (h history) faults() func(context.Context, []string) []error {
	var mu sync.Mutex
	planned := slices.Clone(h.Faults)
	next := func() fault {
		mu.Lock()
		defer mu.Unlock()
		if len(planned) == 0 {
			return none
		}
		f := planned[0]
		planned = planned[1:]
		return f
	}
	return func(ctx context.Context, ids []string) []error {
		errs := make([]error, len(ids))
		switch next() {
		case refuseAll:
			return repeat(errNacked, len(ids))
		case loseTail:
			half := (len(ids) + 1) / 2
			return append(repeat(errUnconfirmed, half), repeat(errNacked, len(ids)-half)...)
		case refuseOne:
			errs[len(ids)/2] = errNacked
		case hang:
			<-ctx.Done()
			return repeat(ctx.Err(), len(ids))
		}
		return errs
	}
}
