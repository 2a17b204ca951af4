package daemon_test

import (
	"strings"
	"testing"

	"couponlease/internal/daemon"
	"couponlease/internal/testkit"
)

// T49: a policy, or what a newer broker makes of one, decides past the arguments that the
// daemon declares: where one takes away the limit of deliveries, or lets messages expire,
// the daemon does not begin to work.
func TestStartRefusesPoliciesThatEndangerMessages(t *testing.T) {
	s := newShop(t)
	s.broker.SetPolicy(t, testkit.Policy{
		Name: "short", Pattern: "^coupon-claims$", ApplyTo: "queues", Definition: map[string]any{"delivery-limit": 3},
	})
	cfg := s.config()
	cfg.AMQPManagementURL = s.broker.ManagementURL
	for _, mode := range []string{"declare", "verify"} {
		cfg.Topology = mode
		err := daemon.Run(t.Context(), cfg, "v1", quiet())
		const want = "overruled queue coupon-claims (by policy short: delivery-limit is 3, not 50)"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error that says %q", mode, err, want)
		}
	}
	s.broker.DeletePolicy(t, "short")
	cfg.Topology = "verify"
	must(t, start(t, cfg).stop(), "stop")
}
