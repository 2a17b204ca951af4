package client

import (
	"context"
	"errors"
	"fmt"
	"sync"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// Client is a connection to the broker that is kept: made again when it is lost,
// until it is closed. It is safe for use by many goroutines.
type Client struct {
	opts  Options
	slots chan struct{} // one element per call under way

	life context.Context // ends when the client gives up
	end  context.CancelFunc
	done chan struct{} // closed when the connection is gone for good

	mu       sync.Mutex // guards what follows
	closing  bool
	calls    sync.WaitGroup // not added to once closing
	session  *session       // nil while there is none
	online   chan struct{}  // closed while there is a session
	lastLoss error
	waiting  map[string]chan<- amqp091.Delivery // by correlation id
}

// New checks the options and starts connecting in the background; calls wait for
// the connection. The caller must Close the client.
func New(opts Options) (*Client, error) {
	c, err := prepare(opts)
	if err != nil {
		return nil, err
	}
	go c.supervise(nil)
	return c, nil
}

// Dial is New, but connects first and fails if the first attempt does. ctx bounds
// that attempt only.
func Dial(ctx context.Context, opts Options) (*Client, error) {
	c, err := prepare(opts)
	if err != nil {
		return nil, err
	}
	conn, err := c.connect(ctx)
	if err != nil {
		c.end()
		return nil, err
	}
	go c.supervise(conn)
	return c, nil
}

func prepare(opts Options) (*Client, error) {
	opts = opts.withDefaults()
	if err := opts.check(); err != nil {
		return nil, fmt.Errorf("coupon client: %w", err)
	}
	life, end := context.WithCancel(context.Background())
	return &Client{
		opts: opts, slots: make(chan struct{}, opts.MaxInFlight), life: life, end: end,
		done: make(chan struct{}), online: make(chan struct{}), waiting: map[string]chan<- amqp091.Delivery{},
	}, nil
}

// String names the client and hides the broker's password.
func (c *Client) String() string { return "coupon client of " + c.opts.Source }

// Ready waits for a connection. Its error wraps that of ctx and says why the last
// attempt failed.
func (c *Client) Ready(ctx context.Context) error {
	_, err := c.usable(ctx)
	return err
}

// Close takes no more calls and waits for those under way. When ctx ends first it
// cuts them short, so that they return an *Error with ErrClosed, and says how many.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	drained := make(chan struct{})
	go func() {
		c.calls.Wait()
		close(drained)
	}()
	var err error
	select {
	case <-drained:
	case <-ctx.Done():
		err = fmt.Errorf("close coupon client: %d calls were cut short: %w", len(c.slots), ctx.Err())
	}
	c.end()
	<-drained
	<-c.done
	return err
}

// begin admits a call; the returned function ends it.
func (c *Client) begin(ctx context.Context) (end func(), err error) {
	c.mu.Lock()
	if c.closing {
		c.mu.Unlock()
		return nil, ErrClosed
	}
	c.calls.Add(1)
	c.mu.Unlock()
	select {
	case c.slots <- struct{}{}:
		return func() {
			<-c.slots
			c.calls.Done()
		}, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-c.life.Done():
		err = ErrClosed
	}
	c.calls.Done()
	return nil, err
}

// usable waits for a session.
func (c *Client) usable(ctx context.Context) (*session, error) {
	for {
		c.mu.Lock()
		s, online, loss := c.session, c.online, c.lastLoss
		c.mu.Unlock()
		if s != nil {
			return s, nil
		}
		select {
		case <-online:
		case <-c.life.Done():
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, because(ctx.Err(), loss)
		}
	}
}

// because adds the trouble on the way, if there was any, to why it ended.
func because(end, trouble error) error {
	if trouble == nil || errors.Is(end, ErrClosed) {
		return end
	}
	return fmt.Errorf("%w: %w", end, trouble)
}

func (c *Client) setOnline(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = s
	close(c.online)
}

func (c *Client) setOffline(loss error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastLoss = loss
	if c.session != nil {
		c.session, c.online = nil, make(chan struct{})
	}
}

// expect opens a place for one answer; forget closes it.
func (c *Client) expect(correlation string) (answers <-chan amqp091.Delivery, forget func()) {
	place := make(chan amqp091.Delivery, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[correlation] = place
	return place, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, correlation)
	}
}

// answered brings an answer to its call. One that comes late or twice finds no
// place and is dropped.
func (c *Client) answered(d amqp091.Delivery) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if place, ok := c.waiting[d.CorrelationId]; ok {
		delete(c.waiting, d.CorrelationId)
		place <- d
	}
}
