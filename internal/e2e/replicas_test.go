package e2e

import (
	"syscall"
	"testing"
	"time"

	"couponlease/internal/fleet"
)

// replicaOrders is the number of orders that four replicas share.
const replicaOrders = 20_000

// Four replicas work on shuffled facts of which a fifth comes twice. One of them
// is killed and one is stopped in the middle: nothing is lost, nothing is done
// twice.
func TestReplicasSurviveAKillAndAStopUnderLoad(t *testing.T) {
	space := fleet.NewSpace(t)
	orders := fleet.Orders(replicaOrders)
	space.Import(t, fleet.Codes(orders))
	sink := fleet.Listen(t, space)
	binary := fleet.Binary(t)
	var replicas []*fleet.Process
	for range 4 {
		replicas = append(replicas, fleet.Start(t, binary, space))
	}
	facts := fleet.Shuffle(orders, time.Now().Add(-time.Hour), 0.2, 1)
	published := fleet.PublishInBackground(t, space, facts)

	space.WaitForReceipts(t, replicaOrders/2)
	replicas[0].Signal(t, syscall.SIGKILL)
	space.WaitForReceipts(t, replicaOrders)
	replicas[1].Signal(t, syscall.SIGTERM)
	if code := replicas[1].Wait(t, time.Minute); code != 0 {
		t.Errorf("the stopped replica ended with %d\n%s", code, replicas[1].Log())
	}
	published.Wait(t)
	space.WaitForSettled(t, facts)

	space.CheckOrders(t, orders)
	space.CheckEvents(t, sink)
	space.CheckNoDeadLetters(t)
	space.Check(t)
}

// A replica that is stopped while it works gives nothing back that it had done:
// what it had taken is acknowledged or untouched.
func TestStopUnderLoadLosesNothingAndRepeatsNothing(t *testing.T) {
	space := fleet.NewSpace(t)
	orders := fleet.Orders(4000)
	space.Import(t, fleet.Codes(orders))
	binary := fleet.Binary(t)
	facts := fleet.Shuffle(orders, time.Now().Add(-time.Hour), 0, 2)
	space.Publish(t, facts)
	first := fleet.Start(t, binary, space)
	space.WaitForReceipts(t, len(facts)/4)
	first.Signal(t, syscall.SIGTERM)
	if code := first.Wait(t, time.Minute); code != 0 {
		t.Fatalf("ended with %d\n%s", code, first.Log())
	}
	done := space.Receipts(t)
	waiting := space.Waiting(t)
	if done+waiting != len(facts) {
		t.Errorf("%d messages answered and %d waiting, want %d in all: an answered message was given back",
			done, waiting, len(facts))
	}
	fleet.Start(t, binary, space)
	space.WaitForSettled(t, facts)
	space.CheckOrders(t, orders)
	space.Check(t)
}

// The stock transport does the same work.
func TestStockTransportSettlesTheSame(t *testing.T) {
	space := fleet.NewSpace(t)
	orders := fleet.Orders(500)
	space.Import(t, fleet.Codes(orders))
	sink := fleet.Listen(t, space)
	fleet.Start(t, fleet.Binary(t), space, "--transport", "stock", "--subscriptions", "8")
	facts := fleet.Shuffle(orders, time.Now().Add(-time.Hour), 0.2, 3)
	space.Publish(t, facts)
	space.WaitForSettled(t, facts)
	space.CheckOrders(t, orders)
	space.CheckEvents(t, sink)
	space.CheckNoDeadLetters(t)
	space.Check(t)
}

// Memory stays small and flat however long the work goes on.
func TestMemoryStaysFlatOverManyMessages(t *testing.T) {
	const messages, limit = 100_000, 150 << 20
	space := fleet.NewSpace(t)
	orders := fleet.BoughtOrders(messages / 2)
	space.Import(t, fleet.Codes(orders))
	process := fleet.Start(t, fleet.Binary(t), space)
	published := fleet.PublishInBackground(t, space, fleet.InOrder(orders, time.Now().Add(-time.Hour)))
	var samples []int64
	for part := 1; part <= 10; part++ {
		space.WaitForReceipts(t, part*messages/10)
		samples = append(samples, process.Memory(t))
	}
	published.Wait(t)
	t.Logf("resident memory after each tenth of %d messages, in MiB: %v", messages, mebibytes(samples))
	for _, sample := range samples {
		if sample > limit {
			t.Errorf("%d MiB of memory, more than %d", sample>>20, limit>>20)
		}
	}
	// The collector makes each sample a matter of luck; the means of the halves
	// are not. Half a kilobyte kept of each message would add 50 MiB.
	if early, late := mean(samples[:5]), mean(samples[5:]); late > early+early/3 {
		t.Errorf("memory grew from %d MiB to %d MiB", early>>20, late>>20)
	}
}

func mean(samples []int64) (sum int64) {
	for _, sample := range samples {
		sum += sample
	}
	return sum / int64(len(samples))
}

func mebibytes(samples []int64) []int64 {
	out := make([]int64, len(samples))
	for i, sample := range samples {
		out[i] = sample >> 20
	}
	return out
}
