package simulate

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"couponlease/internal/coupon"
)

// noContext is for ledgers in memory, which wait for nothing.
var noContext = context.Background()

// sameRows compares rows; an empty list is no list.
func sameRows(want, got rows) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.AllowUnexported(usesKey{}))
}

// TestWhateverIsTold: any requests about several orders and coupons, and after
// each of them every invariant holds, and whatever did not apply changed nothing.
func TestWhateverIsTold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := newDealer(t)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			coupons, all := d.ledger.couponRows(), d.ledger.allRows()
			request, outcome := d.any()
			broken, err := d.ledger.Violations(noContext)
			if err != nil || len(broken) > 0 {
				t.Fatalf("%+v: %+v: %v %v", request.Fact, outcome, broken, err)
			}
			changed := ""
			switch _, command := request.Fact.(coupon.Command); {
			case outcome.Status == coupon.Applied:
				continue
			case outcome.Status == coupon.Refused && !command:
				// What is known of an order by its placement may concern others, whatever its coupons: a part opens
				// the whole again, a stranger turns out not to have been edited.
				order := request.Fact.Orders()[0]
				if before := all.Orders[order]; d.ledger.orders[order].Parent != "" || before != nil && before.SupersededBy != "" {
					continue
				}
				changed = sameRows(coupons, d.ledger.couponRows())
			case outcome.Status == coupon.Dead, outcome.Status == coupon.Repeated:
				changed = sameRows(all, d.ledger.allRows())
			default:
				changed = sameRows(all.withoutAnswers(), d.ledger.allRows().withoutAnswers())
			}
			if changed != "" {
				t.Fatalf("%+v was %+v and changed:\n%s", request.Fact, outcome, changed)
			}
		}
	})
}

// TestToldAgain: after any requests, and when what commands leased has lapsed or was
// settled with its order, whatever was told before is told again. With
// its id it is a repeated message, and without it an old fact: neither changes a
// coupon. A command is told its first answer each time.
func TestToldAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := newDealer(t)
		var told []coupon.Request
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			request, outcome := d.any()
			if outcome.Status == coupon.Applied || outcome.Status == coupon.Unchanged && outcome.Code != coupon.NoopNotDue {
				told = append(told, request)
			}
		}
		d.lapse()
		before := d.ledger.couponRows()
		for i, request := range told {
			first := d.ledger.answers[request.Key]
			repeated := coupon.DuplicateEvent
			if first != nil {
				repeated = coupon.Duplicate
			}
			if outcome := d.apply(request); outcome.Status != coupon.Repeated || outcome.Code != repeated {
				t.Fatalf("%+v again: %+v", request.Fact, outcome)
			}
			switch request.Fact.(type) {
			case coupon.ValidityOver, coupon.ImportCoupon: // questions, no old facts
				continue
			}
			request.ID = fmt.Sprint("again", i)
			outcome := d.apply(request)
			if diff := cmp.Diff(first, outcome.Answer); diff != "" {
				t.Fatalf("%+v published again: %+v, answered otherwise:\n%s", request.Fact, outcome, diff)
			}
			if diff := sameRows(before, d.ledger.couponRows()); diff != "" {
				t.Fatalf("%+v published again: %+v, and changed:\n%s", request.Fact, outcome, diff)
			}
		}
	})
}

// TestBatchesAreTransparent: the same requests in one transaction, or in several,
// give the same answers and the same rows, to the last id.
func TestBatchesAreTransparent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := newDealer(t)
		var want []coupon.Outcome
		prepared := len(d.hand)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			_, outcome := d.any()
			want = append(want, outcome)
		}
		var now time.Time
		batched := NewLedger(func() time.Time { return now }, d.ledger.Rules, NewSource(dealtSeed))
		var got []coupon.Outcome
		for i := 0; i < len(d.hand); {
			now = d.hand[i].now
			var batch []coupon.Request
			for i < len(d.hand) && d.hand[i].now.Equal(now) &&
				(len(batch) == 0 || rapid.IntRange(0, 3).Draw(t, "together") > 0) {
				batch = append(batch, d.hand[i].request)
				i++
			}
			outcomes, err := batched.decideAll(batch)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, outcomes...)
		}
		if diff := cmp.Diff(want, got[prepared:]); diff != "" {
			t.Errorf("answers (-one by one +together):\n%s", diff)
		}
		if diff := sameRows(d.ledger.allRows(), batched.allRows()); diff != "" {
			t.Errorf("rows (-one by one +together):\n%s", diff)
		}
	})
}
