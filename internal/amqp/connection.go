package amqp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// requestTimeout bounds a protocol request where the caller gave no deadline.
const requestTimeout = 5 * time.Second

// ConnConfig describes one connection to the broker. Zero values mean defaults.
type ConnConfig struct {
	// URL is amqp:// or amqps://, with credentials and virtual host.
	URL string
	// Name is how the broker shows this connection to operators.
	Name string
	// TLS says for amqps whom to trust and which certificate to show; nil means
	// the system's authorities and none.
	TLS *tls.Config
	// Heartbeat is the interval of keep-alive frames; default 10 s.
	Heartbeat time.Duration
	// DialTimeout bounds connecting and the handshake; default 10 s.
	DialTimeout time.Duration
	// WriteTimeout bounds a single write; a connection on which a write takes
	// longer is given up. Default 10 s.
	WriteTimeout time.Duration
	// CloseTimeout bounds the closing handshake; default 5 s.
	CloseTimeout time.Duration
	// MinBackoff and MaxBackoff bound the wait between attempts to connect;
	// defaults 200 ms and 10 s.
	MinBackoff, MaxBackoff time.Duration
	Logger                 *slog.Logger
}

func (c ConnConfig) withDefaults() ConnConfig {
	c.Name = orDefault(c.Name, "couponlease")
	c.Heartbeat = orDefault(c.Heartbeat, 10*time.Second)
	c.DialTimeout = orDefault(c.DialTimeout, 10*time.Second)
	c.WriteTimeout = orDefault(c.WriteTimeout, 10*time.Second)
	c.CloseTimeout = orDefault(c.CloseTimeout, 5*time.Second)
	c.MinBackoff = orDefault(c.MinBackoff, 200*time.Millisecond)
	c.MaxBackoff = orDefault(c.MaxBackoff, 10*time.Second)
	c.Logger = orDefault(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

func orDefault[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// State is what is known about a connection, for readiness and operators.
type State struct {
	Connected bool
	// Blocked means that the broker takes no publications: it is short of memory
	// or disk. Consuming goes on.
	Blocked       bool
	BlockedReason string
	// Since is when Connected last changed.
	Since time.Time
	// Connects counts connections made so far.
	Connects int
	// LastError is why the connection was last lost or not made.
	LastError error
}

// Conn is a connection that is kept: made in the background, made again with
// growing waits when lost, until closed. Publishing and consuming should use
// separate ones, because a broker that blocks publishing stops reading from the
// whole connection.
type Conn struct {
	cfg  ConnConfig
	tls  *tls.Config
	stop context.CancelFunc
	done chan struct{}

	mu    sync.Mutex // guards what follows
	state State
	link  *link
	up    chan struct{} // closed while connected
}

// link is one physical connection.
type link struct {
	raw  *amqp091.Connection
	wire *wire
	down chan struct{} // closed once the link is lost
}

// uncork releases held writes; a failure ends the link by itself.
func (l *link) uncork() { _ = l.wire.uncork() }

// abort ends the link without a handshake, for a broker that does not answer.
func (l *link) abort() {
	// The reader notices the closed socket and reports the loss.
	_ = l.wire.Conn.Close()
}

// Connect checks the configuration and starts connecting in the background. It
// does not wait: use Ready. The caller must Close the connection.
func Connect(cfg ConnConfig) (*Conn, error) {
	cfg = cfg.withDefaults()
	tlsConfig, err := brokerTLS(cfg.URL, cfg.TLS)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &Conn{
		cfg:   cfg,
		tls:   tlsConfig,
		stop:  stop,
		done:  make(chan struct{}),
		up:    make(chan struct{}),
		state: State{Since: time.Now()},
	}
	go c.supervise(ctx)
	return c, nil
}

// supervise makes the connection and makes it again until ctx ends.
func (c *Conn) supervise(ctx context.Context) {
	defer close(c.done)
	pause := backoff{min: c.cfg.MinBackoff, max: c.cfg.MaxBackoff}
	for {
		began := time.Now()
		err := c.connectOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		c.cfg.Logger.Warn("broker connection lost", "connection", c.cfg.Name, "error", err)
		if time.Since(began) > c.cfg.MaxBackoff {
			pause.reset()
		}
		if !pause.wait(ctx) {
			return
		}
	}
}

// connectOnce makes one connection and returns when it is gone, with the reason.
func (c *Conn) connectOnce(ctx context.Context) error {
	l, err := c.dial(ctx)
	if err != nil {
		c.setDown(err)
		return err
	}
	closed := l.raw.NotifyClose(make(chan *amqp091.Error, 1))
	blocked := l.raw.NotifyBlocked(make(chan amqp091.Blocking, 16))
	c.setUp(l)
	err = c.watch(ctx, l, closed, blocked)
	c.setDown(err)
	close(l.down)
	return err
}

func (c *Conn) watch(
	ctx context.Context, l *link, closed <-chan *amqp091.Error, blocked <-chan amqp091.Blocking,
) error {
	for {
		select {
		case reason := <-closed:
			if reason != nil {
				return reason
			}
			return errors.New("closed by the broker")
		case b, ok := <-blocked:
			if !ok {
				blocked = nil
				continue
			}
			c.setBlocked(b)
		case <-ctx.Done():
			// The link counts as closed whatever the handshake says.
			_ = l.raw.CloseDeadline(time.Now().Add(c.cfg.CloseTimeout))
			return ErrClosed
		}
	}
}

func (c *Conn) dial(ctx context.Context) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.DialTimeout)
	defer cancel()
	l := &link{down: make(chan struct{})}
	settled := func() bool { return true }
	properties := amqp091.NewConnectionProperties()
	properties.SetClientConnectionName(c.cfg.Name)
	raw, err := amqp091.DialConfig(c.cfg.URL, amqp091.Config{
		Heartbeat:       c.cfg.Heartbeat,
		Properties:      properties,
		TLSClientConfig: c.tls.Clone(),
		Dial: func(network, address string) (net.Conn, error) {
			var dialer net.Dialer
			socket, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			// An answer that never comes must not outlive the attempt.
			if err := socket.SetDeadline(time.Now().Add(c.cfg.DialTimeout)); err != nil {
				_ = socket.Close()
				return nil, err
			}
			settled = context.AfterFunc(ctx, func() { _ = socket.Close() })
			l.wire = &wire{Conn: socket, timeout: c.cfg.WriteTimeout}
			return l.wire, nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("connect to broker: %w", explained(err))
	}
	if !settled() {
		_ = raw.CloseDeadline(time.Now())
		return nil, fmt.Errorf("connect to broker: %w", context.Cause(ctx))
	}
	l.raw = raw
	return l, nil
}
