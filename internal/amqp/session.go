package amqp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	amqp091 "github.com/rabbitmq/amqp091-go"
)

// errConsumerCancelled says that the broker ended the consumer: its queue was
// deleted, moved, or the consumer was too slow.
var errConsumerCancelled = errors.New("consumer cancelled by the broker")

// session is the consumption of one queue over one channel. Delivery tags mean
// nothing outside their channel, so everything that knows tags lives here.
type session struct {
	*subscription
	ch     *amqp091.Channel
	link   *link
	closed chan *amqp091.Error
	window *window

	tag        string // of the consumer, empty while none
	deliveries <-chan amqp091.Delivery
	wide       bool // whether the whole window is used

	finish  chan struct{} // asks the settler to tell the rest and end
	settled chan struct{} // closed when the settler has ended

	lastTold time.Time // of the settler: when the broker was last told something
}

// openSession opens a channel with the prefetch window set. It waits for the
// connection.
func openSession(s *subscription) (*session, error) {
	ch, l, err := s.conn.open(s.life)
	if err != nil {
		return nil, err
	}
	g := &session{
		subscription: s,
		ch:           ch,
		link:         l,
		closed:       ch.NotifyClose(make(chan *amqp091.Error, 1)),
		window:       newWindow(s.cfg.windowLimits()),
		finish:       make(chan struct{}),
		settled:      make(chan struct{}),
		wide:         s.cfg.CarefulAfter < 0,
	}
	go g.settler()
	if err := g.setPrefetch(); err != nil {
		g.giveUp()
		return nil, err
	}
	return g, nil
}

// serve hands out deliveries until life ends, which is no error.
func (g *session) serve() error {
	shut, changed := g.gate.state()
	if shut == "" {
		if err := g.consume(); err != nil {
			return err
		}
	}
	probes := time.NewTicker(g.cfg.ProbeInterval)
	defer probes.Stop()
	probe := g.newProbe()
	for {
		select {
		case d, ok := <-g.deliveries:
			if !ok {
				return g.lost(errConsumerCancelled)
			}
			if err := g.take(d); err != nil {
				return err
			}
		case reason := <-g.closed:
			return lossReason(reason)
		case <-changed:
			shut, changed = g.gate.state()
			if err := g.follow(shut); err != nil {
				return err
			}
		case <-probes.C:
			if err := probe.check(); err != nil {
				return err
			}
		case <-g.life.Done():
			return nil
		}
	}
}

// follow starts or ends consuming as the gate says.
func (g *session) follow(shut string) error {
	switch {
	case shut == "" && g.tag == "":
		return g.consume()
	case shut != "" && g.tag != "":
		if err := g.cancel(); err != nil {
			return err
		}
		// What the broker had already sent counts as delivered.
		for d := range g.deliveries {
			if err := g.take(d); err != nil {
				return err
			}
		}
		g.deliveries = nil
	}
	return nil
}

func (g *session) consume() error {
	tag := "couponlease-" + uuid.NewString()
	deliveries, err := ask(g.life, func() (<-chan amqp091.Delivery, error) {
		return g.ch.Consume(g.queue, tag, false, false, false, false, nil)
	}, nil)
	if err != nil {
		return g.lost(fmt.Errorf("consume %s: %w", g.queue, err))
	}
	g.tag, g.deliveries = tag, deliveries
	g.consuming.Store(true)
	return nil
}

// cancel ends the consumer; deliveries then closes behind what was delivered.
func (g *session) cancel() error { return g.cancelWithin(g.life) }

func (g *session) cancelWithin(ctx context.Context) error {
	tag := g.tag
	g.tag = ""
	g.consuming.Store(false)
	if err := within(ctx, func() error { return g.ch.Cancel(tag, false) }); err != nil {
		return g.lost(fmt.Errorf("cancel consumer of %s: %w", g.queue, err))
	}
	return nil
}

// lost prefers the broker's reason for closing the channel over a consequence.
func (g *session) lost(consequence error) error {
	select {
	case reason := <-g.closed:
		return lossReason(reason)
	default:
		return consequence
	}
}

func lossReason(reason *amqp091.Error) error {
	if reason == nil {
		return errors.New("channel closed")
	}
	return fmt.Errorf("channel closed: %w", reason)
}

// hand gives one delivery to the handlers. When life ends first it goes back to
// the broker.
func (g *session) hand(d amqp091.Delivery) error {
	msg, err := g.cfg.Marshaler.Unmarshal(d)
	if err != nil {
		g.cfg.Logger.Error("delivery unreadable", "queue", g.queue, "error", err)
		g.window.settle(d.DeliveryTag, unreadable, time.Now())
		return nil
	}
	msg.Metadata.Set(MetaQueue, g.queue)
	select {
	case g.slots <- struct{}{}:
	case reason := <-g.closed:
		return lossReason(reason)
	case <-g.life.Done():
		g.giveBack(d.DeliveryTag)
		return nil
	}
	ctx, cancel := context.WithCancel(g.messages)
	msg.SetContext(ctx)
	g.inFlight.Add(1)
	select {
	case g.out <- msg:
		g.handlers.Add(1)
		go g.await(msg, d.DeliveryTag, cancel)
		return nil
	case reason := <-g.closed:
		err = lossReason(reason)
	case <-g.life.Done():
		g.giveBack(d.DeliveryTag)
	}
	cancel()
	g.inFlight.Add(-1)
	<-g.slots
	return err
}

func (g *session) giveBack(tag uint64) {
	g.window.settle(tag, unwanted, time.Now())
	g.requeued.Add(1)
}

// await records the outcome of one message.
func (g *session) await(msg *message.Message, tag uint64, cancel context.CancelFunc) {
	defer g.handlers.Done()
	counted, counter := true, &g.acked
	select {
	case <-msg.Acked():
		counted = g.window.settle(tag, acked, time.Now())
	case <-msg.Nacked():
		counted, counter = g.window.settle(tag, rejected, time.Now()), &g.requeued
	case <-g.expired:
		counter = &g.requeued
	}
	if !counted {
		counter = &g.dropped
	}
	counter.Add(1)
	cancel()
	g.inFlight.Add(-1)
	<-g.slots
}
