package ledgertest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"couponlease/internal/coupon"
)

func keeps(t *testing.T, b *bench) {
	b.issue(t, 2, unlimited())
	b.ask(t, coupon.OK, "A/placed", placed("A", "c1", "c2"))
	if row := b.want(t, "c1", coupon.Locked, 2); row.Lease.Order != "A" {
		t.Errorf("leased to %q", row.Lease.Order)
	}
	b.pass(time.Second)
	b.ask(t, coupon.Redeemed, "A/paid", paid("A"))
	b.want(t, "c2", coupon.Used, 3)
	b.ask(t, "RETURN:FULL", "A/refund", coupon.RefundApproved{Order: "A", Refund: "r", Amount: 100, Currency: "EUR"})
	b.want(t, "c1", coupon.Available, 4)
	order, err := b.ledger.Order(context.Background(), "A")
	if err != nil {
		t.Fatal(err)
	}
	if !order.Placed || len(order.Payments) != 1 || len(order.Refunds) != 1 || len(order.Named) != 2 {
		t.Errorf("order: %+v", order)
	}
}

func dies(t *testing.T, b *bench) {
	b.issue(t, 1, unlimited())
	ctx, die := context.WithCancel(context.Background())
	request := b.request("A/placed", placed("A", "c1"))
	err := b.ledger.Apply(ctx, []coupon.Request{request}, func(world *coupon.World) {
		coupon.Decide(world, &request)
		world.Seal()
		die()
	})
	if err == nil {
		t.Fatal("a transaction survived the death of its process")
	}
	b.want(t, "c1", coupon.Available, 1)
	order, err := b.ledger.Order(context.Background(), "A")
	if err != nil || order.Known() {
		t.Errorf("order %+v, error %v", order, err)
	}
	b.ask(t, coupon.OK, "A/placed", placed("A", "c1"))
}

func repeats(t *testing.T, b *bench) {
	b.issue(t, 1, unlimited())
	request := b.request("A/placed", placed("A", "c1"))
	for i, want := range []coupon.Outcome{
		{Status: coupon.Applied, Code: coupon.OK},
		{Status: coupon.Repeated, Code: coupon.DuplicateEvent, First: coupon.OK},
	} {
		outcomes, err := b.apply(context.Background(), request)
		if err != nil || outcomes[0] != want {
			t.Errorf("delivery %d: %+v, error %v, want %+v", i, outcomes[0], err, want)
		}
	}
	request.Hash[0]++
	outcomes, err := b.apply(context.Background(), request)
	if err != nil || outcomes[0].Status != coupon.Dead || outcomes[0].Code != coupon.IDReuse {
		t.Errorf("other content under the same id: %+v, error %v", outcomes[0], err)
	}
	b.want(t, "c1", coupon.Locked, 2)
}

func finds(t *testing.T, b *bench) {
	b.issue(t, 3, unlimited())
	b.ask(t, coupon.Parked, "A/paid", paid("A"))
	b.ask(t, coupon.OK, "A/placed", placed("A", "c1", "c3"))
	b.want(t, "c1", coupon.Used, 3)
	b.want(t, "c2", coupon.Available, 1)
	b.want(t, "c3", coupon.Used, 3)
}

func joins(t *testing.T, b *bench) {
	b.issue(t, 1, unlimited())
	first, second := placed("P-1", "c1"), placed("P-2", "c1")
	first.Parent, second.Parent = "P", "P"
	b.ask(t, coupon.OK, "1/placed", first)
	b.ask(t, coupon.Duplicate, "2/placed", second)
	b.ask(t, coupon.Redeemed, "1/paid", paid("P-1"))
	b.ask(t, coupon.Noop, "2/paid", paid("P-2"))
	if row := b.want(t, "c1", coupon.Used, 3); row.Redemption.Order != "P" {
		t.Errorf("redeemed for %q, want the parent", row.Redemption.Order)
	}
	refund := func(order string) coupon.RefundApproved {
		return coupon.RefundApproved{Order: order, Refund: "r-" + order, Amount: 100, Currency: "EUR"}
	}
	b.ask(t, "KEEP:PARTIAL", "1/refund", refund("P-1"))
	b.ask(t, "RETURN:FULL", "2/refund", refund("P-2"))
	b.want(t, "c1", coupon.Available, 4)
}

func moves(t *testing.T, b *bench) {
	b.issue(t, 2, unlimited())
	b.ask(t, coupon.OK, "A/placed", placed("A", "c1", "c2"))
	edited := placed("A2", "c1")
	edited.Supersedes = "A"
	b.ask(t, coupon.OK, "A2/placed", edited)
	if row := b.want(t, "c1", coupon.Locked, 4); row.Lease.Order != "A2" {
		t.Errorf("leased to %q", row.Lease.Order)
	}
	b.want(t, "c2", coupon.Available, 3)
	b.ask(t, coupon.Redeemed, "A/paid", paid("A"))
	b.want(t, "c1", coupon.Used, 5)
}

// races lets many writers ask for one coupon at the same time.
func races(t *testing.T, b *bench) {
	const writers = 8
	b.issue(t, 1, unlimited())
	codes := b.atOnce(t, writers, func(i int) coupon.Request {
		return b.request(fmt.Sprintf("message-%d", i), placed(fmt.Sprintf("order-%d", i), "c1"))
	})
	if codes[coupon.OK] != 1 || codes[coupon.Rejected(coupon.AlreadyLocked)] != writers-1 {
		t.Errorf("answers: %v", codes)
	}
	b.want(t, "c1", coupon.Locked, 2)
}

// budgets lets many writers use one template at the same time.
func budgets(t *testing.T, b *bench) {
	const writers, budget = 8, 3
	limited := unlimited()
	limited.Budget = budget
	b.issue(t, writers, limited)
	codes := b.atOnce(t, writers, func(i int) coupon.Request {
		return b.request(fmt.Sprintf("message-%d", i), placed(fmt.Sprintf("order-%d", i), fmt.Sprintf("c%d", i+1)))
	})
	if codes[coupon.OK] != budget || codes[coupon.Rejected(coupon.BudgetExhausted)] != writers-budget {
		t.Errorf("answers: %v", codes)
	}
}

func (b *bench) atOnce(t *testing.T, writers int, request func(int) coupon.Request) map[coupon.Code]int {
	t.Helper()
	var mutex sync.Mutex
	var all sync.WaitGroup
	codes := map[coupon.Code]int{}
	for i := range writers {
		all.Go(func() {
			outcomes, err := b.apply(context.Background(), request(i))
			if err != nil {
				t.Errorf("writer %d: %v", i, err)
				return
			}
			mutex.Lock()
			defer mutex.Unlock()
			codes[outcomes[0].Code]++
		})
	}
	all.Wait()
	return codes
}

// forks: a decision on a version that is no longer the coupon's must not be kept.
func forks(t *testing.T, b *bench) {
	b.issue(t, 1, unlimited())
	request := b.request("A/placed", placed("A", "c1"))
	err := b.ledger.Apply(context.Background(), []coupon.Request{request}, func(world *coupon.World) {
		coupon.Decide(world, &request)
		changes := world.Seal()
		changes.Coupons[0].Base++
	})
	if err == nil {
		t.Error("a change on the wrong version was kept")
	}
	b.want(t, "c1", coupon.Available, 1)
}
