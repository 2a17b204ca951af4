package e2e

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
	"couponlease/internal/engine"
	"couponlease/internal/leasetoken"
	"couponlease/internal/policy"
)

// torn is a ledger of one coupon with a broken compare-and-set: it reads without a
// lock, and writes over whatever is there. Its first two writers have both read before
// either writes.
type torn struct {
	source coupon.Source

	mutex     sync.Mutex
	row       *coupon.Coupon
	templates []*coupon.Template
	readers   int
	both      chan struct{}
}

// meet makes the first two wait for each other, once the coupon is there.
func (l *torn) meet(ctx context.Context) error {
	l.mutex.Lock()
	if l.row == nil {
		l.mutex.Unlock()
		return nil
	}
	if l.readers++; l.readers == 2 {
		close(l.both)
	}
	l.mutex.Unlock()
	select {
	case <-l.both:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *torn) Apply(ctx context.Context, _ []coupon.Request, decide func(*coupon.World)) error {
	world := l.read()
	if err := l.meet(ctx); err != nil {
		return err
	}
	decide(world)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, change := range world.Changes().Coupons {
		l.row = change.Row.Clone()
	}
	for _, change := range world.Changes().Templates {
		l.templates = append(l.templates, change.Row)
	}
	return nil
}

func (l *torn) read() *coupon.World {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	world := coupon.NewWorld(time.Now(), coupon.DefaultRules(), l.source)
	world.AddPolicy(policy.Default())
	if l.row != nil {
		world.AddCoupon(l.row.Clone())
	}
	for _, template := range l.templates {
		row := *template
		world.AddTemplate(&row)
	}
	return world
}

// TestTornLedgerIsFoundOut: on a ledger that decides on rows which have changed since,
// the same buyers leave a history that nothing can explain.
func TestTornLedgerIsFoundOut(t *testing.T) {
	t.Parallel()
	ledger := &torn{source: engine.NewSource(leasetoken.Random()), both: make(chan struct{})}
	r := newRecorder()
	fatal := func(error) batcher.Class { return batcher.Fatal }
	replicas := []witness{startWitness(t, ledger, fatal, r), startWitness(t, ledger, fatal, r)}
	issueOne(t, replicas[0])
	var group sync.WaitGroup
	for i, replica := range replicas {
		group.Go(func() {
			b := newBuyer(replica, i)
			for range buyerAsks {
				if err := b.ask(t.Context()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	if result := r.check(t); result != porcupine.Illegal {
		t.Errorf("the history is %s: two had the coupon at once", result)
	}
}
