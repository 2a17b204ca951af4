package daemon_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/amqp"
	"couponlease/internal/config"
	"couponlease/internal/coupon"
	"couponlease/internal/telemetry"
	"couponlease/internal/testkit"
	"couponlease/messages"
)

// TestFactsBecomeEvents is the product in one test: orders and payments go in,
// events come out, the books are right, and nothing is left lying.
func TestFactsBecomeEvents(t *testing.T) {
	for _, transport := range []string{config.TransportWindowed, config.TransportStock} {
		t.Run(transport, func(t *testing.T) {
			s := newShop(t)
			s.issue(0, 20)
			cfg := s.config()
			cfg.Transport, cfg.Subscriptions, cfg.OutboxShards = transport, 4, 3
			d := start(t, cfg)
			events := s.listen()
			var facts []fact
			for i := range 20 {
				// Payments of every other order come before their orders.
				pair := []fact{placed(i, 0), paid(i)}
				facts = append(facts, pair[i%2], pair[1-i%2])
			}
			s.publish(facts...)
			events.eventually(t, messages.TypeCouponRedeemed, 20)
			s.eventuallyPublished()
			want := map[string]int{messages.TypeCouponLocked: 20, messages.TypeCouponRedeemed: 20}
			if diff := cmp.Diff(want, events.seen()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			for i := range 20 {
				s.isRedeemed(i)
			}
			must(t, d.stop(), "stop")
			for _, queue := range amqp.WorkQueues() {
				if depth := s.broker.QueueDepth(t, queue); depth != 0 {
					t.Errorf("%d messages are left in %s", depth, queue)
				}
			}
		})
	}
}

// isRedeemed checks the ledger of coupon i: issued, locked, redeemed.
func (s *shop) isRedeemed(i int) {
	s.t.Helper()
	history, _, err := s.store.History(s.t.Context(), coupon.Fold(code(i)))
	must(s.t, err, "read history")
	var operations []coupon.Operation
	for _, op := range history.Operations {
		operations = append(operations, op.Operation)
	}
	want := []coupon.Operation{coupon.Issue, coupon.Lock, coupon.Redeem}
	if diff := cmp.Diff(want, operations); diff != "" || history.Coupon.State != coupon.Used {
		s.t.Errorf("%s is %s, operations (-want +got):\n%s", code(i), history.Coupon.State, diff)
	}
	if got := history.Coupon.Redemption; got == nil || got.Order != order(i) {
		s.t.Errorf("%s is redeemed by %+v, want %s", code(i), got, order(i))
	}
}

// A replica may leave publishing to others.
func TestRelayOffLeavesTheOutboxToOthers(t *testing.T) {
	s := newShop(t)
	s.issue(0, 2)
	cfg := s.config()
	cfg.Relay = config.Off
	silent := start(t, cfg)
	events := s.listen()
	s.publish(placed(0, 0), placed(1, 0))
	s.eventuallyInState(0, coupon.Locked)
	s.eventuallyInState(1, coupon.Locked)
	must(t, silent.stop(), "stop")
	if seen := events.seen(); len(seen) > 0 {
		t.Errorf("a replica that does not publish has published: %v", seen)
	}
	start(t, s.config())
	events.eventually(t, messages.TypeCouponLocked, 2)
	s.eventuallyPublished()
}

// The lease of an order that nobody pays ends by a message that the broker held
// back for as long as the lease was to last.
func TestLeasesEndThroughTheBroker(t *testing.T) {
	s := newShop(t)
	s.issue(0, 3)
	d := start(t, s.config())
	events := s.listen()
	s.publish(placed(0, 1), placed(1, 2), placed(2, 1), paid(2))
	events.eventually(t, messages.TypeCouponReleased, 2)
	s.eventuallyInState(0, coupon.Available)
	s.eventuallyInState(1, coupon.Available)
	// The timer of the paid order comes too, and changes nothing.
	testkit.Eventually(t, patience, "all timers have come", func() (bool, string) {
		n := d.metric(telemetry.MessagesSettled, `queue="coupon-lease-expired"`, `action="ACK"`)
		return n >= 2, fmt.Sprint(n)
	})
	s.eventuallyInState(2, coupon.Used)
	s.eventuallyPublished()
	if got := d.metric(telemetry.SweeperSubmitted); got != 0 {
		t.Errorf("the sweeper, which is off, submitted %v requests", got)
	}
}

// The same lease, with the broker's timer lost: the sweeper finds it.
func TestTheSweeperEndsLeasesWhoseTimerIsLost(t *testing.T) {
	s := newShop(t)
	s.issue(0, 5)
	cfg := s.config()
	cfg.SweepInterval, cfg.SweepGrace = 200*time.Millisecond, time.Second
	d := start(t, cfg)
	events := s.listen()
	for i := range 5 {
		s.publish(placed(i, 8))
	}
	events.eventually(t, messages.TypeCouponLocked, 5)
	s.eventuallyPublished()
	s.loseTimers()
	events.eventually(t, messages.TypeCouponReleased, 5)
	for i := range 5 {
		s.eventuallyInState(i, coupon.Available)
	}
	if got := d.metric(telemetry.SweeperSubmitted, `sweep="leases"`); got != 5 {
		t.Errorf("the sweeper submitted %v requests, want 5", got)
	}
	if got := d.metric(telemetry.MessagesSettled, `queue="coupon-lease-expired"`); got != 0 {
		t.Errorf("%v timers have come, although they were lost", got)
	}
}

// loseTimers deletes the queues in which the broker holds messages back.
func (s *shop) loseTimers() {
	s.t.Helper()
	work := map[string]bool{amqp.QueueDead: true, amqp.QueueUndeliverable: true}
	for _, queue := range amqp.WorkQueues() {
		work[queue] = true
	}
	for _, queue := range amqp.DefaultLayout(amqp.Options{}).Queues {
		if !work[queue.Name] {
			s.broker.DeleteQueue(s.t, queue.Name)
		}
	}
}

func TestEndedValidityExpiresCoupons(t *testing.T) {
	s := newShop(t)
	cfg := s.config()
	cfg.SweepInterval = 100 * time.Millisecond
	d := start(t, cfg)
	events := s.listen()
	s.issue(0, 1)
	s.issueUntil(1, time.Now().Add(2*time.Second))
	events.eventually(t, messages.TypeCouponExpired, 1)
	s.eventuallyInState(1, coupon.Expired)
	s.eventuallyInState(0, coupon.Available)
	testkit.Eventually(t, patience, "the sweep is counted", func() (bool, string) {
		n := d.metric(telemetry.SweeperSubmitted, `sweep="validity"`)
		return n == 1, fmt.Sprint(n)
	})
}

// What cannot be read is a dead letter and counted as one.
func TestWhatCannotBeAppliedIsBuried(t *testing.T) {
	s := newShop(t)
	d := start(t, s.config())
	s.publish(fact{messages.TypeOrderPlaced, "bad-1", map[string]any{"orderId": ""}})
	testkit.Eventually(t, patience, "a dead letter", func() (bool, string) {
		filed := s.deadLetters()
		return filed == 1, fmt.Sprint(filed)
	})
	if got := d.metric(telemetry.MessagesSettled, `action="BURY"`, `type="order.placed.v1"`); got != 1 {
		t.Errorf("%v dead letters are counted, want 1", got)
	}
}
