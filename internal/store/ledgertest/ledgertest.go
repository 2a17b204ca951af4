// Package ledgertest holds every ledger to the same behaviour: the conformance
// suite that PostgreSQL and memory both pass, and the differential test that
// holds one against the other.
package ledgertest

import (
	"context"
	"testing"
	"time"

	"couponlease/internal/coupon"
)

// Ledger is what the engine and the readers need of one.
type Ledger interface {
	Apply(ctx context.Context, requests []coupon.Request, decide func(*coupon.World)) error
	History(ctx context.Context, id string) (coupon.History, bool, error)
	Order(ctx context.Context, id string) (*coupon.Order, error)
	Answer(ctx context.Context, key string) (*coupon.Answer, error)
	Flow(ctx context.Context, redeemNo string) ([]coupon.FlowRow, error)
	AuditLog(ctx context.Context, filter coupon.AuditFilter) ([]coupon.AuditRow, error)
	Template(ctx context.Context, id string) (coupon.Template, bool, error)
	LinkPerson(ctx context.Context, alias, person, actor string) error
}

// Open gives an empty ledger under a clock, rules and a source of ids.
type Open func(t testing.TB, now func() time.Time, rules coupon.Rules, source coupon.Source) Ledger

// Run checks one kind of ledger.
func Run(t *testing.T, open Open) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *bench)
	}{
		{"keeps what was decided", keeps},
		{"keeps nothing of a transaction that died", dies},
		{"answers a repeated message as before", repeats},
		{"finds the coupons that an order named", finds},
		{"joins split orders", joins},
		{"moves a lease to the order that supersedes", moves},
		{"gives one coupon to one of many", races},
		{"never exceeds a budget", budgets},
		{"refuses a change of a row that has moved", forks},
		{"answers a command once for its key", answers},
		{"keeps the answers of commands that were refused", refusals},
		{"keeps the steps of redemptions at tills", flows},
		{"takes withdrawals and redemptions back", reversals},
		{"swaps all or nothing", swaps},
		{"keeps what people did by hand", audits},
		{"joins commands and orders", holds},
		{"gives one key to one of many commands", clashes},
		{"answers one command once, however many send it", echoes},
		{"issues no more than there are", rations},
		{"gives a person no more than a person may have", personal},
		{"counts the days of a campaign where it is", days},
		{"gives a person one of a batch", batches},
		{"issues a batch, or nothing of it", wallets},
		{"answers one claim once, however many send it", insists},
		{"counts templates again", recounts},
		{"makes and edits templates", edits},
		{"limits uses from the first coupon on", introduced},
		{"keeps one of many edits of a version", outdated},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, newBench(t, open))
		})
	}
}
