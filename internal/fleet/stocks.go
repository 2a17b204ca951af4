package fleet

import (
	"context"
	"fmt"
	"testing"
	"time"

	"couponlease/internal/claims"
	"couponlease/internal/coupon"
	"couponlease/internal/policy"
	"couponlease/internal/quota"
	"couponlease/internal/testkit"
)

// Template gives a campaign as the books have it.
func (s *Space) Template(t testing.TB, id string) coupon.Template {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setupLimit)
	defer cancel()
	template, found, err := s.Store.Template(ctx, id)
	must(t, err, "read campaign "+id)
	if !found {
		t.Fatalf("there is no campaign %s", id)
	}
	return template
}

// WaitForIssued waits until a campaign has issued so many coupons.
func (s *Space) WaitForIssued(t testing.TB, id string, want int64) {
	t.Helper()
	testkit.Eventually(t, settleLimit, fmt.Sprintf("%d coupons of %s are issued", want, id), func() (bool, string) {
		issued := s.Template(t, id).Issued
		return issued >= want, fmt.Sprint(issued)
	})
}

// Pool opens the stocks of the space in Redis; it is closed with the test.
func (s *Space) Pool(t testing.TB) *quota.Pool {
	t.Helper()
	client, err := quota.Open(s.RedisURL, quota.ClientOptions{Name: "fleet"})
	must(t, err, "open Redis")
	t.Cleanup(func() { must(t, client.Close(), "close Redis") })
	return quota.NewPool(client, quota.PoolOptions{Prefix: s.RedisPrefix + "claim:", Timeout: 5 * time.Second})
}

// repairLimit is how long a stock may be wrong while the replicas survey it: two looks, and
// what a busy machine adds.
const repairLimit = time.Minute

// WaitForStock waits until Redis has what the books say of a campaign, and says how it was
// before and how long it took.
func (s *Space) WaitForStock(t testing.TB, pool claims.Pool, id string) {
	t.Helper()
	began := time.Now()
	var first string
	testkit.Eventually(t, repairLimit, "Redis agrees with the books on "+id, func() (bool, string) {
		template := s.Template(t, id)
		level, err := pool.Level(context.Background(), id)
		detail := fmt.Sprintf("Redis %+v (%v), books generation %d, left %d", level, err, template.Generation, template.Left())
		if first == "" {
			first = detail
		}
		return err == nil && level.Loaded && level.Generation == template.Generation && level.Left == template.Left(), detail
	})
	t.Logf("%s agrees after %s; at first: %s", id, time.Since(began).Round(100*time.Millisecond), first)
}

// CheckTemplates proves that all counters of campaigns and persons are what the coupons
// say, and within their limits.
func (s *Space) CheckTemplates(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setupLimit)
	defer cancel()
	dump, err := s.Store.Dump(ctx)
	must(t, err, "read everything")
	rules := map[int64]policy.Policy{}
	for _, p := range dump.Policies {
		rules[p.Version] = p
	}
	usage := map[string]*coupon.Usage{}
	uses, claimed := map[string][]*coupon.Uses{}, map[string][]*coupon.Claims{}
	for _, template := range dump.Templates {
		usage[template.ID] = &coupon.Usage{}
	}
	for i := range dump.Histories {
		usage[dump.Histories[i].Coupon.Template].Add(dump.Histories[i],
			func(version int64) policy.Policy { return rules[version] })
	}
	for i := range dump.Uses {
		uses[dump.Uses[i].Template] = append(uses[dump.Uses[i].Template], &dump.Uses[i])
	}
	for i := range dump.Claims {
		claimed[dump.Claims[i].Template] = append(claimed[dump.Claims[i].Template], &dump.Claims[i])
	}
	for _, template := range dump.Templates {
		for _, violation := range coupon.CheckTemplate(template, uses[template.ID], claimed[template.ID], *usage[template.ID]) {
			t.Error(violation)
		}
	}
}
