package amqp

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	wamqp "github.com/ThreeDotsLabs/watermill-amqp/v2/pkg/amqp"
	"github.com/ThreeDotsLabs/watermill/message"
)

// Defaults and bounds of a subscriber.
const (
	// DefaultPrefetch is the default window of messages in flight per queue.
	DefaultPrefetch = 512
	// maxPrefetch is what quorum queues allow at most.
	maxPrefetch = 2000
)

// SubscriberConfig shapes a Subscriber. Zero values mean defaults.
type SubscriberConfig struct {
	// Prefetch is how many messages per queue are with handlers at once; default
	// DefaultPrefetch, at most 2000.
	Prefetch int
	// CarefulAfter is how often a message must have come back to be handled with
	// nothing else in flight on its channel; default 3, negative for never.
	CarefulAfter int
	// AckDelay is how long a settled message may wait to be acknowledged together
	// with others; default 2 ms.
	AckDelay time.Duration
	// StuckAfter is how long a settled message waits behind a slow one before it
	// is acknowledged alone; default 20 ms.
	StuckAfter time.Duration
	// DrainTimeout is how long Close waits for messages in flight; default 30 s.
	DrainTimeout time.Duration
	// SettleGrace is how long Close leaves a channel open after its last
	// acknowledgement, for the broker to take it; default 1 s, negative for none. An
	// idle subscription does not wait.
	SettleGrace time.Duration
	// ProbeInterval is how often an idle consumer is checked to be alive on the
	// broker; default 5 s.
	ProbeInterval time.Duration
	// RequestTimeout is how long Close waits for an answer of the broker; default 5 s.
	RequestTimeout time.Duration
	// MinBackoff and MaxBackoff bound the wait before subscribing again after a
	// loss; defaults 100 ms and 5 s.
	MinBackoff, MaxBackoff time.Duration
	// Marshaler reads deliveries; default Marshaler{}.
	Marshaler wamqp.Marshaler
	Logger    *slog.Logger
}

func (c SubscriberConfig) withDefaults() SubscriberConfig {
	c.Prefetch = min(orDefault(max(c.Prefetch, 0), DefaultPrefetch), maxPrefetch)
	c.CarefulAfter = orDefault(c.CarefulAfter, 3)
	c.AckDelay = orDefault(c.AckDelay, 2*time.Millisecond)
	c.StuckAfter = orDefault(c.StuckAfter, 20*time.Millisecond)
	c.DrainTimeout = orDefault(c.DrainTimeout, 30*time.Second)
	c.SettleGrace = orDefault(c.SettleGrace, time.Second)
	c.ProbeInterval = orDefault(c.ProbeInterval, 5*time.Second)
	c.RequestTimeout = orDefault(c.RequestTimeout, requestTimeout)
	c.MinBackoff = orDefault(c.MinBackoff, 100*time.Millisecond)
	c.MaxBackoff = orDefault(c.MaxBackoff, 5*time.Second)
	c.Logger = orDefault(c.Logger, slog.New(slog.DiscardHandler))
	if c.Marshaler == nil {
		c.Marshaler = Marshaler{}
	}
	return c
}

func (c SubscriberConfig) windowLimits() windowLimits {
	return windowLimits{batch: max(c.Prefetch/16, 1), delay: c.AckDelay, stuck: c.StuckAfter}
}

// Subscriber takes messages from queues, a window of them at a time on one
// channel per subscription. It implements message.Subscriber; topics are queue
// names, and the queues must exist or come to exist.
//
// A message that is acknowledged is acknowledged to the broker within a few
// milliseconds, together with others. A message that is refused goes back to its
// queue and counts against its delivery limit. Whatever ends a subscription from
// outside (a lost connection, a deleted queue) it is taken up again until Close.
// Outcomes of messages that came over a lost channel are dropped: the broker
// delivers those again.
type Subscriber struct {
	conn *Conn
	cfg  SubscriberConfig
	gate *gate

	mu            sync.Mutex // guards what follows
	closed        bool
	subscriptions []*subscription
}

var _ message.Subscriber = (*Subscriber)(nil)

// NewSubscriber makes a subscriber on conn, which stays the caller's to close,
// after the subscriber.
func NewSubscriber(conn *Conn, cfg SubscriberConfig) *Subscriber {
	return &Subscriber{conn: conn, cfg: cfg.withDefaults(), gate: newGate()}
}

// Subscribe starts taking messages from a queue. It does not wait for the
// broker. When ctx ends, the subscription ends as by Close: messages already
// handed out are finished first, and their contexts stay alive so long.
func (s *Subscriber) Subscribe(ctx context.Context, queue string) (<-chan *message.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("subscribe to %s: subscriber is %w", queue, ErrClosed)
	}
	sub := newSubscription(ctx, s.conn, s.cfg, s.gate, queue)
	s.subscriptions = append(s.subscriptions, sub)
	go sub.run()
	return sub.out, nil
}

// Pause stops taking messages, for the reason given, until Resume. Messages
// already delivered are handed out and settled as usual; nothing is given back,
// except what is still on its way, which the broker takes back by itself.
func (s *Subscriber) Pause(reason string) {
	if reason == "" {
		reason = "paused"
	}
	s.gate.set(reason)
}

// Resume ends a pause.
func (s *Subscriber) Resume() { s.gate.set("") }

// Paused returns why the subscriber is paused, or "" when it is not.
func (s *Subscriber) Paused() string {
	reason, _ := s.gate.state()
	return reason
}

// Close stops taking messages, gives back what was delivered but not handed out,
// waits up to DrainTimeout for the rest to be settled, acknowledges it, and only
// then cancels the contexts of messages still being handled and gives those back.
// The output channels are closed last. All callers return when that is done.
func (s *Subscriber) Close() error {
	s.mu.Lock()
	s.closed = true
	subscriptions := slices.Clone(s.subscriptions)
	s.mu.Unlock()
	for _, sub := range subscriptions {
		sub.stop()
	}
	for _, sub := range subscriptions {
		<-sub.done
	}
	return nil
}

// QueueStats is what happened on one subscription so far.
type QueueStats struct {
	Queue string
	// Consuming tells whether the broker delivers to us now.
	Consuming bool
	// InFlight counts messages handed out and not settled.
	InFlight  int64
	Delivered int64
	Acked     int64
	// Requeued counts messages given back, refused or never handed out.
	Requeued int64
	// Dropped counts outcomes of messages whose channel was gone by then.
	Dropped int64
	// Resubscriptions counts how often consumption was taken up again.
	Resubscriptions int64
	// LastError is why consumption was last interrupted.
	LastError error
}

// Stats reports every subscription, in order of subscribing.
func (s *Subscriber) Stats() []QueueStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := make([]QueueStats, 0, len(s.subscriptions))
	for _, sub := range s.subscriptions {
		stats = append(stats, sub.stats())
	}
	return stats
}
