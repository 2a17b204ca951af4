package client

import (
	"context"
	"fmt"
	"net"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// supervise keeps a connection until the client ends, beginning with the given
// one, if any.
func (c *Client) supervise(conn *amqp091.Connection) {
	defer close(c.done)
	pause := backoff{min: c.opts.MinBackoff, max: c.opts.MaxBackoff}
	for {
		began := time.Now()
		err := c.keep(conn)
		if c.life.Err() != nil {
			return
		}
		c.setOffline(err)
		c.opts.Logger.Warn("connection to the broker lost", "source", c.opts.Source, "error", err)
		if time.Since(began) > c.opts.MaxBackoff {
			pause.reset()
		}
		if c.sleep(c.life, pause.pause()) != nil {
			return
		}
		conn = nil
	}
}

// keep serves one connection, made here if there is none, until it is gone, and
// returns why it is.
func (c *Client) keep(conn *amqp091.Connection) (err error) {
	if conn == nil {
		if conn, err = c.connect(c.life); err != nil {
			return err
		}
	}
	hangUp := func() { _ = conn.CloseDeadline(time.Now().Add(closeTimeout)) }
	hungUp := make(chan struct{})
	life, cut := context.WithCancel(c.life)
	defer cut()
	spared := context.AfterFunc(life, func() {
		defer close(hungUp)
		hangUp()
	})
	defer func() {
		if spared() {
			hangUp()
		} else {
			<-hungUp
		}
	}()
	// A message that the broker refuses costs the channel, not the connection.
	for !conn.IsClosed() && life.Err() == nil {
		s, openErr := openSession(conn, c.opts.MaxInFlight)
		if openErr != nil {
			return openErr
		}
		c.setOnline(s)
		err = s.serve(c.answered, cut)
		c.setOffline(err)
		s.end(err)
	}
	return err
}

// connect makes one connection.
func (c *Client) connect(ctx context.Context) (*amqp091.Connection, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	settled := func() bool { return true }
	properties := amqp091.NewConnectionProperties()
	properties.SetClientConnectionName(c.opts.Source)
	conn, err := amqp091.DialConfig(c.opts.URL, amqp091.Config{
		Heartbeat:       heartbeat,
		Properties:      properties,
		TLSClientConfig: c.opts.TLS.Clone(), // the library sets the server's name in it
		Dial: func(network, address string) (net.Conn, error) {
			var dialer net.Dialer
			socket, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			// The handshake must not outlive the attempt; the library lifts this
			// deadline after it.
			if err := socket.SetDeadline(time.Now().Add(dialTimeout)); err != nil {
				_ = socket.Close()
				return nil, err
			}
			settled = context.AfterFunc(ctx, func() { _ = socket.Close() })
			return impatient{socket}, nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the broker: %w", err)
	}
	if !settled() {
		_ = conn.CloseDeadline(time.Now())
		return nil, fmt.Errorf("connect to the broker: %w", context.Cause(ctx))
	}
	return conn, nil
}

// impatient bounds every write. A broker that is short of memory or disk stops
// reading, and a write without a deadline would then hang with the library's
// locks held.
type impatient struct{ net.Conn }

func (c impatient) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
