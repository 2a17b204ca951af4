package daemon_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"couponlease/internal/amqp"
	"couponlease/internal/telemetry"
	"couponlease/internal/testkit"
	"couponlease/messages"
)

// While PostgreSQL is away the daemon says so and waits: nothing is given back,
// nothing is buried, no attempt is used up, and then everything is done.
func TestPostgresAway(t *testing.T) {
	s := newShop(t)
	s.issue(0, 60)
	proxy := testkit.NewProxy(t, s.postgres)
	cfg := s.config()
	cfg.PostgresURL = proxy.URL
	d := start(t, cfg)
	events := s.listen()
	s.publish(placed(0, 0), paid(0))
	events.eventually(t, messages.TypeCouponRedeemed, 1)

	proxy.Cut()
	var facts []fact
	for i := 1; i < 60; i++ {
		facts = append(facts, placed(i, 0), paid(i))
	}
	s.publish(facts...)
	testkit.Eventually(t, patience, "consumption pauses", func() (bool, string) {
		missing := d.readiness().Missing
		return slices.Contains(missing, "postgres") && slices.Contains(missing, "engine") &&
			slices.Contains(missing, "consumer"), fmt.Sprint(missing)
	})

	proxy.Restore()
	d.eventuallyReady(true)
	events.eventually(t, messages.TypeCouponRedeemed, 60)
	for i := range 60 {
		s.isRedeemed(i)
	}
	if got := d.metric(telemetry.EnginePauses); got < 1 {
		t.Errorf("%v pauses are counted, want 1 at least", got)
	}
	for _, name := range []string{telemetry.SubscriberRequeued, telemetry.SubscriberDropped} {
		if got := d.metric(name); got != 0 {
			t.Errorf("%s is %v, want 0", name, got)
		}
	}
	if got := d.metric(telemetry.MessagesSettled, `action="ACK"`); got != d.metric(telemetry.MessagesSettled) {
		t.Error("messages were settled in another way than by acknowledging them")
	}
	if filed := s.deadLetters(); filed != 0 {
		t.Errorf("%d dead letters", filed)
	}
}

// While RabbitMQ is away the daemon says so, lives, and takes up both directions
// when it is back.
func TestRabbitMQAway(t *testing.T) {
	s := newShop(t)
	s.issue(0, 30)
	proxy := testkit.NewProxy(t, s.broker.URL)
	cfg := s.config()
	cfg.AMQPURL = proxy.URL
	d := start(t, cfg)
	events := s.listen()
	s.publish(placed(0, 0), paid(0))
	events.eventually(t, messages.TypeCouponRedeemed, 1)

	proxy.Cut()
	readiness := d.eventuallyReady(false)
	testkit.Eventually(t, patience, "both connections are missed", func() (bool, string) {
		missing := d.readiness().Missing
		return slices.Contains(missing, "consumer") && slices.Contains(missing, "publisher"), fmt.Sprint(readiness)
	})
	var facts []fact
	for i := 1; i < 30; i++ {
		facts = append(facts, placed(i, 0), paid(i))
	}
	s.publish(facts...)
	if got := d.metric(telemetry.BrokerConnected); got != 0 {
		t.Errorf("%v connections are counted while the broker is away", got)
	}

	proxy.Restore()
	d.eventuallyReady(true)
	events.eventually(t, messages.TypeCouponRedeemed, 30)
	s.eventuallyPublished()
	for i := range 30 {
		s.isRedeemed(i)
	}
	if got := d.metric(telemetry.SubscriberResubscriptions); got < 1 {
		t.Errorf("%v resubscriptions are counted, want 1 at least", got)
	}
}

// A daemon that is told to stop while the database is away gives its messages
// back in time, and says that it did.
func TestStopWhilePostgresIsAway(t *testing.T) {
	s := newShop(t)
	s.issue(0, 5)
	proxy := testkit.NewProxy(t, s.postgres)
	cfg := s.config()
	cfg.PostgresURL = proxy.URL
	cfg.DrainTimeout = time.Second
	d := start(t, cfg)
	proxy.Cut()
	for i := range 5 {
		s.publish(placed(i, 0))
	}
	testkit.Eventually(t, patience, "consumption pauses", func() (bool, string) {
		readiness := d.readiness()
		return slices.Contains(readiness.Missing, "engine"), fmt.Sprint(readiness)
	})
	_ = d.stop() // what it says about the work left is not the point here
	testkit.Eventually(t, patience, "all messages are back in their queue", func() (bool, string) {
		depth := s.broker.QueueDepth(t, amqp.QueueOrderPlaced)
		return depth == 5, fmt.Sprint(depth)
	})
}
