package e2e

import (
	"os/exec"
	"testing"

	"couponlease/internal/coupon"
	"couponlease/internal/fleet"
)

// A producer that knows neither Go nor Watermill publishes plain JSON and is
// understood.
func TestAForeignProducerIsUnderstood(t *testing.T) {
	space := fleet.NewSpace(t)
	space.Import(t, []string{"FOREIGN-1"})
	fleet.Start(t, fleet.Binary(t), space)
	producer := exec.Command("/usr/bin/python3", "testdata/producer.py", space.Broker.URL, "order-1", " foreign-1 ")
	if out, err := producer.CombinedOutput(); err != nil {
		t.Fatalf("the producer needs Debian's python3-pika, which `make up` installs: %v\n%s", err, out)
	}
	space.WaitForReceipts(t, 2)
	space.CheckState(t, "foreign-1", coupon.Used)
	space.Check(t)
}
