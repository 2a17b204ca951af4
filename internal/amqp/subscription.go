package amqp

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// subscription keeps one queue consumed, through any number of sessions.
type subscription struct {
	conn  *Conn
	cfg   SubscriberConfig
	gate  *gate
	queue string

	out  chan *message.Message
	life context.Context // ends when no more messages shall be taken
	stop context.CancelFunc
	done chan struct{}

	// messages is the parent of all message contexts. It outlives life, so that
	// work in flight is finished and not cancelled by the wish to stop.
	messages       context.Context
	cancelMessages context.CancelFunc

	// slots bounds the messages with handlers over all sessions: a lost session's
	// handlers may still be at work when the next one delivers.
	slots    chan struct{}
	handlers sync.WaitGroup
	// expired is closed when the time for finishing is over.
	expired chan struct{}

	consuming       atomic.Bool
	inFlight        atomic.Int64
	delivered       atomic.Int64
	acked           atomic.Int64
	requeued        atomic.Int64
	dropped         atomic.Int64
	resubscriptions atomic.Int64
	lastError       atomic.Pointer[error]

	// unprobed: the broker does not let us ask about the queue. Of the session alone.
	unprobed bool
}

func newSubscription(ctx context.Context, conn *Conn, cfg SubscriberConfig, gate *gate, queue string) *subscription {
	s := &subscription{
		conn:    conn,
		cfg:     cfg,
		gate:    gate,
		queue:   queue,
		out:     make(chan *message.Message),
		done:    make(chan struct{}),
		slots:   make(chan struct{}, 2*cfg.Prefetch),
		expired: make(chan struct{}),
	}
	s.life, s.stop = context.WithCancel(ctx)
	s.messages, s.cancelMessages = context.WithCancel(context.WithoutCancel(ctx))
	return s
}

// run consumes until life ends, then finishes.
func (s *subscription) run() {
	defer close(s.done)
	defer close(s.out)
	defer s.cancelMessages()
	pause := backoff{min: s.cfg.MinBackoff, max: s.cfg.MaxBackoff}
	for s.life.Err() == nil {
		began := time.Now()
		err := s.session()
		if s.life.Err() != nil {
			break
		}
		s.lastError.Store(&err)
		s.cfg.Logger.Warn("subscription interrupted", "queue", s.queue, "error", err)
		if time.Since(began) > s.cfg.MaxBackoff {
			pause.reset()
		}
		pause.wait(s.life)
		s.resubscriptions.Add(1)
	}
	s.stop()
	s.finishHandlers()
}

// session consumes over one channel until that is lost, or life ends and the
// work in flight is finished.
func (s *subscription) session() error {
	g, err := openSession(s)
	if err != nil {
		return err
	}
	defer s.consuming.Store(false)
	err = g.serve()
	if s.life.Err() != nil {
		g.drain()
		return nil
	}
	g.giveUp()
	return err
}

// finishHandlers waits until every message handed out is settled, but not longer
// than the drain timeout; then the handlers' contexts are cancelled and their
// outcomes ignored.
func (s *subscription) finishHandlers() {
	select {
	case <-s.expired:
		return
	default:
	}
	idle := make(chan struct{})
	go func() {
		s.handlers.Wait()
		close(idle)
	}()
	timer := time.NewTimer(s.cfg.DrainTimeout)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
		s.cfg.Logger.Warn("messages unfinished at close", "queue", s.queue, "count", s.inFlight.Load())
		s.cancelMessages()
	}
	close(s.expired)
	<-idle
}

func (s *subscription) stats() QueueStats {
	stats := QueueStats{
		Queue:           s.queue,
		Consuming:       s.consuming.Load(),
		InFlight:        s.inFlight.Load(),
		Delivered:       s.delivered.Load(),
		Acked:           s.acked.Load(),
		Requeued:        s.requeued.Load(),
		Dropped:         s.dropped.Load(),
		Resubscriptions: s.resubscriptions.Load(),
	}
	if err := s.lastError.Load(); err != nil {
		stats.LastError = *err
	}
	return stats
}
