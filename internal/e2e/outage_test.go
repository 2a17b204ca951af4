package e2e

import (
	"strings"
	"testing"
	"time"

	"couponlease/internal/fleet"
	"couponlease/internal/testkit"
)

// outage is how long a service stays away.
const outage = 20 * time.Second

// The database goes away for 20 seconds under load: consumption pauses, nothing
// is given back in a loop, nothing is buried, and work goes on when it is back.
func TestDatabaseAwayUnderLoad(t *testing.T) {
	stack := testkit.PrivateStack(t, testkit.ServicePostgres)
	space := fleet.OnStack(t, stack.PostgresURL, testkit.RabbitMQ(t))
	orders := fleet.Orders(6000)
	space.Import(t, fleet.Codes(orders))
	sink := fleet.Listen(t, space)
	process := fleet.Start(t, fleet.Binary(t), space)
	facts := fleet.Shuffle(orders, time.Now().Add(-time.Hour), 0.2, 4)
	published := fleet.PublishInBackground(t, space, facts)
	space.WaitForReceipts(t, len(orders)/4)

	stack.Stop(t, testkit.ServicePostgres)
	published.Wait(t)
	before := requeued(t, process)
	away(t, process)
	if given := requeued(t, process) - before; given > 0 {
		t.Errorf("%v messages were given back while the database was away", given)
	}
	stack.Start(t, testkit.ServicePostgres)

	space.WaitForSettled(t, facts)
	testkit.Eventually(t, time.Minute, "coupond is ready again", func() (bool, string) {
		return process.Ready(), process.Log()
	})
	space.CheckOrders(t, orders)
	space.CheckEvents(t, sink)
	space.CheckNoDeadLetters(t)
	space.Check(t)
}

// The broker goes away for 20 seconds under load and comes back with its queues.
func TestBrokerAwayUnderLoad(t *testing.T) {
	stack := testkit.PrivateStack(t, testkit.ServiceRabbitMQ)
	space := fleet.OnStack(t, testkit.Postgres(t), privateBroker(stack))
	orders := fleet.Orders(6000)
	space.Import(t, fleet.Codes(orders))
	facts := fleet.Shuffle(orders, time.Now().Add(-time.Hour), 0.2, 5)
	space.Publish(t, facts)
	process := fleet.Start(t, fleet.Binary(t), space)
	space.WaitForReceipts(t, len(orders)/4)

	stack.Stop(t, testkit.ServiceRabbitMQ)
	away(t, process)
	stack.Start(t, testkit.ServiceRabbitMQ)

	space.WaitForSettled(t, facts)
	testkit.Eventually(t, time.Minute, "coupond is ready again", func() (bool, string) {
		return process.Ready(), process.Log()
	})
	space.CheckOrders(t, orders)
	space.CheckNoDeadLetters(t)
	space.Check(t)
}

// away waits out the outage, during which the process must live and must say
// that it is not ready.
func away(t *testing.T, process *fleet.Process) {
	t.Helper()
	testkit.Eventually(t, outage, "coupond says that it is not ready", func() (bool, string) {
		return !process.Ready(), "still ready"
	})
	<-time.After(outage)
	if process.Exited() {
		t.Fatalf("coupond ended\n%s", process.Log())
	}
	if lines := strings.Count(process.Log(), "\n"); lines > 2000 {
		t.Errorf("coupond wrote %d lines", lines)
	}
}

func requeued(t *testing.T, process *fleet.Process) float64 {
	t.Helper()
	n, err := process.Metric("couponlease_subscriber_requeued_total")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// privateBroker is the whole of a private broker.
func privateBroker(stack *testkit.Stack) testkit.Broker {
	return testkit.Broker{URL: stack.AMQPURL, ManagementURL: stack.ManagementURL, VHost: "/"}
}
