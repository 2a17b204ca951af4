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
	// Overruled: a policy makes something else of it than its arguments say.
	Overruled DifferenceKind = "overruled"
	// Unchecked: it could not be compared, because the user has too few rights and
	// the management API was not asked.
	Unchecked DifferenceKind = "unchecked"
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

// Verify compares the broker with the layout and changes nothing. Bindings, policies and
// objects in excess are only compared when management is not nil, because AMQP
// itself cannot tell. Arguments are compared by a user who may declare, or
// through management. The order is: exchanges, queues, bindings.
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
	return compareManaged(ctx, layout, management, differences)
}

// compare looks for an object and, when it exists, lets the broker compare its
// arguments: declaring what exists changes nothing, and is refused when the
// arguments differ.
func (s *scratchChannel) compare(
	ctx context.Context, d Difference, passive, declare func(*amqp091.Channel) error,
) ([]Difference, error) {
	exists, err := s.exists(ctx, passive)
	switch {
	case isCode(err, amqp091.AccessRefused):
		// From RabbitMQ 4.2.6 on it is only told to users with a right to it.
		d.Kind, d.Detail = Unchecked, "no right to know, and no management API"
		return []Difference{d}, nil
	case err != nil:
		return nil, fmt.Errorf("look for %s %s: %w", d.Object, d.Name, err)
	}
	if !exists {
		d.Kind = Missing
		return []Difference{d}, nil
	}
	switch {
	case declare == nil:
		return nil, nil
	case !s.refused:
		// One refusal tells: fifty would only fill the broker's log.
		err = s.do(ctx, declare)
		s.refused = isCode(err, amqp091.AccessRefused)
	}
	switch {
	case s.refused:
		d.Kind, d.Detail = Unchecked, "no right to declare it, and no management API"
		return []Difference{d}, nil
	case err == nil:
		return nil, nil
	case isCode(err, amqp091.PreconditionFailed):
		d.Kind, d.Detail = Inequivalent, brokerText(err)
		return []Difference{d}, nil
	default:
		return nil, fmt.Errorf("compare %s %s: %w", d.Object, d.Name, err)
	}
}

// brokerText is the broker's explanation without the library's wrapping.
func brokerText(err error) string {
	_, text, found := strings.Cut(err.Error(), "PRECONDITION_FAILED - ")
	if !found {
		return err.Error()
	}
	return strings.Trim(text, `"`)
}

// compareManaged adds what the management API knows to what AMQP has told.
func compareManaged(
	ctx context.Context, layout Layout, management *Management, told []Difference,
) ([]Difference, error) {
	bindings, err := management.bindings(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string][]managedObject{}
	for _, kind := range []string{"exchange", "queue"} {
		if found[kind], err = management.objects(ctx, kind+"s"); err != nil {
			return nil, err
		}
	}
	known := layout.objects()
	var differences []Difference
	for kind, objects := range found {
		for _, object := range objects {
			if ours(object.Name) && !known[kind][object.Name] {
				differences = append(differences, Difference{Kind: Extra, Object: kind, Name: object.Name})
			}
		}
	}
	differences = append(differences, compareBindings(layout, known, bindings)...)
	rulingOf, err := management.rulings(ctx)
	if err != nil {
		return nil, err
	}
	differences = append(differences, layout.overruled(rulingOf)...)
	slices.SortStableFunc(differences, func(a, b Difference) int {
		return strings.Compare(a.Object+a.Name, b.Object+b.Name)
	})
	return append(layout.check(told, found), differences...), nil
}

// check compares what was left unchecked with what was found.
func (l Layout) check(told []Difference, found map[string][]managedObject) []Difference {
	checked := make([]Difference, 0, len(told))
	for _, d := range told {
		if d.Kind != Unchecked {
			checked = append(checked, d)
			continue
		}
		i := slices.IndexFunc(found[d.Object], func(o managedObject) bool { return o.Name == d.Name })
		if i < 0 {
			d.Kind, d.Detail = Missing, ""
			checked = append(checked, d)
			continue
		}
		want, compared := l.described(d.Object, d.Name)
		if is := found[d.Object][i].description(); compared && want != is {
			d.Kind, d.Detail = Inequivalent, fmt.Sprintf("it is %s, not %s", is, want)
			checked = append(checked, d)
		}
	}
	return checked
}

// described is what an object of the layout should be, in the words of
// managedObject.description, and whether that is ours to say.
func (l Layout) described(kind, name string) (text string, compared bool) {
	if kind == "queue" {
		queue, _ := l.Queue(name)
		return description("", queue.Args), true
	}
	i := slices.IndexFunc(l.Exchanges, func(ex Exchange) bool { return ex.Name == name })
	return description(l.Exchanges[i].Kind, l.Exchanges[i].Args), !l.Exchanges[i].Foreign
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
