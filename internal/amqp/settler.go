package amqp

import (
	"context"
	"time"
)

// settler tells the broker what became of deliveries, until it is asked to
// finish or the channel is gone. It is the only one that does, so that the order
// of plans is the order on the wire.
func (g *session) settler() {
	defer close(g.settled)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-g.window.due:
		case <-timer.C:
		case <-g.finish:
			orders, _ := g.window.plan(time.Now(), true)
			g.carryOut(orders)
			return
		}
		orders, again := g.window.plan(time.Now(), false)
		if !g.carryOut(orders) {
			return
		}
		if again > 0 {
			timer.Reset(again)
		}
	}
}

// carryOut writes settlement frames. It returns false when the channel is gone;
// the broker will then deliver again whatever it was not told about.
func (g *session) carryOut(orders []order) bool {
	if len(orders) > 1 {
		g.link.wire.cork()
		defer g.link.uncork()
	}
	for _, o := range orders {
		if err := g.tell(o); err != nil {
			g.window.kill()
			return false
		}
	}
	if len(orders) > 0 {
		g.lastTold = time.Now()
	}
	g.window.told()
	return true
}

func (g *session) tell(o order) error {
	switch o.verb {
	case verbReject:
		return g.ch.Reject(o.tag, true)
	case verbRequeue:
		return g.ch.Nack(o.tag, false, true)
	case verbDeadLetter:
		return g.ch.Reject(o.tag, false)
	default:
		return g.ch.Ack(o.tag, o.multiple)
	}
}

// giveUp leaves a session that is lost. What is settled is still told, if the
// channel takes it; outcomes that come later count for nothing.
func (g *session) giveUp() {
	g.endSettler()
	g.closeChannel()
}

func (g *session) endSettler() {
	close(g.finish)
	<-g.settled
	g.window.kill()
}

// drain ends a session in order: nothing new is taken, what was delivered but
// not handed out goes back, what is in flight is finished and acknowledged.
func (g *session) drain() {
	if g.tag != "" {
		g.endConsumer()
	}
	g.finishHandlers()
	g.window.abandon()
	g.endSettler()
	g.linger()
	g.closeChannel()
}

// linger keeps the channel open until the broker has taken what it was told. A
// quorum queue takes some tens of settlements from a channel at a time; the
// broker holds back those beyond, and forgets them when the channel closes. The
// messages would come again although they were acknowledged. Nothing in the
// protocol says when it is done, so this is a matter of time.
func (g *session) linger() {
	left := time.Until(g.lastTold.Add(g.cfg.SettleGrace))
	if left <= 0 {
		return
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-g.closed:
	}
}

func (g *session) endConsumer() {
	ctx, stop := context.WithTimeout(context.Background(), g.cfg.RequestTimeout)
	defer stop()
	if err := g.cancelWithin(ctx); err != nil {
		g.cfg.Logger.Warn("consumer not cancelled", "queue", g.queue, "error", err)
		if ctx.Err() != nil {
			return
		}
	}
	// Closed behind the last delivery by the cancellation, or with the channel.
	for d := range g.deliveries {
		g.window.deliver(d.DeliveryTag)
		g.delivered.Add(1)
		g.giveBack(d.DeliveryTag)
	}
}

func (g *session) closeChannel() {
	if g.ch.IsClosed() {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), g.cfg.RequestTimeout)
	defer stop()
	if err := within(ctx, g.ch.Close); err != nil {
		g.cfg.Logger.Warn("channel not closed", "queue", g.queue, "error", err)
	}
}
