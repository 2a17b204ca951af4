package amqp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp091 "github.com/rabbitmq/amqp091-go"
)

// PublisherConfig shapes a Publisher. Zero values mean defaults.
type PublisherConfig struct {
	// Window is how many publications may await their confirmation; default 512.
	Window int
	// ConfirmTimeout is how long a publication may await its confirmation; default 30 s.
	ConfirmTimeout time.Duration
	// CloseTimeout is how long Close waits for confirmations; default 10 s.
	CloseTimeout time.Duration
	Logger       *slog.Logger
}

func (c PublisherConfig) withDefaults() PublisherConfig {
	c.Window = orDefault(max(c.Window, 0), 512)
	c.ConfirmTimeout = orDefault(c.ConfirmTimeout, 30*time.Second)
	c.CloseTimeout = orDefault(c.CloseTimeout, 10*time.Second)
	c.Logger = orDefault(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// Publisher sends messages and knows what became of each: a publication is a
// success only when the broker has confirmed that it is stored in every queue
// it was routed to. It uses one channel, on which up to a window of publications
// await their confirmations. It is safe for concurrent use.
type Publisher struct {
	conn *Conn
	cfg  PublisherConfig

	// turn is held by whoever writes: publications of one batch stay in order and
	// together. A channel, because waiting for it must end with a context.
	turn chan struct{}
	// slots bounds the publications awaiting confirmation.
	slots    chan struct{}
	settlers sync.WaitGroup
	closing  context.Context
	close    context.CancelFunc

	session *pubSession // the current one; guarded by turn
}

// pubSession is one channel in confirm mode.
type pubSession struct {
	ch      *amqp091.Channel
	link    *link
	closed  chan *amqp091.Error
	returns chan amqp091.Return
	next    uint64 // number of the next publication, as the broker counts
	// exchanges are those known to exist. What is missing may come any time, so
	// that is not remembered.
	exchanges map[string]bool

	mu       sync.Mutex // guards what follows
	returned map[uint64]*ReturnedError
	loss     error // why the channel is gone, once known
}

var _ message.Publisher = (*Publisher)(nil)

// NewPublisher makes a publisher on conn, which stays the caller's to close,
// after the publisher. The connection should not be shared with subscribers, and
// is given up when the broker leaves publications unconfirmed.
func NewPublisher(conn *Conn, cfg PublisherConfig) *Publisher {
	cfg = cfg.withDefaults()
	p := &Publisher{
		conn:  conn,
		cfg:   cfg,
		turn:  make(chan struct{}, 1),
		slots: make(chan struct{}, cfg.Window),
	}
	p.closing, p.close = context.WithCancel(context.Background())
	return p
}

// PublishBatch sends publications in the given order and waits for the broker's
// word on each. The result holds one error per publication, nil for success; see
// the errors of this package for what they mean. It waits at most for the
// confirm timeout after sending, and returns early when ctx ends; what is not
// known by then is ErrUnconfirmed. Bodies must not change before it returns.
func (p *Publisher) PublishBatch(ctx context.Context, publications []Publication) []error {
	b := newBatch(len(publications))
	ready := b.prepare(publications, time.Now())
	if len(ready) > 0 {
		p.send(ctx, b, ready)
	}
	return b.wait(ctx)
}

// Publish implements message.Publisher. The topic is "exchange/routing-key", or
// the name of a queue. Messages are mandatory: one that no queue takes is an
// error. All messages are tried; the error joins those of the failed ones. It
// does not end with the messages' contexts, only with the confirm timeout, so
// that a failed message can be parked while its handler is being cancelled.
func (p *Publisher) Publish(topic string, messages ...*message.Message) error {
	exchange, key, found := strings.Cut(topic, "/")
	if !found {
		exchange, key = "", topic
	}
	publications := make([]Publication, len(messages))
	for i, msg := range messages {
		publications[i] = publicationOf(msg)
		publications[i].Exchange, publications[i].Key = exchange, key
		publications[i].Mandatory = true
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.cfg.ConfirmTimeout)
	defer cancel()
	var failures []error
	for i, err := range p.PublishBatch(ctx, publications) {
		if err != nil {
			failures = append(failures, fmt.Errorf("publish message %q to %q: %w", publications[i].ID, topic, err))
		}
	}
	return errors.Join(failures...)
}

// Close refuses further publications, waits for the confirmations of those sent,
// and closes the channel. It takes at most about twice the close timeout.
func (p *Publisher) Close() error {
	p.close()
	ctx, stop := context.WithTimeout(context.Background(), p.cfg.CloseTimeout)
	defer stop()
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		// A write hangs; the wire's own deadline ends it.
		return fmt.Errorf("close publisher: %w", ctx.Err())
	}
	// Publications still unconfirmed then are reported so to their callers.
	_ = within(ctx, func() error { p.settlers.Wait(); return nil })
	if p.session == nil || p.session.ch.IsClosed() {
		return nil
	}
	if p.conn.State().Blocked {
		// The broker reads nothing from us, so it would not answer.
		p.session.link.abort()
		return nil
	}
	if err := within(ctx, p.session.ch.Close); err != nil {
		p.session.link.abort()
		return fmt.Errorf("close publisher channel: %w", err)
	}
	return nil
}
