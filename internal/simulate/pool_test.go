package simulate_test

import (
	"testing"

	"couponlease/internal/claims"
	"couponlease/internal/claims/pooltest"
	"couponlease/internal/simulate"
)

func TestPoolConforms(t *testing.T) {
	pooltest.Run(t, func(testing.TB) claims.Pool { return simulate.NewPool() })
}
