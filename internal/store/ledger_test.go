package store

import (
	"testing"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/simulate"
	"couponlease/internal/store/ledgertest"
)

func openLedger(t testing.TB, now func() time.Time, rules coupon.Rules, source coupon.Source) ledgertest.Ledger {
	t.Helper()
	return open(t).Under(rules, source, now)
}

func TestLedgerConforms(t *testing.T) { ledgertest.Run(t, openLedger) }

// The memory ledger is the oracle: same requests, same answers, same rows.
func TestLedgerAgreesWithMemory(t *testing.T) {
	shared := open(t)
	ledgertest.Differential(t,
		func(_ testing.TB, now func() time.Time, rules coupon.Rules, source coupon.Source) ledgertest.Ledger {
			return simulate.NewLedger(now, rules, source)
		},
		func(_ testing.TB, now func() time.Time, rules coupon.Rules, source coupon.Source) ledgertest.Ledger {
			return shared.Under(rules, source, now)
		})
}
