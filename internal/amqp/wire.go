package amqp

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// maxCorked is how many bytes a corked wire holds back before it writes them.
const maxCorked = 64 << 10

// wire is the socket under a connection. It bounds every write in time: a broker
// under a memory or disk alarm stops reading, and a write without a deadline
// would then hang for good, with the client library's locks held. While corked it
// collects writes, so that a batch of publications costs a few system calls.
type wire struct {
	net.Conn
	timeout time.Duration
	limit   atomic.Pointer[time.Time] // deadline set from outside, if any

	mu     sync.Mutex // guards what follows
	corked bool
	held   []byte
}

// Write sends p, or holds it back while the wire is corked.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.corked {
		return w.writeNow(p)
	}
	w.held = append(w.held, p...)
	if len(w.held) < maxCorked {
		return len(p), nil
	}
	if err := w.release(); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *wire) writeNow(p []byte) (int, error) {
	deadline := time.Now().Add(w.timeout)
	if limit := w.limit.Load(); limit != nil && limit.Before(deadline) {
		deadline = *limit
	}
	if err := w.Conn.SetWriteDeadline(deadline); err != nil {
		return 0, err
	}
	return w.Conn.Write(p)
}

func (w *wire) release() error {
	if len(w.held) == 0 {
		return nil
	}
	_, err := w.writeNow(w.held)
	w.held = w.held[:0]
	return err
}

// cork starts holding writes back.
func (w *wire) cork() {
	w.mu.Lock()
	w.corked = true
	w.mu.Unlock()
}

// uncork writes what was held back. On failure the socket is closed, because
// the connection above believes these bytes are sent.
func (w *wire) uncork() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.corked = false
	if err := w.release(); err != nil {
		// The write error is the one worth reporting.
		_ = w.Conn.Close()
		return err
	}
	return nil
}

// SetDeadline limits reads and writes, including a write in progress.
func (w *wire) SetDeadline(t time.Time) error {
	w.setLimit(t)
	return w.Conn.SetDeadline(t)
}

// SetWriteDeadline limits writes, including a write in progress.
func (w *wire) SetWriteDeadline(t time.Time) error {
	w.setLimit(t)
	return w.Conn.SetWriteDeadline(t)
}

func (w *wire) setLimit(t time.Time) {
	if t.IsZero() {
		w.limit.Store(nil)
		return
	}
	w.limit.Store(&t)
}
