package simulate

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"couponlease/internal/coupon"
)

// oneCoupon gives a ledger with one coupon in it.
func oneCoupon(t *testing.T) *branch {
	t.Helper()
	return root(t, t.Name())
}

// TestLedgerKeepsAllOrNothing: a transaction that fails after it decided leaves
// every row as it was.
func TestLedgerKeepsAllOrNothing(t *testing.T) {
	b := oneCoupon(t)
	before := b.ledger.allRows()
	request := coupon.Request{ID: "m", Fact: placed("A", 0).fact}
	decide := func(w *coupon.World) {
		if outcome := coupon.Decide(w, &request); outcome.Code != coupon.OK {
			t.Errorf("decided %+v", outcome)
		}
		w.Seal()
	}
	lost := errors.New("connection lost")
	b.ledger.Fail(lost, lost)
	for range 2 {
		if err := b.ledger.Apply(t.Context(), []coupon.Request{request}, decide); !errors.Is(err, lost) {
			t.Errorf("got %v", err)
		}
	}
	dying, die := context.WithCancel(t.Context())
	err := b.ledger.Apply(dying, []coupon.Request{request}, func(w *coupon.World) { decide(w); die() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("died before the commit: got %v", err)
	}
	if err := b.ledger.Apply(dying, []coupon.Request{request}, decide); !errors.Is(err, context.Canceled) {
		t.Errorf("dead from the beginning: got %v", err)
	}
	if diff := sameRows(before, b.ledger.allRows()); diff != "" {
		t.Errorf("something was kept:\n%s", diff)
	}
	if err := b.ledger.Apply(t.Context(), []coupon.Request{request}, decide); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestLedgerRefusesWhatTheDatabaseWould: a version that is not the one read, a
// version or a key that is taken.
func TestLedgerRefusesWhatTheDatabaseWould(t *testing.T) {
	for _, c := range []struct {
		name   string
		behind func(*Ledger)
		want   string
	}{
		{"the row changed behind the engine", func(l *Ledger) {
			c := l.coupons["c1"].Clone()
			c.Version++
			l.coupons["c1"] = c
		}, "is at version 2, not 1"},
		{"the ledger has the version", func(l *Ledger) {
			l.operations["c1"] = append(l.operations["c1"], coupon.OperationRow{To: 2})
		}, "version 2 or key"},
	} {
		b := oneCoupon(t)
		request := coupon.Request{ID: "m", Fact: placed("A", 0).fact}
		err := b.ledger.Apply(t.Context(), []coupon.Request{request}, func(w *coupon.World) {
			coupon.Decide(w, &request)
			w.Seal()
			c.behind(b.ledger)
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// TestLedgerShowsCopies: what is read can be changed without changing the ledger.
func TestLedgerShowsCopies(t *testing.T) {
	b := oneCoupon(t)
	b.decide(t, coupon.Request{ID: "m", Fact: placed("A", 0).fact})
	before := b.ledger.allRows()
	visits := 0
	if err := b.ledger.EachHistory(t.Context(), func(h coupon.History) error {
		visits++
		h.Coupon.State, h.Coupon.Lease.Order, h.Operations[0].Order = coupon.Void, "Z", "Z"
		return nil
	}); err != nil {
		t.Error(err)
	}
	if err := b.ledger.EachOrder(t.Context(), func(o *coupon.Order) error {
		visits++
		o.Placed, o.Named[0].Coupon = false, "c9"
		return nil
	}); err != nil {
		t.Error(err)
	}
	order, err := b.ledger.Order(t.Context(), "A")
	if err != nil || !order.Placed {
		t.Errorf("order %+v, %v", order, err)
	}
	order.Named[0].Coupon = "c9"
	if diff := sameRows(before, b.ledger.allRows()); diff != "" || visits != 2 {
		t.Errorf("%d visits changed:\n%s", visits, diff)
	}
	stop := errors.New("enough")
	if err := b.ledger.EachHistory(t.Context(), func(coupon.History) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	if err := b.ledger.EachOrder(t.Context(), func(*coupon.Order) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	if order, err := b.ledger.Order(t.Context(), "nobody"); err != nil || order.ID != "nobody" || order.Placed {
		t.Errorf("an order nobody knows: %+v, %v", order, err)
	}
	if _, found, err := b.ledger.History(t.Context(), "c9"); found || err != nil {
		t.Errorf("a coupon nobody knows: %t, %v", found, err)
	}
}

// TestLedgerListsWhatIsDue: timers of current leases only, earliest first, and
// free coupons whose validity is over.
func TestLedgerListsWhatIsDue(t *testing.T) {
	b := oneCoupon(t)
	for i, code := range []string{"c2", "c3", "c4"} {
		b.decide(t, coupon.Request{Fact: coupon.ImportCoupon{
			Code: code, Template: "T1", ValidUntil: b.now.Add(time.Duration(2-i) * time.Minute),
		}})
	}
	b.decide(t, coupon.Request{ID: "m", Fact: coupon.OrderPlaced{
		Order: "A", Payable: 1, Wanted: []coupon.Wanted{{Coupon: "c1"}, {Coupon: "c2"}}, Lease: time.Hour,
	}})
	if due, err := b.ledger.DueTimers(t.Context(), 9); err != nil || len(due) != 0 {
		t.Errorf("before the deadline: %v, %v", due, err)
	}
	b.now = b.now.Add(time.Hour)
	due, err := b.ledger.DueTimers(t.Context(), 9)
	if err != nil || len(due) != 2 || due[0].LeaseID > due[1].LeaseID {
		t.Errorf("at the deadline: %+v, %v", due, err)
	}
	if due, err = b.ledger.DueTimers(t.Context(), 1); err != nil || len(due) != 1 {
		t.Errorf("one of them: %v, %v", due, err)
	}
	b.decide(t, coupon.Request{ID: "n", Fact: closed("A", 0, "timeout").fact})
	if due, err = b.ledger.DueTimers(t.Context(), 9); err != nil || len(due) != 0 {
		t.Errorf("after the release: %v, %v", due, err)
	}
	ids, err := b.ledger.Expirable(t.Context(), "", 9)
	if err != nil || strings.Join(ids, " ") != "c3 c4" { // c2 expired when it was released
		t.Errorf("expirable: %v, %v", ids, err)
	}
	if ids, err = b.ledger.Expirable(t.Context(), "c3", 9); err != nil || strings.Join(ids, " ") != "c4" {
		t.Errorf("after the cursor: %v, %v", ids, err)
	}
	if reviews, err := b.ledger.Reviews(t.Context()); err != nil || len(reviews) != 0 {
		t.Errorf("reviews: %v, %v", reviews, err)
	}
}

// TestSourceRepeatsItself: the same seed gives the same ids and tokens, ids in
// their order, tokens by what they are for.
func TestSourceRepeatsItself(t *testing.T) {
	one, same, other := NewSource("a"), NewSource("a"), NewSource("b")
	first, second := one.ID(), one.ID()
	if first >= second || same.ID() != first || other.ID() == first {
		t.Errorf("ids %s, %s", first, second)
	}
	token := one.Token("l", "A", "c1", 1)
	if token != same.Token("m", "A", "c1", 1) || token != coupon.HashToken(TokenOf("a", "A", "c1", 1)) {
		t.Errorf("token %x", token)
	}
	for _, different := range []coupon.TokenHash{
		one.Token("l", "A", "c1", 2), one.Token("l", "A", "c2", 1), one.Token("l", "B", "c1", 1),
		other.Token("l", "A", "c1", 1),
	} {
		if token == different {
			t.Errorf("token %x is shared", different)
		}
	}
}
