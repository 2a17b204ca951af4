// Package quota is the product's only door to Redis. What Redis knows are hints that
// spare the database work: an answer never depends on them, so that Redis may be
// slow, empty, wrong or gone.
package quota

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Limits of a client. How long one question may take is the asker's to say, and
// shorter; connections may take longer, and serve the next question.
const (
	connections = 16
	dialTimeout = 2 * time.Second
	ioTimeout   = 2 * time.Second
	// bufferBytes is enough for questions and answers of a line each.
	bufferBytes = 4 << 10
	// pipelines is how many connections carry many questions at once, and the buffers of
	// each hold a usual batch of claims: half a kilobyte a question, a line an answer.
	pipelines           = 8
	pipelineReadBuffer  = 16 << 10
	pipelineWriteBuffer = 64 << 10
)

// ClientOptions shape a client; all are optional.
type ClientOptions struct {
	// Name is shown to the server's operator.
	Name string
	// TLS is how a server of a rediss URL is verified; nil trusts the authorities of
	// the system. With a redis URL, which is not encrypted, it has no effect.
	TLS *tls.Config
	// Logger takes what the Redis library has to say, at level debug, for all clients
	// of the process: those who ask are told by errors. Nil discards.
	Logger *slog.Logger
}

// Client talks to one Redis server, to which it connects when it is first asked, and
// again whenever the connection is lost. Its methods may be called from any goroutine.
type Client struct {
	redis *redis.Client

	// starts counts how often a new connection found another server, or the same one
	// started again.
	starts atomic.Int64
	mu     sync.Mutex
	run    string // the server's name for the time since it was started
}

// Open prepares a client of the server that a URL names, redis or rediss. An error
// means that the URL cannot be used; it does not show it.
func Open(url string, o ClientOptions) (*Client, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("open Redis: the URL is not of the form redis:// or rediss://user:password@host:port/number")
	}
	if o.TLS != nil && options.TLSConfig != nil {
		host := options.TLSConfig.ServerName
		options.TLSConfig = o.TLS.Clone()
		options.TLSConfig.ServerName = cmp.Or(options.TLSConfig.ServerName, host)
	}
	options.ClientName, options.DisableIdentity = o.Name, true
	options.PoolSize, options.MaxActiveConns = connections, connections
	options.PipelinePoolSize = pipelines
	options.PipelineReadBufferSize, options.PipelineWriteBufferSize = pipelineReadBuffer, pipelineWriteBuffer
	options.ReadBufferSize, options.WriteBufferSize = bufferBytes, bufferBytes
	options.ContextTimeoutEnabled = true
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = dialTimeout, ioTimeout, ioTimeout
	// Whoever asks gives up rather than wait for a second try.
	options.MaxRetries, options.DialerRetries = -1, 1
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	redis.SetLogger(libraryLog{o.Logger})
	c := &Client{}
	options.OnConnect = c.recognise
	c.redis = redis.NewClient(options)
	return c, nil
}

// recognise notes on a new connection which run of which server is at its other end: one
// that was restored from a copy while nobody asked looks no different otherwise.
func (c *Client) recognise(ctx context.Context, conn *redis.Conn) error {
	info, err := conn.Info(ctx, "server").Result()
	var answered redis.Error
	if errors.As(err, &answered) {
		return nil // a managed server may forbid the question
	}
	if err != nil {
		return fmt.Errorf("ask Redis who it is: %w", err)
	}
	run := infoFields(info)["run_id"]
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run != "" && c.run != run {
		c.starts.Add(1)
	}
	c.run = run
	return nil
}

// Close ends all connections.
func (c *Client) Close() error {
	if err := c.redis.Close(); err != nil {
		return fmt.Errorf("close Redis: %w", err)
	}
	return nil
}

// libraryLog passes on what the Redis library would print to standard error.
type libraryLog struct{ logger *slog.Logger }

// Printf implements the library's interface.
func (l libraryLog) Printf(ctx context.Context, format string, values ...any) {
	l.logger.DebugContext(ctx, "redis: "+fmt.Sprintf(format, values...))
}
