package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"couponlease/internal/coupon"
)

// walk reads all timers in pages of two.
func walk(t *testing.T, s *Store, scan TimerScan) (coupons []string) {
	t.Helper()
	scan.Limit = 2
	for {
		page, err := s.DueTimers(t.Context(), scan)
		if err != nil {
			t.Fatal(err)
		}
		for _, timer := range page.Timers {
			coupons = append(coupons, timer.Coupon)
		}
		if page.Last {
			return coupons
		}
		if page.Next == scan.After {
			t.Fatal("the cursor stands still")
		}
		scan.After = page.Next
	}
}

func TestDueTimers(t *testing.T) {
	s := open(t)
	issue(t, s, unlimited("summer"), "C0", "C1", "C2", "C3", "C4", "C5", "C6")
	at := now(t, s)
	for i := range 7 {
		f := placed(fmt.Sprint("o", i), fmt.Sprint("c", i))
		f.Lease = time.Microsecond
		if i == 5 {
			f.Lease = time.Hour
		}
		f.OpenEnded = i == 6
		one(t, s, coupon.OK, request(fmt.Sprint("m", i), at, f))
	}
	one(t, s, coupon.Redeemed, request("pay", at, paid("o3"))) // its timer is stale

	want := []string{"c0", "c1", "c2", "c4"}
	if got := walk(t, s, TimerScan{}); !slices.Equal(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := walk(t, s, TimerScan{Overdue: time.Hour}); len(got) != 0 {
		t.Errorf("overdue for an hour: %s", got)
	}
	shared := slices.Concat(walk(t, s, TimerScan{Shards: 2}), walk(t, s, TimerScan{Shard: 1, Shards: 2}))
	slices.Sort(shared)
	if !slices.Equal(shared, want) {
		t.Errorf("two shards together got %s, want %s", shared, want)
	}

	page, err := s.DueTimers(t.Context(), TimerScan{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	timer := page.Timers[0]
	due := coupon.LeaseDue{
		Coupon: timer.Coupon, Order: timer.Order, LeaseID: timer.LeaseID, TokenHash: timer.TokenHash, Version: timer.Version,
	}
	one(t, s, coupon.Released, request("due", at, due))
	if got := walk(t, s, TimerScan{}); !slices.Equal(got, want[1:]) {
		t.Errorf("after the release: %s, want %s", got, want[1:])
	}
}

// TestRenewedLeaseHasOneTimer: the timers of its earlier deadlines are stale.
func TestRenewedLeaseHasOneTimer(t *testing.T) {
	s := open(t)
	issue(t, s, unlimited("summer"), "C1")
	f := placed("o1", "c1")
	f.Lease = time.Microsecond
	one(t, s, coupon.OK, request("m1", now(t, s), f))
	execute(t, s, `insert into lease_timer (due_at, version, lease_id, far, coupon_id)
		select due_at, version - 1, lease_id, far, coupon_id from lease_timer`)
	if got := walk(t, s, TimerScan{}); len(got) != 1 {
		t.Errorf("got %s, want one", got)
	}
}

func TestExpirable(t *testing.T) {
	s := open(t)
	at := now(t, s)
	issue(t, s, unlimited("summer"))
	for i := range 6 {
		f := coupon.ImportCoupon{Code: fmt.Sprint("C", i), Template: "summer", ValidUntil: at.Add(-time.Hour)}
		switch i {
		case 2:
			f.ValidUntil = at.Add(time.Hour)
		case 3:
			f.ValidUntil = time.Time{}
		}
		apply(t, s, coupon.Request{Fact: f})
	}
	one(t, s, coupon.Lapsed, coupon.Request{Fact: coupon.ValidityOver{Coupon: "c1"}})
	execute(t, s, `update user_coupon set valid_until = $1 where coupon_id = 'c4'`, at.Add(time.Hour)) // extended

	var found []string
	page, err := s.Expirable(t.Context(), "", 2)
	for ; ; page, err = s.Expirable(t.Context(), page.Next, 2) {
		if err != nil {
			t.Fatal(err)
		}
		if found = append(found, page.Coupons...); page.Last {
			break
		}
	}
	if want := []string{"c0", "c5"}; !slices.Equal(found, want) {
		t.Errorf("got %s, want %s", found, want)
	}
	if again, err := s.Expirable(t.Context(), page.Next, 2); err != nil || !again.Last || again.Next != page.Next {
		t.Errorf("behind the end: %+v, %v", again, err)
	}
	if _, err := s.Expirable(t.Context(), "yesterday", 2); err == nil {
		t.Error("took a cursor that is none")
	}
}
