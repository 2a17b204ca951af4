package simulate_test

import (
	"testing"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/simulate"
	"couponlease/internal/store/ledgertest"
)

func TestLedgerConforms(t *testing.T) {
	ledgertest.Run(t, func(_ testing.TB, now func() time.Time, rules coupon.Rules, source coupon.Source) ledgertest.Ledger {
		return simulate.NewLedger(now, rules, source)
	})
}
