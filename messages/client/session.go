package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// directReplyTo is the broker's pseudo-queue for answers: they come over the
// channel that asked, and nobody else can read them.
const directReplyTo = "amq.rabbitmq.reply-to"

// session is one channel: it publishes with confirmation and receives answers.
type session struct {
	channel  *amqp091.Channel
	returns  chan amqp091.Return
	confirms chan amqp091.Confirmation
	replies  <-chan amqp091.Delivery
	closed   chan *amqp091.Error

	lost   chan struct{} // closed when the session is over
	reason error         // why; set before lost is closed

	// turn is full while one message is written, so that its delivery tag is known
	// before the broker can confirm it.
	turn chan struct{}

	limit int // of calls under way

	mu       sync.Mutex // guards what follows
	pending  map[uint64]*receipt
	overfull bool // a message was turned away
}

// receipt is a message that is not confirmed yet.
type receipt struct {
	id, key  string
	at       time.Time // when it was written
	returned *amqp091.Return
	settled  chan<- error
}

func openSession(conn *amqp091.Connection, limit int) (*session, error) {
	channel, err := conn.Channel()
	if err != nil {
		return nil, fmt.Errorf("open a channel: %w", err)
	}
	s := &session{
		channel: channel, lost: make(chan struct{}), turn: make(chan struct{}, 1), limit: limit,
		pending: map[uint64]*receipt{},
		closed:  channel.NotifyClose(make(chan *amqp091.Error, 1)),
		// Without a buffer, so that a return is received before the confirmation
		// that the broker sends after it.
		returns:  channel.NotifyReturn(make(chan amqp091.Return)),
		confirms: channel.NotifyPublish(make(chan amqp091.Confirmation)),
	}
	if err := channel.Confirm(false); err != nil {
		return nil, fmt.Errorf("ask for confirmations: %w", err)
	}
	const autoAck, exclusive, noLocal, noWait = true, false, false, false
	s.replies, err = channel.Consume(directReplyTo, "", autoAck, exclusive, noLocal, noWait, nil)
	if err != nil {
		return nil, fmt.Errorf("listen to answers: %w", err)
	}
	return s, nil
}

// serve takes what the broker sends until the channel is gone, and returns why it
// is. It must never wait: the library drops what is not taken in time. When the
// broker owes too many confirmations it cuts the connection, and goes on until that
// is done.
func (s *session) serve(answered func(amqp091.Delivery), cut func()) error {
	check := time.NewTicker(owedCheck)
	defer check.Stop()
	var cutFor error
	for {
		select {
		case returned, open := <-s.returns:
			if !open {
				s.returns = nil
				continue
			}
			s.mark(returned)
		case confirmation, open := <-s.confirms:
			if !open {
				s.confirms = nil
				continue
			}
			s.settle(confirmation)
		case reply, open := <-s.replies:
			if !open {
				s.replies = nil
				continue
			}
			answered(reply)
		case now := <-check.C:
			if cutFor != nil {
				continue
			}
			if cutFor = s.owed(now); cutFor != nil {
				cut()
			}
		case reason := <-s.closed:
			if cutFor != nil {
				return cutFor
			}
			if reason == nil {
				return errors.New("the channel was closed")
			}
			return reason
		}
	}
}

// end tells everybody who waits that the session is over.
func (s *session) end(reason error) {
	s.reason = reason
	close(s.lost)
}

// takeTurn waits until nobody else writes. The caller has to give it back.
func (s *session) takeTurn(ctx context.Context) (giveBack func(), err error) {
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// publish writes a message, in the caller's turn. The channel it returns gives nil
// once the broker has it, or why it has not; it gives nothing if the session ends
// before that.
func (s *session) publish(m *outgoing) (<-chan error, error) {
	settled := make(chan error, 1)
	tag := s.channel.GetNextPublishSeqNo()
	if !s.note(tag, &receipt{id: m.publishing.MessageId, key: m.key, at: time.Now(), settled: settled}) {
		return nil, errOwed
	}
	const mandatory, immediate = true, false
	if err := s.channel.Publish(m.exchange, m.key, mandatory, immediate, m.publishing); err != nil {
		s.mu.Lock()
		delete(s.pending, tag)
		s.mu.Unlock()
		return nil, err
	}
	return settled, nil
}

// note keeps a receipt, if there is room. If not, the session is about to end.
func (s *session) note(tag uint64, r *receipt) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.overfull = s.overfull || len(s.pending)/owedPerCall >= s.limit; s.overfull {
		return false
	}
	s.pending[tag] = r
	return true
}

// owed says what is wrong when the broker owes too many confirmations, or one for too
// long.
func (s *session) owed(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	late := 0
	for _, r := range s.pending {
		if now.Sub(r.at) > owedFor {
			late++
		}
	}
	if late == 0 && !s.overfull {
		return nil
	}
	return fmt.Errorf("%w: %d messages, %d of them for more than %s", errOwed, len(s.pending), late, owedFor)
}

// mark notes that a message came back; its confirmation follows. What it looks through
// is bounded: see note.
func (s *session) mark(returned amqp091.Return) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.pending {
		if r.id == returned.MessageId && r.key == returned.RoutingKey {
			r.returned = &returned
		}
	}
}

func (s *session) settle(confirmation amqp091.Confirmation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.pending[confirmation.DeliveryTag]
	if !ok {
		return
	}
	delete(s.pending, confirmation.DeliveryTag)
	switch {
	case r.returned != nil && r.returned.ReplyCode == amqp091.NoRoute:
		r.settled <- fmt.Errorf("%w: %s", ErrUnroutable, r.key)
	case r.returned != nil:
		r.settled <- fmt.Errorf("%w: returned: %s", errAgain, r.returned.ReplyText)
	case !confirmation.Ack:
		r.settled <- fmt.Errorf("%w: the broker could not store it", errAgain)
	default:
		r.settled <- nil
	}
}

// lossFor says what the loss of the session means for a message that was not
// settled by then. The broker closes the channel for one that it refuses, and
// quotes where that one was to go; others on the channel may try again.
func (s *session) lossFor(m *outgoing) error {
	var reason *amqp091.Error
	if errors.As(s.reason, &reason) && (reason.Code == amqp091.AccessRefused || reason.Code == amqp091.NotFound) {
		topic := !strings.Contains(reason.Reason, "topic '") || strings.Contains(reason.Reason, "topic '"+m.key+"'")
		if topic && strings.Contains(reason.Reason, "exchange '"+m.exchange+"'") {
			return fmt.Errorf("%w: %s", ErrRefused, reason.Reason)
		}
	}
	return fmt.Errorf("%w: connection lost: %w", errAgain, s.reason)
}
