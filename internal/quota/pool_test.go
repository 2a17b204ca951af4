package quota_test

import (
	"testing"

	"couponlease/internal/claims"
	"couponlease/internal/claims/pooltest"
	"couponlease/internal/quota"
	"couponlease/internal/testkit"
)

// openPool makes a pool on a server that is expected to answer, however busy the machine
// is, unless the options say otherwise.
func openPool(t testing.TB, url string, o quota.PoolOptions) *quota.Pool {
	t.Helper()
	client, err := quota.Open(url, quota.ClientOptions{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	if o.Timeout == 0 {
		o.Timeout = patience
	}
	return quota.NewPool(client, o)
}

func TestPoolConforms(t *testing.T) {
	pooltest.Run(t, func(t testing.TB) claims.Pool {
		url, prefix := testkit.Redis(t)
		return openPool(t, url, quota.PoolOptions{Prefix: prefix})
	})
}
