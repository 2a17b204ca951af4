package amqp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wamqp "github.com/ThreeDotsLabs/watermill-amqp/v2/pkg/amqp"
	"github.com/ThreeDotsLabs/watermill/message"
	amqp091 "github.com/rabbitmq/amqp091-go"
)

// StockConfig shapes a StockSubscriber. Zero values mean defaults.
type StockConfig struct {
	// URL of the broker; the stock subscriber keeps its own connection.
	URL string
	// Name is how the broker shows the connection to operators.
	Name string
	// TLS is as in ConnConfig.
	TLS *tls.Config
	// Prefetch per subscription; default 2. More gains nothing, because one
	// subscription handles one message at a time.
	Prefetch int
	// DrainTimeout is how long Close waits for messages in flight; default 30 s.
	DrainTimeout time.Duration
	// Layout and Mode say what each subscription does about its queue; the
	// default mode is ModeOff.
	Layout Layout
	Mode   Mode
	Logger *slog.Logger
}

// StockSubscriber is watermill-amqp's own subscriber, made safe to use: it reads
// every message, never hands out a phantom, and its Close finishes work in
// flight and always returns. One subscription has one message in flight, so many
// are needed for speed; each Subscribe adds one, also on the same queue. It is
// the fallback to Subscriber, and what that is compared with.
type StockSubscriber struct {
	inner *wamqp.Subscriber
	cfg   StockConfig

	letGo   time.Duration // bounds how long inner may take to end
	closing chan struct{}
	once    sync.Once
	closed  error

	mu     sync.Mutex // guards relays
	relays []*stockRelay
}

var _ message.Subscriber = (*StockSubscriber)(nil)

// stockLetGo is what the stock subscriber usually takes to end, and much more.
const stockLetGo = 3 * time.Second

// NewStockSubscriber connects to the broker, which must be there.
func NewStockSubscriber(cfg StockConfig) (*StockSubscriber, error) {
	cfg.Name = orDefault(cfg.Name, "couponlease-stock")
	cfg.Prefetch = orDefault(max(cfg.Prefetch, 0), 2)
	cfg.DrainTimeout = orDefault(cfg.DrainTimeout, 30*time.Second)
	cfg.Logger = orDefault(cfg.Logger, slog.New(slog.DiscardHandler))
	cfg.Mode = orDefault(cfg.Mode, ModeOff)
	config, err := stockConfig(cfg)
	if err != nil {
		return nil, err
	}
	inner, err := wamqp.NewSubscriber(config, watermill.NewSlogLogger(cfg.Logger))
	if err != nil {
		return nil, fmt.Errorf("start stock subscriber: %w", err)
	}
	return &StockSubscriber{inner: inner, cfg: cfg, letGo: stockLetGo, closing: make(chan struct{})}, nil
}

// stockConfig avoids what is unsafe in watermill-amqp: an unlimited prefetch, a
// marshaler that refuses foreign headers, and dead-lettering on nack, which
// would dead-letter healthy messages at every close.
func stockConfig(cfg StockConfig) (wamqp.Config, error) {
	tlsConfig, err := brokerTLS(cfg.URL, cfg.TLS)
	if err != nil {
		return wamqp.Config{}, err
	}
	properties := amqp091.NewConnectionProperties()
	properties.SetClientConnectionName(cfg.Name)
	config := wamqp.NewDurableQueueConfig(cfg.URL)
	config.Connection.AmqpConfig = &amqp091.Config{Properties: properties, TLSClientConfig: tlsConfig}
	config.Marshaler = Marshaler{}
	config.TopologyBuilder = TopologyBuilder{Layout: cfg.Layout, Mode: cfg.Mode}
	config.Queue.GenerateName = wamqp.GenerateQueueNameTopicName
	config.Consume.Qos = wamqp.QosConfig{PrefetchCount: cfg.Prefetch}
	config.Consume.NoRequeueOnNack = false
	return config, nil
}

// stockRelay passes on the messages of one subscription.
type stockRelay struct {
	queue   string
	in      <-chan *message.Message
	out     chan *message.Message
	stop    <-chan struct{} // of the caller's context
	release context.CancelFunc
	done    chan struct{}
}

// Subscribe adds one subscription to a queue. When ctx ends, it ends after its
// message in flight.
func (s *StockSubscriber) Subscribe(ctx context.Context, queue string) (<-chan *message.Message, error) {
	inner, release := context.WithCancel(context.WithoutCancel(ctx))
	in, err := s.inner.Subscribe(inner, queue)
	if err != nil {
		release()
		return nil, fmt.Errorf("subscribe to %s: %w", queue, err)
	}
	relay := &stockRelay{
		queue: queue, in: in, out: make(chan *message.Message),
		stop: ctx.Done(), release: release, done: make(chan struct{}),
	}
	s.mu.Lock()
	s.relays = append(s.relays, relay)
	s.mu.Unlock()
	go relay.run(s.closing, s.cfg.DrainTimeout, s.letGo)
	return relay.out, nil
}

// run passes messages on, one at a time, until asked to stop.
func (r *stockRelay) run(closing <-chan struct{}, drain, letGo time.Duration) {
	defer close(r.done)
	defer close(r.out)
	for r.pass(closing, drain) {
	}
	// With its context ended the stock subscriber acknowledges what was settled
	// and leaves. What it still offers was not handed out: it goes back.
	r.release()
	limit := time.NewTimer(letGo)
	defer limit.Stop()
	for {
		select {
		case msg, ok := <-r.in:
			if !ok {
				return
			}
			msg.Nack()
		case <-limit.C:
			return
		}
	}
}

// pass hands out one message and waits for its outcome. It returns false when
// the relay shall end.
func (r *stockRelay) pass(closing <-chan struct{}, drain time.Duration) bool {
	if r.ended(closing) {
		return false
	}
	var msg *message.Message
	var ok bool
	select {
	case msg, ok = <-r.in:
		if !ok {
			return false
		}
	case <-closing:
		return false
	case <-r.stop:
		return false
	}
	if r.ended(closing) {
		msg.Nack()
		return false
	}
	msg.Metadata.Set(MetaQueue, r.queue)
	select {
	case r.out <- msg:
	case <-closing:
		msg.Nack()
		return false
	case <-r.stop:
		msg.Nack()
		return false
	}
	select {
	case <-msg.Acked():
		return true
	case <-msg.Nacked():
		return true
	case <-closing:
	case <-r.stop:
	}
	limit := time.NewTimer(drain)
	defer limit.Stop()
	select {
	case <-msg.Acked():
	case <-msg.Nacked():
	case <-limit.C:
		msg.Nack()
	}
	return false
}

// ended says whether the relay was asked to stop. A select that finds a message as well
// as the wish to stop takes either.
func (r *stockRelay) ended(closing <-chan struct{}) bool {
	select {
	case <-closing:
		return true
	case <-r.stop:
		return true
	default:
		return false
	}
}

// Close stops handing out messages, waits for those in flight, and ends the
// stock subscriber and its connection. When that does not let go within a few
// seconds, because the broker is away, it is left behind and an error says so.
func (s *StockSubscriber) Close() error {
	s.once.Do(func() { s.closed = s.shut() })
	return s.closed
}

func (s *StockSubscriber) shut() error {
	close(s.closing)
	s.mu.Lock()
	relays := slices.Clone(s.relays)
	s.mu.Unlock()
	for _, relay := range relays {
		<-relay.done
	}
	ctx, stop := context.WithTimeout(context.Background(), s.letGo)
	defer stop()
	err := within(ctx, s.inner.Close)
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("stock subscriber did not let go of its connection")
	}
	return err
}
