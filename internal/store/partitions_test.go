package store

import (
	"slices"
	"sync"
	"testing"
	"time"

	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
)

// names lists the daily partitions of a table.
func names(t *testing.T, s *Store, table string) (found []string) {
	t.Helper()
	all, err := s.partitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.table == table {
			found = append(found, p.name())
		}
	}
	return found
}

func TestMigrationMakesTheFirstPartitions(t *testing.T) {
	s := open(t)
	var want []string
	for _, p := range s.wantedPartitions(now(t, s)) {
		want = append(want, p.name())
	}
	slices.Sort(want)
	got := slices.Concat(names(t, s, inboxTable), names(t, s, nearTimerTable))
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestReplicasEnsurePartitionsAtOnce(t *testing.T) {
	s := open(t, func(o *Options) { o.InboxRetention = 20 })
	other := openAt(t, s.pool.Config().ConnString(), func(o *Options) { o.InboxRetention = 20 })
	execute(t, s, "drop table "+partition{nearTimerTable, dayOf(now(t, s))}.name())
	var group sync.WaitGroup
	for _, replica := range []*Store{s, other, s, other} {
		group.Go(func() {
			if err := replica.EnsurePartitions(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got, want := len(names(t, s, inboxTable)), 20+1+inboxDaysAhead; got != want {
		t.Errorf("%d days of the inbox, want %d", got, want)
	}
	if got, want := len(names(t, s, nearTimerTable)), 1+1+timerDaysAhead; got != want {
		t.Errorf("%d days of timers, want %d", got, want)
	}
}

// TestTimersMoveOutOfTheDefaultPartition: nothing is lost, and nothing fails, when
// maintenance was not run for days.
func TestTimersMoveOutOfTheDefaultPartition(t *testing.T) {
	s := open(t)
	today := partition{nearTimerTable, dayOf(now(t, s))}
	tomorrow := partition{nearTimerTable, today.day.AddDate(0, 0, 1)}
	execute(t, s, "drop table "+today.name())
	execute(t, s, "drop table "+tomorrow.name())
	issue(t, s, unlimited("summer"), "C1")
	f := placed("o1", "c1")
	f.Lease = time.Minute
	one(t, s, coupon.OK, request("m1", now(t, s), f))
	if waiting := scalar[int](t, s, `select count(*) from lease_timer_near_default`); waiting != 1 {
		t.Fatalf("%d timers in the default partition", waiting)
	}
	if err := s.EnsurePartitions(t.Context()); err != nil {
		t.Fatal(err)
	}
	if waiting := scalar[int](t, s, `select count(*) from lease_timer_near_default`); waiting != 0 {
		t.Errorf("%d timers are still in the default partition", waiting)
	}
	if all := scalar[int](t, s, `select count(*) from lease_timer`); all != 1 {
		t.Errorf("%d timers in all", all)
	}
}

func TestDropExpiredPartitions(t *testing.T) {
	s := open(t, func(o *Options) { o.InboxRetention, o.TimerRetention = 20, 2 })
	if err := s.EnsurePartitions(t.Context()); err != nil {
		t.Fatal(err)
	}
	at := now(t, s)
	old := dayOf(at).AddDate(0, 0, -10)
	for _, day := range []time.Time{old, old.AddDate(0, 0, 1)} {
		p := partition{nearTimerTable, day}
		key, lower, upper := p.bounds()
		execute(t, s, createPartitionSQL, p.table, p.name(), key, lower, upper)
	}
	issue(t, s, unlimited("summer"), "C1", "C2", "C3", "C4")
	one(t, s, coupon.OK, request("m1", at, placed("o1", "c1", "c2", "c3", "c4")))
	one(t, s, coupon.Redeemed, request("m2", at, coupon.PaymentSucceeded{Order: "o1", Payment: "p", Amount: 900, Currency: "EUR"}))
	one(t, s, coupon.OK, request("m3", at, placed("o2")))
	// The lease of c1 is held again, by the same timer; the others' are over.
	execute(t, s, `update lease_timer set far = coupon_id = 'c3', due_at = case when coupon_id = 'c1' then $1::timestamptz
		else $2::timestamptz end`, old.Add(time.Hour), old.AddDate(0, 0, 1).Add(time.Hour))
	execute(t, s, `update user_coupon c set state = 'LOCKED', redemption_id = null, lease_id = t.lease_id,
		lease_version = t.version from lease_timer t where t.coupon_id = c.coupon_id and c.coupon_id = 'c1'`)

	narrow := openAt(t, s.pool.Config().ConnString(), func(o *Options) { o.InboxRetention, o.TimerRetention = 5, 2 })
	if err := narrow.DropExpiredPartitions(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := len(names(t, s, inboxTable)), 5+1+inboxDaysAhead; got != want {
		t.Errorf("%d days of the inbox are left, want %d", got, want)
	}
	timers := names(t, s, nearTimerTable)
	if kept := (partition{nearTimerTable, old}).name(); !slices.Contains(timers, kept) {
		t.Errorf("%s is gone, with the timer of a lease that is held: %s", kept, timers)
	}
	if gone := (partition{nearTimerTable, old.AddDate(0, 0, 1)}).name(); slices.Contains(timers, gone) {
		t.Errorf("%s is still there: %s", gone, timers)
	}
	if far := scalar[int](t, s, `select count(*) from lease_timer_far`); far != 0 {
		t.Errorf("%d late timers are left", far)
	}
	if err := narrow.DropExpiredPartitions(t.Context()); err != nil {
		t.Errorf("again: %v", err)
	}
}

// TestBusyPartitionIsLeftForTheNextTime: maintenance does not hold writers up.
func TestBusyPartitionIsLeftForTheNextTime(t *testing.T) {
	s := open(t, func(o *Options) { o.InboxRetention = 13 })
	reader := connection(t, s)
	for _, statement := range []string{"begin", "select count(*) from inbox"} {
		if _, err := reader.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.DropExpiredPartitions(t.Context()); Classify(err) != batcher.Transient {
		t.Errorf("got %s: %v", Classify(err), err)
	}
	if _, err := reader.Exec(t.Context(), "rollback"); err != nil {
		t.Fatal(err)
	}
	if err := s.DropExpiredPartitions(t.Context()); err != nil {
		t.Error(err)
	}
	if got, want := len(names(t, s, inboxTable)), 13+1+inboxDaysAhead; got != want {
		t.Errorf("%d days of the inbox are left, want %d", got, want)
	}
}
