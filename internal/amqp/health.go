package amqp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// ServerVersion is what the broker at the other end calls itself, "" while there is none.
func (c *Conn) ServerVersion() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link == nil {
		return ""
	}
	version, _ := c.link.raw.Properties["version"].(string)
	return version
}

// QueueState is a queue as the broker counts it now.
type QueueState struct {
	Name string
	// Exists is false for a queue that is not there; Known is false when the user has no
	// right to ask.
	Exists, Known bool
	// Messages wait, without those that a consumer has; Consumers take them.
	Messages, Consumers int
}

// QueueStates asks for queues by name, in their order.
func QueueStates(ctx context.Context, conn *Conn, names []string) ([]QueueState, error) {
	scratch := scratchChannel{conn: conn}
	defer scratch.close()
	states := make([]QueueState, len(names))
	for i, name := range names {
		state := QueueState{Name: name, Exists: true, Known: true}
		err := scratch.do(ctx, func(ch *amqp091.Channel) error {
			// A passive declaration compares nothing but the name.
			q, err := ch.QueueDeclarePassive(name, true, false, false, false, nil)
			state.Messages, state.Consumers = q.Messages, q.Consumers
			return err
		})
		switch {
		case isCode(err, amqp091.NotFound):
			state.Exists = false
		case isCode(err, amqp091.AccessRefused):
			state.Known = false
		case err != nil:
			return nil, fmt.Errorf("look at queue %s: %w", name, err)
		}
		states[i] = state
	}
	return states, nil
}

// ErrNotAllowed says that the user of the management API may not see what was asked for.
var ErrNotAllowed = errors.New("the user of the management API may not see it")

// Node is one node of the broker.
type Node struct {
	Name    string `json:"name"`
	Running bool   `json:"running"`
	// The broker takes no publications while one of these is on, on any node.
	MemoryAlarm bool `json:"mem_alarm"`
	DiskAlarm   bool `json:"disk_free_alarm"`
	// DiskLimit is where DiskAlarm goes on, DiskFree what is left, in bytes.
	DiskLimit int64 `json:"disk_free_limit"`
	DiskFree  int64 `json:"disk_free"`
	// Partitions are the nodes that it has lost sight of.
	Partitions []string `json:"partitions"`
}

// Overview is the broker as its management API shows it.
type Overview struct {
	Version string `json:"rabbitmq_version"`
	Erlang  string `json:"erlang_version"`
	// Clock is that of the broker's host, to the second; zero when it was not told.
	Clock time.Time `json:"-"`
}

// Overview asks for version and clock.
func (m *Management) Overview(ctx context.Context) (o Overview, err error) {
	o.Clock, err = m.ask(ctx, "overview", "overview", &o)
	return o, notAllowed(err)
}

// Nodes lists the nodes; it is ErrNotAllowed for users without the tag monitoring.
func (m *Management) Nodes(ctx context.Context) (nodes []Node, err error) {
	_, err = m.ask(ctx, "nodes", "nodes", &nodes)
	return nodes, notAllowed(err)
}

// DisabledFlags lists stable feature flags that are off; before the next upgrade they
// have to be on. It is ErrNotAllowed for users without the tag administrator.
func (m *Management) DisabledFlags(ctx context.Context) (names []string, err error) {
	var flags []struct {
		Name      string `json:"name"`
		State     string `json:"state"`
		Stability string `json:"stability"`
	}
	if _, err = m.ask(ctx, "feature flags", "feature-flags", &flags); err != nil {
		return nil, notAllowed(err)
	}
	for _, flag := range flags {
		if flag.State == "disabled" && flag.Stability == "stable" {
			names = append(names, flag.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func notAllowed(err error) error {
	var status *statusError
	if errors.As(err, &status) && (status.code == http.StatusForbidden || status.code == http.StatusUnauthorized) {
		return fmt.Errorf("%w: %w", ErrNotAllowed, err)
	}
	return err
}
