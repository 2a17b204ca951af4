package amqp

import "sync"

// gate says whether messages may be taken, and tells who waits when it changes.
type gate struct {
	mu      sync.Mutex
	reason  string // why it is shut; empty while open
	changed chan struct{}
}

func newGate() *gate { return &gate{changed: make(chan struct{})} }

// set shuts the gate for a reason, or opens it with none.
func (g *gate) set(reason string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reason == reason {
		return
	}
	g.reason = reason
	close(g.changed)
	g.changed = make(chan struct{})
}

// state returns why the gate is shut, and a channel that closes at the next change.
func (g *gate) state() (reason string, changed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reason, g.changed
}
