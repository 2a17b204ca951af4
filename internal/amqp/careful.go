package amqp

import (
	"cmp"
	"fmt"
	"slices"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// A message that kills its process is delivered again, and again with company:
// the broker charges a failed delivery to everything that was in flight. Were
// that left so, a message at the front of the queue would take its neighbours to
// the delivery limit with it. So messages that came back often are handled with
// nothing else in flight on the channel, and what happens to them is charged to
// them alone:
//
// A session starts narrow, with a window of one. Messages that came back lie at
// the front of a quorum queue, and so come one by one. The first one that did
// not widens the window. If one turns up in the wide window all the same, the
// rest is finished first, and the session is narrow again.

// suspect tells whether a message came back often enough to be handled alone.
func (g *session) suspect(d amqp091.Delivery) bool {
	return g.cfg.CarefulAfter > 0 && returns(d) >= int64(g.cfg.CarefulAfter)
}

// returns is how often a message came back to its queue, as far as it tells.
func returns(d amqp091.Delivery) int64 {
	count, _ := d.Headers["x-delivery-count"].(int64)
	return count
}

// take deals with one delivery.
func (g *session) take(d amqp091.Delivery) error {
	g.window.deliver(d.DeliveryTag)
	g.delivered.Add(1)
	switch suspect := g.suspect(d); {
	case g.wide && suspect:
		return g.isolate(d)
	case g.wide || suspect:
		return g.hand(d)
	default:
		if err := g.hand(d); err != nil {
			return err
		}
		return g.resize(true)
	}
}

// resize makes the window wide or narrow and goes on consuming, unless the gate
// has been shut. What was delivered meanwhile is handed out.
func (g *session) resize(wide bool) error {
	g.wide = wide
	consuming := g.tag != ""
	if consuming {
		if err := g.cancel(); err != nil {
			return err
		}
		for d := range g.deliveries {
			if err := g.take(d); err != nil {
				return err
			}
		}
		g.deliveries = nil
	}
	if err := g.setPrefetch(); err != nil {
		return err
	}
	if !consuming || g.tag != "" {
		return nil
	}
	return g.consume()
}

func (g *session) setPrefetch() error {
	prefetch := 1
	if g.wide {
		prefetch = g.cfg.Prefetch
	}
	if err := within(g.life, func() error { return g.ch.Qos(prefetch, 0, false) }); err != nil {
		return g.lost(fmt.Errorf("set prefetch: %w", err))
	}
	return nil
}

// isolate handles a suspect found in the wide window: everything else that was
// delivered comes first, then each suspect alone, the worst last.
func (g *session) isolate(first amqp091.Delivery) error {
	suspects := []amqp091.Delivery{first}
	consuming := g.tag != ""
	if consuming {
		if err := g.cancel(); err != nil {
			return err
		}
	}
	for d := range g.deliveries {
		g.window.deliver(d.DeliveryTag)
		g.delivered.Add(1)
		if g.suspect(d) {
			suspects = append(suspects, d)
		} else if err := g.hand(d); err != nil {
			return err
		}
	}
	g.deliveries = nil
	slices.SortStableFunc(suspects, func(a, b amqp091.Delivery) int { return cmp.Compare(returns(a), returns(b)) })
	for i, d := range suspects {
		if err := g.awaitQuiet(len(suspects) - i); err != nil {
			return err
		}
		if err := g.hand(d); err != nil {
			return err
		}
	}
	if err := g.awaitQuiet(0); err != nil {
		return err
	}
	g.wide = false
	if err := g.setPrefetch(); err != nil || !consuming {
		return err
	}
	return g.consume()
}

// awaitQuiet waits until the broker waits for nothing from us but the given
// number of messages that are held back. It ends early, without error, when no
// more messages shall be taken; what is held back then goes back as well.
func (g *session) awaitQuiet(held int) error {
	for !g.window.quiet(held) {
		select {
		case <-g.window.calmer:
		case reason := <-g.closed:
			return lossReason(reason)
		case <-g.life.Done():
			return nil
		}
	}
	return nil
}
