package amqp

import (
	"errors"
	"fmt"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// errConsumerForgotten says that the broker does not know our consumer any more
// and did not tell.
var errConsumerForgotten = errors.New("consumer forgotten by the broker")

// probe finds consumers that only seem to be alive. When a quorum queue is
// deleted and created again at once, RabbitMQ tries to move its consumers over
// by itself, and leaves ones that never get a message and are never cancelled.
type probe struct {
	session   *session
	delivered int64 // as of the last check
	waiting   bool  // messages were waiting for us at the last check
}

func (g *session) newProbe() *probe {
	return &probe{session: g, delivered: g.delivered.Load()}
}

// check asks about the queue when nothing was delivered since the last check and
// nothing is in flight, so that being wrong costs no message a delivery. A queue
// without consumers has lost us. So has one that twice had messages ready and
// sent none.
func (p *probe) check() error {
	g := p.session
	delivered := g.delivered.Load()
	idle := delivered == p.delivered && g.inFlight.Load() == 0
	p.delivered = delivered
	if !idle || g.tag == "" || g.unprobed {
		p.waiting = false
		return nil
	}
	queue, err := ask(g.life, func() (amqp091.Queue, error) {
		return g.ch.QueueDeclarePassive(g.queue, true, false, false, false, nil)
	}, nil)
	if g.life.Err() != nil {
		return nil
	}
	if err != nil {
		// RabbitMQ 4.2.6 and 4.3.0 answer only who may declare. The channel is lost to the
		// question; it is not asked again.
		g.unprobed = isCode(err, amqp091.AccessRefused)
		return g.lost(fmt.Errorf("probe queue %s: %w", g.queue, err))
	}
	if queue.Consumers == 0 || queue.Messages > 0 && p.waiting {
		return errConsumerForgotten
	}
	p.waiting = queue.Messages > 0
	return nil
}
