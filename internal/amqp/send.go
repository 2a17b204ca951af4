package amqp

import (
	"context"
	"fmt"
	"slices"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// send writes the prepared publications. Those it does not get to are marked.
func (p *Publisher) send(ctx context.Context, b *batch, ready []outgoing) {
	ctx, stop := context.WithTimeout(ctx, p.cfg.ConfirmTimeout)
	defer stop()
	defer context.AfterFunc(p.closing, stop)()
	if err := p.takeTurn(ctx); err != nil {
		b.fail(ready, err)
		return
	}
	defer func() { <-p.turn }()
	s, err := p.ensureSession(ctx)
	if err != nil {
		b.fail(ready, err)
		return
	}
	ready = p.routable(ctx, s, b, ready)
	// Chunks smaller than the window keep it filled: while one is being settled
	// the next is on its way.
	for chunk := max(p.cfg.Window/4, 1); len(ready) > 0; {
		part := ready[:min(chunk, len(ready))]
		ready = ready[len(part):]
		sent, err := p.write(ctx, s, part)
		if len(sent) > 0 {
			b.settling.Add(1)
			p.settlers.Go(func() { p.settle(s, b, sent) })
		}
		if err != nil {
			b.fail(part[len(sent):], err)
			b.fail(ready, err)
			return
		}
	}
}

// routable leaves out publications to exchanges that do not exist. Sending one
// would close the channel and so fail everything else on its way: one bad
// destination must not hold up the others.
func (p *Publisher) routable(ctx context.Context, s *pubSession, b *batch, ready []outgoing) []outgoing {
	missing := map[string]error{}
	return slices.DeleteFunc(ready, func(out outgoing) bool {
		if s.exchanges[out.exchange] {
			return false
		}
		err, asked := missing[out.exchange]
		if !asked {
			err = p.lookFor(ctx, out.exchange)
			missing[out.exchange] = err
		}
		if err != nil {
			b.set(out.index, err)
			return true
		}
		s.exchanges[out.exchange] = true
		return false
	})
}

// lookFor asks the broker for an exchange, on a channel that the answer may cost.
func (p *Publisher) lookFor(ctx context.Context, exchange string) error {
	scratch := scratchChannel{conn: p.conn}
	defer scratch.close()
	exists, err := scratch.exists(ctx, Exchange{Name: exchange}.passive)
	switch {
	case isCode(err, amqp091.AccessRefused):
		return nil // RabbitMQ 4.2.6 and 4.3.0 only tell who may declare it; publishing will show
	case err != nil:
		return p.notSent(fmt.Errorf("look for exchange %s: %w", exchange, err))
	case !exists:
		return &ReturnedError{Code: amqp091.NotFound, Text: fmt.Sprintf("NOT_FOUND - no exchange '%s'", exchange)}
	default:
		return nil
	}
}

func (p *Publisher) takeTurn(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return p.notSent(ctx.Err())
	}
	if p.closing.Err() != nil {
		<-p.turn
		return fmt.Errorf("publisher is %w", ErrClosed)
	}
	return nil
}

// notSent explains a publication that never left.
func (p *Publisher) notSent(cause error) error {
	switch state := p.conn.State(); {
	case p.closing.Err() != nil:
		return fmt.Errorf("publisher is %w", ErrClosed)
	case state.Blocked:
		return fmt.Errorf("%w: %s", ErrBlocked, state.BlockedReason)
	default:
		return fmt.Errorf("%w: %w", ErrNotSent, cause)
	}
}

// ensureSession returns a usable session, opening one if need be.
func (p *Publisher) ensureSession(ctx context.Context) (*pubSession, error) {
	if p.conn.State().Blocked {
		return nil, p.notSent(nil)
	}
	if p.session != nil && !p.session.ch.IsClosed() {
		return p.session, nil
	}
	ch, l, err := p.conn.open(ctx)
	if err != nil {
		return nil, p.notSent(err)
	}
	s := &pubSession{
		ch:   ch,
		link: l,
		// Room for every return that can be outstanding: the library's reader must
		// never wait for us.
		returns:   ch.NotifyReturn(make(chan amqp091.Return, p.cfg.Window)),
		closed:    ch.NotifyClose(make(chan *amqp091.Error, 1)),
		next:      1,
		exchanges: map[string]bool{"": true},
		returned:  map[uint64]*ReturnedError{},
	}
	if err := within(ctx, func() error { return ch.Confirm(false) }); err != nil {
		l.abort()
		return nil, p.notSent(fmt.Errorf("enable confirms: %w", err))
	}
	p.session = s
	return s, nil
}

// write sends one chunk and returns what was sent. Every publication in it holds
// a slot, which its settler gives back.
func (p *Publisher) write(ctx context.Context, s *pubSession, part []outgoing) ([]unconfirmed, error) {
	sent := make([]unconfirmed, 0, len(part))
	s.link.wire.cork()
	for i := range part {
		if err := p.takeSlot(ctx, s); err != nil {
			s.link.uncork()
			return sent, err
		}
		u, err := s.publish(&part[i])
		if err != nil {
			<-p.slots
			s.link.uncork()
			return sent, p.notSent(err)
		}
		sent = append(sent, u)
	}
	// If this fails the link is gone, and the confirmations fail with it.
	s.link.uncork()
	return sent, nil
}

// takeSlot waits for room in the window. What is held back on the wire is sent
// before waiting, or the confirmations waited for would never come.
func (p *Publisher) takeSlot(ctx context.Context, s *pubSession) error {
	select {
	case p.slots <- struct{}{}:
		return nil
	default:
	}
	s.link.uncork()
	defer s.link.wire.cork()
	select {
	case p.slots <- struct{}{}:
		return nil
	case reason := <-s.closed:
		return p.notSent(s.lost(reason))
	case <-ctx.Done():
		return p.notSent(ctx.Err())
	}
}

// publish hands one publication to the client library.
func (s *pubSession) publish(out *outgoing) (unconfirmed, error) {
	if out.mandatory {
		out.message.Headers[headerPublishID] = int64(s.next)
	}
	confirm, err := s.ch.PublishWithDeferredConfirm(out.exchange, out.key, out.mandatory, false, out.message)
	if err != nil {
		return unconfirmed{}, err
	}
	s.next = confirm.DeliveryTag + 1
	return unconfirmed{index: out.index, number: confirm.DeliveryTag, confirm: confirm}, nil
}
