package main

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"couponlease/internal/amqp"
	"couponlease/internal/testkit"
	"couponlease/messages"
)

// eventQueue keeps everything that is announced, as a service of the shop would
// have it.
const eventQueue = "bench-events"

// bindEvents makes the queue before anything is announced.
func bindEvents(ctx context.Context, conn *amqp.Conn) error {
	return amqp.Apply(ctx, conn, amqp.Layout{
		Exchanges: []amqp.Exchange{{Name: amqp.ExchangeEvents, Kind: "topic"}},
		Queues:    []amqp.Queue{{Name: eventQueue, Args: map[string]any{"x-queue-type": "quorum"}}},
		Bindings:  []amqp.Binding{{Source: amqp.ExchangeEvents, Key: "#", Destination: eventQueue}},
	})
}

// collected is what was found in the queue.
type collected struct {
	// operations are the ledger rows told of, others the ids of further events.
	operations, others map[string]bool
	// versions is the last version told of each coupon, disorder counts the events
	// that came first after a later one of the same coupon.
	versions map[string]int64
	disorder int
	total    int
}

// collect takes n events out of the queue, and fails unless they are there.
func collect(t testing.TB, conn *amqp.Conn, n int) collected {
	t.Helper()
	c := collected{operations: map[string]bool{}, others: map[string]bool{}, versions: map[string]int64{}}
	if n == 0 {
		return c
	}
	subscriber := amqp.NewSubscriber(conn, amqp.SubscriberConfig{Prefetch: 2000})
	defer func() {
		if err := subscriber.Close(); err != nil {
			t.Errorf("close the event subscriber: %v", err)
		}
	}()
	incoming, err := subscriber.Subscribe(context.Background(), eventQueue)
	if err != nil {
		t.Fatalf("read events: %v", err)
	}
	late := time.NewTimer(setupLimit)
	defer late.Stop()
	for c.total < n {
		select {
		case msg := <-incoming:
			err := c.take(messages.Delivery{
				Body: msg.Payload, MessageID: msg.UUID, Type: msg.Metadata.Get(amqp.MetaType),
				ContentType: msg.Metadata.Get(amqp.MetaContentType), Headers: msg.Metadata,
			})
			if err != nil {
				t.Fatalf("read event %s: %v", msg.UUID, err)
			}
			msg.Ack()
		case <-late.C:
			t.Fatalf("read events: %d of %d came", c.total, n)
		}
	}
	return c
}

func (c *collected) take(d messages.Delivery) error {
	envelope, err := messages.ParseOutgoing(d)
	if err != nil {
		return err
	}
	var change messages.Change
	if err := json.Unmarshal(envelope.Data, &change); err != nil {
		return err
	}
	c.total++
	if change.OperationID == "" {
		c.others[envelope.ID] = true
		return nil
	}
	if c.operations[change.OperationID] {
		return nil
	}
	c.operations[change.OperationID] = true
	if change.StateVersion < c.versions[change.CouponID] {
		c.disorder++
	}
	c.versions[change.CouponID] = change.StateVersion
	return nil
}

// compare lists what is wrong with the events, given what should be announced.
func (c *collected) compare(want announcements) []string {
	var faults []string
	missing := 0
	for id := range want.operations {
		if !c.operations[id] {
			missing++
		}
	}
	if missing > 0 {
		faults = append(faults, fmt.Sprintf("%d of %d ledger rows were not announced", missing, len(want.operations)))
	}
	if extra := len(c.operations) - len(want.operations) + missing; extra > 0 {
		faults = append(faults, fmt.Sprintf("%d events of no ledger row", extra))
	}
	if len(c.others) != want.others {
		faults = append(faults, fmt.Sprintf("%d events on decisions and reviews instead of %d", len(c.others), want.others))
	}
	if c.disorder > 0 {
		faults = append(faults, fmt.Sprintf("%d events came after a later one of their coupon", c.disorder))
	}
	return faults
}

// depthOfEvents waits until the broker counts at least n events.
func depthOfEvents(t testing.TB, g *gauge, n int) int {
	t.Helper()
	var depth int
	testkit.Eventually(t, time.Minute, fmt.Sprintf("%d events are in their queue", n), func() (bool, string) {
		var err error
		if depth, err = g.depth(eventQueue); err != nil {
			t.Fatalf("count events: %v", err)
		}
		return depth >= n, fmt.Sprint(depth)
	})
	return depth
}
