package store

import (
	"crypto/sha256"
	"testing"
	"time"

	"couponlease/internal/coupon"
)

func TestMessageTwiceInOneBatch(t *testing.T) {
	s := open(t)
	r := request("m1", now(t, s), paid("o1"))
	outcomes := apply(t, s, r, r)
	if outcomes[0].Code != coupon.Parked || outcomes[1].Code != coupon.DuplicateEvent {
		t.Errorf("got %+v", outcomes)
	}
	if receipts := scalar[int](t, s, `select count(*) from inbox`); receipts != 1 {
		t.Errorf("%d receipts, want 1", receipts)
	}
}

func TestMessageIDWithAnotherBody(t *testing.T) {
	s := open(t)
	r := request("m1", now(t, s), paid("o1"))
	one(t, s, coupon.Parked, r)
	r.Fact = paid("o2")
	r.Hash = sha256.Sum256([]byte("another body"))
	if got := apply(t, s, r)[0]; got.Status != coupon.Dead || got.Code != coupon.IDReuse {
		t.Errorf("got %+v", got)
	}
}

// TestMessagesOutsideTheRetention have no inbox row. Their business keys still tell that
// they came before.
func TestMessagesOutsideTheRetention(t *testing.T) {
	s := open(t, func(o *Options) { o.InboxRetention = 3 })
	at := now(t, s)
	for name, test := range map[string]struct {
		at    time.Time
		again coupon.Code
	}{
		"today":      {at, coupon.DuplicateEvent},
		"first day":  {dayOf(at).AddDate(0, 0, -3), coupon.DuplicateEvent},
		"day before": {dayOf(at).AddDate(0, 0, -3).Add(-time.Microsecond), coupon.DuplicatePayment},
		"long ago":   {at.AddDate(-2, 0, 0), coupon.DuplicatePayment},
	} {
		t.Run(name, func(t *testing.T) {
			r := request("m "+name, test.at, paid("o "+name))
			one(t, s, coupon.Parked, r)
			one(t, s, test.again, r)
		})
	}
}

func TestMissingPartitionIsMadeOnDemand(t *testing.T) {
	s := open(t)
	at := now(t, s)
	today := partition{inboxTable, dayOf(at)}
	execute(t, s, "drop table "+today.name())
	decided := 0
	r := []coupon.Request{request("m1", at, paid("o1"))}
	var outcomes []coupon.Outcome
	if err := s.Apply(t.Context(), r, func(w *coupon.World) {
		decided++
		decideAll(r, &outcomes)(w)
	}); err != nil {
		t.Fatal(err)
	}
	if decided != 2 || outcomes[0].Code != coupon.Parked {
		t.Errorf("decided %d times, last %+v", decided, outcomes)
	}
	one(t, s, coupon.DuplicateEvent, r[0])
}
