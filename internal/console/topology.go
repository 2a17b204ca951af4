package console

import (
	"context"
	"fmt"
	"io"
	"strings"

	"couponlease/internal/amqp"
)

// Topology is the broker layout that the product needs.
type Topology struct{ amqp.Layout }

// WriteText prints the layout as a table.
func (t Topology) WriteText(w io.Writer) error {
	out := lines{w: w}
	out.table(t.Table())
	return out.err
}

// TopologyDiff is how the broker differs from the layout.
type TopologyDiff struct {
	Differences []amqp.Difference `json:"differences"`
	// BindingsCompared is false without the management API, which alone knows
	// bindings and what is there in excess.
	BindingsCompared bool `json:"bindingsCompared"`
}

// WriteText prints one difference a line.
func (d TopologyDiff) WriteText(w io.Writer) error {
	out := lines{w: w}
	for _, difference := range d.Differences {
		out.addf("%s", difference)
	}
	if !d.BindingsCompared {
		out.addf("bindings were not compared: set COUPONLEASE_AMQP_MANAGEMENT_URL to compare them, too")
	}
	if len(d.Differences) == 0 {
		out.addf("the broker is as the layout says")
	} else {
		out.addf("%s; `couponctl topology apply` creates what is missing", count(len(d.Differences), "difference"))
	}
	return out.err
}

// DiffTopology compares the broker with the layout and changes nothing.
func (b *Broker) DiffTopology(ctx context.Context) (TopologyDiff, error) {
	differences, err := amqp.Verify(ctx, b.conn, b.layout, b.management)
	if err != nil {
		return TopologyDiff{}, fmt.Errorf("compare the broker with the layout: %w", err)
	}
	return TopologyDiff{
		Differences: append([]amqp.Difference{}, differences...), BindingsCompared: b.management != nil,
	}, nil
}

// TopologyChange is what applying the layout did.
type TopologyChange struct {
	Created []amqp.Difference `json:"created"`
	// Exchanges, Queues and Bindings count what is in place now.
	Exchanges int `json:"exchanges"`
	Queues    int `json:"queues"`
	Bindings  int `json:"bindings"`
}

// WriteText prints what was created.
func (c TopologyChange) WriteText(w io.Writer) error {
	out := lines{w: w}
	for _, created := range c.Created {
		out.addf("created %s %s", created.Object, created.Name)
	}
	out.addf("in place: %s, %s, %s", count(c.Exchanges, "exchange"), count(c.Queues, "queue"),
		count(c.Bindings, "binding"))
	return out.err
}

// ApplyTopology creates what is missing on the broker. An object that exists
// with other arguments is an ErrConflict, found before anything is created.
func (b *Broker) ApplyTopology(ctx context.Context) (TopologyChange, error) {
	change := TopologyChange{
		Created: []amqp.Difference{}, Exchanges: len(b.layout.Exchanges),
		Queues: len(b.layout.Queues), Bindings: len(b.layout.Bindings),
	}
	before, err := b.DiffTopology(ctx)
	if err != nil {
		return change, err
	}
	var contradictions []string
	for _, difference := range before.Differences {
		switch difference.Kind {
		case amqp.Missing:
			change.Created = append(change.Created, difference)
		case amqp.Inequivalent:
			contradictions = append(contradictions, difference.String())
		}
	}
	if len(contradictions) > 0 {
		return TopologyChange{}, &conflictError{"what exists cannot be changed, only deleted and made again " +
			"once its messages are gone: " + strings.Join(contradictions, "; ")}
	}
	if err := amqp.Apply(ctx, b.conn, b.layout); err != nil {
		return TopologyChange{}, fmt.Errorf("apply the topology: %w", err)
	}
	return change, nil
}
