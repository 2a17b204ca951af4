package amqp

import (
	"context"
	"fmt"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// State reports the connection's present state.
func (c *Conn) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

func (c *Conn) setUp(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link = l
	c.state.Connected = true
	c.state.Since = time.Now()
	c.state.Connects++
	close(c.up)
	c.cfg.Logger.Info("broker connected", "connection", c.cfg.Name)
}

func (c *Conn) setDown(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.LastError = reason
	c.state.Blocked, c.state.BlockedReason = false, ""
	if !c.state.Connected {
		return
	}
	c.link = nil
	c.state.Connected = false
	c.state.Since = time.Now()
	c.up = make(chan struct{})
}

func (c *Conn) setBlocked(b amqp091.Blocking) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Blocked, c.state.BlockedReason = b.Active, b.Reason
	c.cfg.Logger.Warn("broker flow control", "connection", c.cfg.Name, "blocked", b.Active, "reason", b.Reason)
}

// Ready waits until the connection is up.
func (c *Conn) Ready(ctx context.Context) error {
	_, err := c.current(ctx)
	return err
}

// current waits for a link.
func (c *Conn) current(ctx context.Context) (*link, error) {
	for {
		c.mu.Lock()
		l, up, last := c.link, c.up, c.state.LastError
		c.mu.Unlock()
		if l != nil {
			return l, nil
		}
		select {
		case <-up:
		case <-c.done:
			return nil, fmt.Errorf("broker connection: %w", ErrClosed)
		case <-ctx.Done():
			if last != nil {
				return nil, fmt.Errorf("wait for broker connection: %w (last: %w)", ctx.Err(), last)
			}
			return nil, fmt.Errorf("wait for broker connection: %w", ctx.Err())
		}
	}
}

// Channel opens a channel, waiting for the connection if need be. The channel
// dies with the physical connection it was opened on. The caller closes it.
func (c *Conn) Channel(ctx context.Context) (*amqp091.Channel, error) {
	ch, _, err := c.open(ctx)
	return ch, err
}

func (c *Conn) open(ctx context.Context) (*amqp091.Channel, *link, error) {
	for {
		l, err := c.current(ctx)
		if err != nil {
			return nil, nil, err
		}
		ch, err := ask(ctx, l.raw.Channel, func(ch *amqp091.Channel) {
			// Nobody waits for it any more; it closes with the link at the latest.
			_ = ch.Close()
		})
		if err == nil {
			return ch, l, nil
		}
		if ctx.Err() != nil || !l.raw.IsClosed() {
			return nil, nil, fmt.Errorf("open channel: %w", err)
		}
		// The link was lost a moment ago; the next one will do.
		select {
		case <-l.down:
		case <-ctx.Done():
		}
	}
}

// within runs a protocol request, which knows no context, and gives up waiting
// when ctx ends. The request itself ends at the latest with its connection.
func within(ctx context.Context, request func() error) error {
	_, err := ask(ctx, func() (struct{}, error) { return struct{}{}, request() }, nil)
	return err
}

// ask is within for requests that yield something. When the answer comes after
// ctx has ended, it goes to late.
func ask[T any](ctx context.Context, request func() (T, error), late func(T)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		value, err := request()
		answers <- answer{value, err}
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		if late != nil {
			go func() {
				if a := <-answers; a.err == nil {
					late(a.value)
				}
			}()
		}
		var zero T
		return zero, ctx.Err()
	}
}

// Close ends the connection and stops reconnecting. It returns when everything
// has ended, after CloseTimeout at the latest even when the broker is silent.
// Closing twice is fine.
func (c *Conn) Close() error {
	c.stop()
	<-c.done
	return nil
}
