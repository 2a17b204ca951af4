package daemon

import (
	"sync"
	"time"
)

// phase is how far the daemon has come.
type phase string

const (
	phaseStarting phase = "starting"
	phaseRunning  phase = "running"
	phaseDraining phase = "draining"
)

// Readiness is the answer of /readyz.
type Readiness struct {
	// Ready says that messages are taken, applied and published.
	Ready bool  `json:"ready"`
	State phase `json:"state"`
	// Waiting is the service that the start waits for.
	Waiting string `json:"waiting,omitempty"`
	// Missing names the components that are not well.
	Missing    []string    `json:"missing,omitempty"`
	Components []Component `json:"components,omitempty"`
}

// Component is one part of the daemon, or one service it needs.
type Component struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Detail says what is wrong; a component that is well has none.
	Detail string `json:"detail,omitempty"`
	// Figures are for people.
	Figures any `json:"figures,omitempty"`
}

// subscriptionFigures are those of one queue.
type subscriptionFigures struct {
	Queue     string `json:"queue"`
	State     string `json:"state"` // consuming, paused or interrupted
	InFlight  int64  `json:"inFlight"`
	LastError string `json:"lastError,omitempty"`
}

// shardFigures are those of one shard of the outbox.
type shardFigures struct {
	Shard int  `json:"shard"`
	Owned bool `json:"owned"`
	// LagSeconds is the age of the oldest row being published.
	LagSeconds float64 `json:"lagSeconds"`
}

// health is what is known about the daemon as a whole.
type health struct {
	mu      sync.Mutex
	phase   phase
	waiting string
	parts   func() []Component
	// database is what the last look at the database said; empty is well.
	database string
	looked   time.Time
}

func newHealth() *health {
	return &health{phase: phaseStarting, database: "not looked at yet"}
}

func (h *health) set(p phase) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.phase = p
}

// await notes what the start waits for.
func (h *health) await(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting = what
}

// ask says who knows about the components.
func (h *health) ask(parts func() []Component) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.parts = parts
}

// saw notes how the database was.
func (h *health) saw(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.looked, h.database = time.Now(), ""
	if err != nil {
		h.database = err.Error()
	}
}

// staleAfter is when an old look at the database counts as none.
const staleAfter = 15 * time.Second

func (h *health) postgres() Component {
	h.mu.Lock()
	defer h.mu.Unlock()
	detail := h.database
	if detail == "" && time.Since(h.looked) > staleAfter {
		detail = "has not answered for " + time.Since(h.looked).Round(time.Second).String()
	}
	return Component{Name: "postgres", OK: detail == "", Detail: detail}
}

// readiness puts together how everything is.
func (h *health) readiness() Readiness {
	h.mu.Lock()
	r := Readiness{State: h.phase, Waiting: h.waiting}
	parts := h.parts
	h.mu.Unlock()
	if parts != nil {
		r.Components = parts()
	}
	for _, component := range r.Components {
		if !component.OK {
			r.Missing = append(r.Missing, component.Name)
		}
	}
	r.Ready = r.State == phaseRunning && len(r.Missing) == 0
	return r
}
