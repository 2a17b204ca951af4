package ledgertest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/simulate"
)

// bench is a ledger with a clock, on which requests are tried.
type bench struct {
	ledger Ledger
	clock  atomic.Int64
}

// start is within the days that a ledger remembers messages of.
var start = time.Now().UTC().Truncate(24 * time.Hour)

func newBench(t testing.TB, open Open) *bench {
	b := &bench{}
	b.clock.Store(start.UnixMicro())
	b.ledger = open(t, b.now, coupon.DefaultRules(), lockedSource())
	return b
}

// lockedSource may be used by several writers at once.
func lockedSource() coupon.Source {
	var mutex sync.Mutex
	source := simulate.NewSource("ledgertest")
	return coupon.Source{
		ID: func() string {
			mutex.Lock()
			defer mutex.Unlock()
			return source.ID()
		},
		Token: source.Token, Code: source.Code, Zone: source.Zone,
	}
}

func (b *bench) now() time.Time { return time.UnixMicro(b.clock.Load()).UTC() }

func (b *bench) pass(d time.Duration) { b.clock.Add(d.Microseconds()) }

// apply runs requests in one transaction.
func (b *bench) apply(ctx context.Context, requests ...coupon.Request) ([]coupon.Outcome, error) {
	outcomes, _, err := b.change(ctx, requests...)
	return outcomes, err
}

// change does so and tells what was written.
func (b *bench) change(ctx context.Context, requests ...coupon.Request) (
	outcomes []coupon.Outcome, changes *coupon.Changes, err error,
) {
	outcomes = make([]coupon.Outcome, len(requests))
	err = b.ledger.Apply(ctx, requests, func(world *coupon.World) {
		for i := range requests {
			outcomes[i] = coupon.Decide(world, &requests[i])
		}
		changes = world.Seal()
	})
	return outcomes, changes, err
}

// request gives a fact as a message under an id.
func (b *bench) request(id string, fact coupon.Fact) coupon.Request {
	return coupon.Request{ID: id, Hash: [32]byte{byte(len(id))}, At: b.now(), Actor: "test", Fact: fact}
}

// ask runs one fact and checks its answer.
func (b *bench) ask(t testing.TB, want coupon.Code, id string, fact coupon.Fact) {
	t.Helper()
	outcomes, err := b.apply(context.Background(), b.request(id, fact))
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	if outcomes[0].Code != want {
		t.Fatalf("%s: answered %+v, want %s", id, outcomes[0], want)
	}
}

// issue defines a template and imports coupons c1 … cn.
func (b *bench) issue(t testing.TB, n int, template coupon.Template) {
	t.Helper()
	template.ID = "T"
	b.ask(t, coupon.Created, "", coupon.DefineTemplate{Template: template})
	for i := range n {
		b.ask(t, coupon.Created, "", coupon.ImportCoupon{Code: fmt.Sprintf("c%d", i+1), Template: "T"})
	}
}

func unlimited() coupon.Template {
	return coupon.Template{Terms: coupon.Unlimited()}
}

// row gives a coupon, whose invariants must hold.
func (b *bench) row(t testing.TB, id string) *coupon.Coupon {
	t.Helper()
	history, found, err := b.ledger.History(context.Background(), id)
	if err != nil || !found {
		t.Fatalf("history of %s: found %t, error %v", id, found, err)
	}
	for _, violation := range coupon.Check(history) {
		t.Error(violation)
	}
	return history.Coupon
}

func (b *bench) want(t testing.TB, id string, state coupon.State, version int64) *coupon.Coupon {
	t.Helper()
	row := b.row(t, id)
	if row.State != state || row.Version != version {
		t.Errorf("coupon %s is %s at version %d, want %s at %d", id, row.State, row.Version, state, version)
	}
	return row
}

// placed is an order of u1 that names coupons and costs 100.
func placed(order string, coupons ...string) coupon.OrderPlaced {
	f := coupon.OrderPlaced{Order: order, Customer: "u1", Payable: 100, Currency: "EUR"}
	for _, id := range coupons {
		f.Wanted = append(f.Wanted, coupon.Wanted{Coupon: id})
	}
	return f
}

// paid pays an order in full.
func paid(order string) coupon.PaymentSucceeded {
	return coupon.PaymentSucceeded{Order: order, Payment: "p-" + order, Amount: 100, Currency: "EUR"}
}
