package amqp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// DifferenceKind says how the broker differs from the layout.
type DifferenceKind string

const (
	// Missing: in the layout, not on the broker. Apply creates it.
	Missing DifferenceKind = "missing"
	// Inequivalent: it exists with other arguments. Apply cannot change it.
	Inequivalent DifferenceKind = "inequivalent"
	// Extra: on the broker under one of our names, not in the layout.
	Extra DifferenceKind = "extra"
)

// Difference is one way in which the broker differs from the layout.
type Difference struct {
	Kind DifferenceKind `json:"kind"`
	// Object is "exchange", "queue" or "binding".
	Object string `json:"object"`
	Name   string `json:"name"`
	// Detail is the broker's own words about an inequivalence.
	Detail string `json:"detail,omitempty"`
}

// String is the difference in one line.
func (d Difference) String() string {
	text := fmt.Sprintf("%s %s %s", d.Kind, d.Object, d.Name)
	if d.Detail != "" {
		text += " (" + d.Detail + ")"
	}
	return text
}

// Verify compares the broker with the layout and changes nothing. Bindings and
// objects in excess are only compared when management is not nil, because AMQP
// itself cannot tell. The order is: exchanges, queues, bindings.
func Verify(ctx context.Context, conn *Conn, layout Layout, management *Management) ([]Difference, error) {
	scratch := scratchChannel{conn: conn}
	defer scratch.close()
	var differences []Difference
	for _, ex := range layout.Exchanges {
		declare := ex.declare
		if ex.Foreign {
			declare = nil
		}
		d, err := scratch.compare(ctx, Difference{Object: "exchange", Name: ex.Name}, ex.passive, declare)
		if err != nil {
			return nil, err
		}
		differences = append(differences, d...)
	}
	for _, q := range layout.Queues {
		d, err := scratch.compare(ctx, Difference{Object: "queue", Name: q.Name}, q.passive, q.declare)
		if err != nil {
			return nil, err
		}
		differences = append(differences, d...)
	}
	if management == nil {
		return differences, nil
	}
	rest, err := compareManaged(ctx, layout, management)
	if err != nil {
		return nil, err
	}
	return append(differences, rest...), nil
}

// compare looks for an object and, when it exists, lets the broker compare its
// arguments: declaring what exists changes nothing, and is refused when the
// arguments differ.
func (s *scratchChannel) compare(
	ctx context.Context, d Difference, passive, declare func(*amqp091.Channel) error,
) ([]Difference, error) {
	exists, err := s.exists(ctx, passive)
	if err != nil {
		return nil, fmt.Errorf("look for %s %s: %w", d.Object, d.Name, err)
	}
	if !exists {
		d.Kind = Missing
		return []Difference{d}, nil
	}
	if declare == nil {
		return nil, nil
	}
	err = s.do(ctx, declare)
	if isCode(err, amqp091.PreconditionFailed) {
		d.Kind, d.Detail = Inequivalent, brokerText(err)
		return []Difference{d}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("compare %s %s: %w", d.Object, d.Name, err)
	}
	return nil, nil
}

// brokerText is the broker's explanation without the library's wrapping.
func brokerText(err error) string {
	_, text, found := strings.Cut(err.Error(), "PRECONDITION_FAILED - ")
	if !found {
		return err.Error()
	}
	return strings.Trim(text, `"`)
}

func compareManaged(ctx context.Context, layout Layout, management *Management) ([]Difference, error) {
	bindings, err := management.bindings(ctx)
	if err != nil {
		return nil, err
	}
	queues, err := management.names(ctx, "queues")
	if err != nil {
		return nil, err
	}
	exchanges, err := management.names(ctx, "exchanges")
	if err != nil {
		return nil, err
	}
	known := layout.objects()
	var differences []Difference
	for kind, names := range map[string][]string{"exchange": exchanges, "queue": queues} {
		for _, name := range names {
			if ours(name) && !known[kind][name] {
				differences = append(differences, Difference{Kind: Extra, Object: kind, Name: name})
			}
		}
	}
	differences = append(differences, compareBindings(layout, known, bindings)...)
	slices.SortStableFunc(differences, func(a, b Difference) int {
		return strings.Compare(a.Object+a.Name, b.Object+b.Name)
	})
	return differences, nil
}

// compareBindings looks only at what leads to our own objects: where else our
// events go is the business of those who listen to them.
func compareBindings(layout Layout, known map[string]map[string]bool, found []Binding) []Difference {
	var differences []Difference
	for _, b := range layout.Bindings {
		if !slices.Contains(found, b) {
			differences = append(differences, Difference{Kind: Missing, Object: "binding", Name: b.String()})
		}
	}
	for _, b := range found {
		if known[b.destinationKind()][b.Destination] && !slices.Contains(layout.Bindings, b) {
			differences = append(differences, Difference{Kind: Extra, Object: "binding", Name: b.String()})
		}
	}
	return differences
}

// objects are the names of the layout by kind.
func (l Layout) objects() map[string]map[string]bool {
	known := map[string]map[string]bool{"exchange": {}, "queue": {}}
	for _, ex := range l.Exchanges {
		known["exchange"][ex.Name] = true
	}
	for _, q := range l.Queues {
		known["queue"][q.Name] = true
	}
	return known
}

// ours tells whether a name lies in the part of the virtual host that we use.
func ours(name string) bool {
	return strings.HasPrefix(name, "coupon-") || strings.HasPrefix(name, "coupon.")
}
