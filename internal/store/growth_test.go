package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
	"couponlease/internal/testkit"
)

// workerLockTimeout is more than writers may wait behind maintenance, and less than
// anything else bounds: a worker that fails has waited too long.
const workerLockTimeout = 3 * maintenanceLockTimeout

// patientMaintenance gives up only where maintenance itself bounds its waits.
func patientMaintenance(o *Options) { o.LockTimeout, o.StatementTimeout = time.Minute, time.Minute }

// consumers apply messages without a pause until they are stopped.
type consumers struct {
	commits []atomic.Int64
	stop    func()
}

func consume(t *testing.T, s *Store, n int) *consumers {
	t.Helper()
	workers := openAt(t, s.pool.Config().ConnString(), func(o *Options) { o.LockTimeout = workerLockTimeout })
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	c := &consumers{commits: make([]atomic.Int64, n)}
	c.stop = sync.OnceFunc(func() {
		cancel()
		group.Wait()
	})
	t.Cleanup(c.stop)
	at := now(t, s)
	for i := range n {
		group.Go(func() {
			for m := 0; ctx.Err() == nil; m++ {
				id := fmt.Sprintf("load-%d-%d", i, m)
				requests := []coupon.Request{request(id, at, placed(id))}
				var outcomes []coupon.Outcome
				if err := workers.Apply(ctx, requests, decideAll(requests, &outcomes)); err != nil {
					if ctx.Err() == nil {
						t.Errorf("a consumer was held up: %v", err)
					}
					return
				}
				c.commits[i].Add(1)
			}
		})
	}
	c.progress(t)
	return c
}

// progress waits until each consumer has committed once more at least.
func (c *consumers) progress(t *testing.T) {
	t.Helper()
	for i := range c.commits {
		before := c.commits[i].Load()
		testkit.Eventually(t, time.Minute, "consumers go on", func() (bool, string) {
			return c.commits[i].Load() > before, fmt.Sprintf("consumer %d has committed %d messages", i, before)
		})
	}
}

// fillInbox has the inbox remember messages of one day.
func fillInbox(t *testing.T, s *Store, day time.Time, rows int) {
	t.Helper()
	execute(t, s, `insert into inbox (day, at, done_at, message_id, hash, kind, order_id, code, status)
		select $1::date, $1::date, $1::date, 'old-' || $1::date || '-' || n, sha256(n::text::bytea), 'OrderPlaced',
			'order-' || n, 'OK', 'APPLIED'
		from generate_series(1, $2::int) n`, day, rows)
}

// T18 and T20: a day with very many messages goes while consumers work without a pause,
// and none of them waits for it.
func TestT18T20AFullDayIsDroppedUnderFullLoad(t *testing.T) {
	s := open(t, patientMaintenance, func(o *Options) { o.InboxRetention = 13 })
	day := partition{inboxTable, dayOf(now(t, s)).AddDate(0, 0, -14)}
	fillInbox(t, s, day.day, 200_000)
	load := consume(t, s, 4)
	testkit.Eventually(t, time.Minute, "the day is gone", func() (bool, string) {
		err := s.DropExpiredPartitions(t.Context())
		return err == nil, fmt.Sprint(err)
	})
	if left := scalar[int](t, s, `select count(*) from inbox where day = $1`, day.day); left != 0 {
		t.Errorf("%d messages of %s are left", left, day.name())
	}
	load.progress(t)
	load.stop()
	if there := scalar[bool](t, s, `select to_regclass($1) is not null`, day.name()); there {
		t.Errorf("%s is still there", day.name())
	}
}

// T18: somebody reads an old day for long. Maintenance gives up quickly, once for all
// days that are over, so that nobody queues behind it, and drops them when it comes back.
func TestT18AReaderOfAnOldDayHoldsNobodyUp(t *testing.T) {
	s := open(t, patientMaintenance, func(o *Options) { o.InboxRetention = 10 })
	oldest := dayOf(now(t, s)).AddDate(0, 0, -14)
	fillInbox(t, s, oldest, 10)
	reader := connection(t, s)
	for _, statement := range []string{
		"begin isolation level repeatable read", "select count(*) from inbox where day = '" + oldest.Format(time.DateOnly) + "'",
	} {
		if _, err := reader.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	load := consume(t, s, 4)
	days := len(names(t, s, inboxTable))
	err := s.DropExpiredPartitions(t.Context())
	if Classify(err) != batcher.Transient || strings.Count(err.Error(), "drop partition") != 1 {
		t.Errorf("got %s: %v", Classify(err), err)
	}
	if got := len(names(t, s, inboxTable)); got != days {
		t.Errorf("%d of %d days are left, beside their reader", got, days)
	}
	load.progress(t)
	if _, err := reader.Exec(t.Context(), "rollback"); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, time.Minute, "the days are dropped", func() (bool, string) {
		err := s.DropExpiredPartitions(t.Context())
		return err == nil, fmt.Sprint(err)
	})
	load.progress(t)
	load.stop()
	if got, want := len(names(t, s, inboxTable)), 10+1+inboxDaysAhead; got != want {
		t.Errorf("%d days of the inbox are left, want %d", got, want)
	}
}

// T21: over many days of traffic neither inbox nor timers grow beyond their retention,
// and the inbox's figures say so.
func TestT21TablesAreBoundedOverManyDays(t *testing.T) {
	const (
		retention, days, daily = 3, 30, 50
		timersKept             = 2
	)
	var clock atomic.Pointer[time.Time]
	s := open(t, func(o *Options) {
		o.InboxRetention, o.TimerRetention = retention, timersKept
		o.Now = func() time.Time { return *clock.Load() }
	})
	start := now(t, s)
	for day := range days {
		at := start.AddDate(0, 0, day)
		clock.Store(&at)
		if err := errors.Join(s.EnsurePartitions(t.Context()), s.DropExpiredPartitions(t.Context())); err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprint("d", day)
		issue(t, s, unlimited("summer"), id)
		f := placed(id, id)
		f.Lease = time.Hour
		one(t, s, coupon.OK, request("placed-"+id, at, f))
		one(t, s, coupon.Redeemed, request("paid-"+id, at, paid(id)))
		fillInbox(t, s, dayOf(at), daily-2)
		if rows := scalar[int](t, s, `select count(*) from inbox`); rows > (retention+1)*daily {
			t.Fatalf("day %d: %d messages are remembered", day, rows)
		}
		if timers := scalar[int](t, s, `select count(*) from lease_timer`); timers > timersKept+2 {
			t.Fatalf("day %d: %d timers are kept", day, timers)
		}
	}
	if got, want := len(names(t, s, inboxTable)), retention+1+inboxDaysAhead; got != want {
		t.Errorf("%d days of the inbox, want %d", got, want)
	}
	testkit.Eventually(t, time.Minute, "the inbox is estimated", func() (bool, string) {
		w := waiting(t, s, 0)
		oldest := dayOf(*clock.Load()).AddDate(0, 0, -retention)
		return w.InboxRows == (retention+1)*daily && w.InboxOldest.Equal(oldest), fmt.Sprintf("%+v", w)
	})
}

// T22: whoever keeps dead rows from being cleaned up shows, also one that has only
// written.
func TestT22OldestSnapshotIsSeen(t *testing.T) {
	s := open(t)
	fillInbox(t, s, dayOf(now(t, s)), 1)
	for _, first := range []string{
		"begin isolation level repeatable read; select count(*) from coupon_outbox",
		"begin; update inbox set code = code",
	} {
		idle := connection(t, s)
		if _, err := idle.Exec(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, time.Minute, "the transaction is a second old", func() (bool, string) {
			oldest := waiting(t, s, 0).OldestSnapshot
			facts, err := s.ServerFacts(t.Context())
			return err == nil && oldest >= time.Second && facts.OldestSnapshot >= time.Second,
				fmt.Sprintf("%v, %v, %v", oldest, facts.OldestSnapshot, err)
		})
		if _, err := idle.Exec(t.Context(), "rollback"); err != nil {
			t.Fatal(err)
		}
	}
}
