package amqp

import (
	"context"
	"fmt"
	"sync"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// unconfirmed is a publication that was written and awaits the broker's word.
type unconfirmed struct {
	index   int
	number  uint64
	confirm *amqp091.DeferredConfirmation
}

// batch collects the outcomes of one PublishBatch.
type batch struct {
	settling sync.WaitGroup // chunks whose outcome is not known

	mu      sync.Mutex // guards what follows
	results []error
	known   []bool
}

func newBatch(size int) *batch {
	return &batch{results: make([]error, size), known: make([]bool, size)}
}

// prepare makes publications ready for the wire and settles those that cannot be.
func (b *batch) prepare(publications []Publication, now time.Time) []outgoing {
	ready := make([]outgoing, 0, len(publications))
	for i := range publications {
		out, err := publications[i].prepare(i, now)
		if err != nil {
			b.set(i, err)
			continue
		}
		ready = append(ready, out)
	}
	return ready
}

func (b *batch) set(index int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.results[index], b.known[index] = err, true
}

func (b *batch) fail(unsent []outgoing, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, out := range unsent {
		b.results[out.index], b.known[out.index] = err, true
	}
}

// wait returns the outcomes when all are known, or what is known when ctx ends.
func (b *batch) wait(ctx context.Context) []error {
	if err := within(ctx, func() error { b.settling.Wait(); return nil }); err == nil {
		return b.results
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	results := make([]error, len(b.results))
	for i, known := range b.known {
		results[i] = b.results[i]
		if !known {
			results[i] = fmt.Errorf("%w: %w", ErrUnconfirmed, ctx.Err())
		}
	}
	return results
}

// settle waits for the broker's word on one chunk. After the confirm timeout the
// callers get their answer; slots stay taken until the broker answers or the
// channel is gone, so that what is unconfirmed stays bounded.
func (p *Publisher) settle(s *pubSession, b *batch, sent []unconfirmed) {
	timer := time.NewTimer(p.cfg.ConfirmTimeout)
	defer timer.Stop()
	timeUp := false
	var late []unconfirmed
	for _, u := range sent {
		if !timeUp {
			select {
			case <-u.confirm.Done():
			case <-timer.C:
				timeUp = true
			}
		}
		select {
		case <-u.confirm.Done():
			b.set(u.index, s.outcome(u))
			<-p.slots
		default:
			b.set(u.index, p.overdue())
			late = append(late, u)
		}
	}
	b.settling.Done()
	if len(late) > 0 {
		// Not among the settlers: nobody waits for these answers any more.
		go p.reap(s, late)
	}
}

// overdue explains a publication whose confirmation did not come in time.
func (p *Publisher) overdue() error {
	if state := p.conn.State(); state.Blocked {
		return fmt.Errorf("%w: %w: %s", ErrUnconfirmed, ErrBlocked, state.BlockedReason)
	}
	return fmt.Errorf("%w within %s", ErrUnconfirmed, p.cfg.ConfirmTimeout)
}

// reap waits for late confirmations. A broker that says it is blocked will still
// answer; one that is silent has lost our trust, and so has the connection.
func (p *Publisher) reap(s *pubSession, late []unconfirmed) {
	if !p.conn.State().Blocked {
		p.cfg.Logger.Warn("publications unconfirmed, giving up the connection", "count", len(late))
		s.link.abort()
	}
	for _, u := range late {
		<-u.confirm.Done()
		<-p.slots
	}
}

// collectReturns files the returned messages that have arrived. The broker sends
// a return before the confirmation of the same publication, so after the
// confirmation it is here. The caller holds the lock.
func (s *pubSession) collectReturns() {
	for {
		select {
		case r, ok := <-s.returns:
			if !ok {
				return
			}
			if number, numbered := r.Headers[headerPublishID].(int64); numbered {
				s.returned[uint64(number)] = &ReturnedError{Code: int(r.ReplyCode), Text: r.ReplyText}
			}
		default:
			return
		}
	}
}

// outcome is what the broker said about a publication that it answered.
func (s *pubSession) outcome(u unconfirmed) error {
	s.mu.Lock()
	s.collectReturns()
	returned := s.returned[u.number]
	delete(s.returned, u.number)
	s.mu.Unlock()
	switch {
	case returned != nil:
		return returned
	case u.confirm.Acked():
		return nil
	case s.ch.IsClosed():
		return fmt.Errorf("%w: %w", ErrUnconfirmed, s.lost(nil))
	default:
		return ErrNacked
	}
}

// lost returns why the channel is gone. The reason given, or the one that the
// client library holds ready, is kept for those who ask later.
func (s *pubSession) lost(reason *amqp091.Error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loss != nil {
		return s.loss
	}
	if reason == nil {
		select {
		case reason = <-s.closed:
		default:
		}
	}
	s.loss = lossReason(reason)
	return s.loss
}
