package amqp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ThreeDotsLabs/watermill"
	wamqp "github.com/ThreeDotsLabs/watermill-amqp/v2/pkg/amqp"
	amqp091 "github.com/rabbitmq/amqp091-go"
)

// Mode says what a starting process does about the broker layout.
type Mode string

const (
	// ModeDeclare creates what is missing and fails on contradictions.
	ModeDeclare Mode = "declare"
	// ModeVerify changes nothing and fails when the broker differs.
	ModeVerify Mode = "verify"
	// ModeOff trusts the broker to be in shape.
	ModeOff Mode = "off"
)

// ErrLayoutDiffers says that the broker is not in the shape of the layout.
var ErrLayoutDiffers = errors.New("broker differs from the layout")

// Ensure does what the mode asks for. In ModeVerify the error names the first
// differences and matches ErrLayoutDiffers; bindings are compared only when
// management is not nil, and what exists in excess or could not be compared is
// tolerated. In ModeDeclare, too, a policy that takes away what keeps messages from
// being lost is such an error, when management is not nil.
func Ensure(ctx context.Context, conn *Conn, layout Layout, mode Mode, management *Management) error {
	switch mode {
	case ModeOff:
		return nil
	case ModeDeclare:
		if err := Apply(ctx, conn, layout); err != nil || management == nil {
			return err
		}
		return verifyPolicies(ctx, layout, management)
	case ModeVerify:
		differences, err := Verify(ctx, conn, layout, management)
		if err != nil {
			return err
		}
		return differencesError(differences)
	default:
		return fmt.Errorf("unknown layout mode %q: use declare, verify or off", mode)
	}
}

func differencesError(differences []Difference) error {
	differences = slices.DeleteFunc(differences, func(d Difference) bool {
		return d.Kind == Extra || d.Kind == Unchecked
	})
	if len(differences) == 0 {
		return nil
	}
	const shown = 5
	texts := make([]string, 0, shown)
	for _, d := range differences[:min(shown, len(differences))] {
		texts = append(texts, d.String())
	}
	return fmt.Errorf("%w in %d places: %s", ErrLayoutDiffers, len(differences), strings.Join(texts, "; "))
}

// Apply creates everything of the layout that is missing. It is idempotent and
// safe to run from several processes at once. It never deletes and never
// changes; an object that exists with other arguments is an error.
func Apply(ctx context.Context, conn *Conn, layout Layout) error {
	scratch := scratchChannel{conn: conn}
	defer scratch.close()
	for _, ex := range layout.Exchanges {
		if ex.Foreign {
			exists, err := scratch.exists(ctx, ex.passive)
			if err != nil {
				return fmt.Errorf("look for exchange %s: %w", ex.Name, err)
			}
			if exists {
				continue
			}
		}
		if err := scratch.do(ctx, ex.declare); err != nil {
			return fmt.Errorf("declare exchange %s: %w", ex.Name, err)
		}
	}
	for _, q := range layout.Queues {
		if err := scratch.do(ctx, q.declare); err != nil {
			return fmt.Errorf("declare queue %s: %w", q.Name, err)
		}
	}
	for _, b := range layout.Bindings {
		if err := scratch.do(ctx, b.declare); err != nil {
			return fmt.Errorf("bind %s: %w", b, err)
		}
	}
	return nil
}

func (ex Exchange) declare(ch *amqp091.Channel) error {
	return ch.ExchangeDeclare(ex.Name, ex.Kind, true, false, false, false, ex.Args)
}

func (ex Exchange) passive(ch *amqp091.Channel) error {
	return ch.ExchangeDeclarePassive(ex.Name, ex.Kind, true, false, false, false, nil)
}

func (q Queue) declare(ch *amqp091.Channel) error {
	_, err := ch.QueueDeclare(q.Name, true, false, false, false, q.Args)
	return err
}

func (q Queue) passive(ch *amqp091.Channel) error {
	_, err := ch.QueueDeclarePassive(q.Name, true, false, false, false, nil)
	return err
}

func (b Binding) declare(ch *amqp091.Channel) error {
	if b.ToExchange {
		return ch.ExchangeBind(b.Destination, b.Key, b.Source, false, nil)
	}
	return ch.QueueBind(b.Destination, b.Key, b.Source, false, nil)
}

// String names the binding: source, key and destination.
func (b Binding) String() string {
	return fmt.Sprintf("%s [%s] -> %s %s", b.Source, b.Key, b.destinationKind(), b.Destination)
}

// scratchChannel is a channel that may be lost to any refused request, as AMQP
// has it, and is then simply replaced.
type scratchChannel struct {
	conn *Conn
	ch   *amqp091.Channel
	// refused: the user has been told that it may not declare.
	refused bool
}

func (s *scratchChannel) do(ctx context.Context, request func(*amqp091.Channel) error) error {
	if s.ch == nil || s.ch.IsClosed() {
		ch, err := s.conn.Channel(ctx)
		if err != nil {
			return err
		}
		s.ch = ch
	}
	return within(ctx, func() error { return request(s.ch) })
}

// exists tells whether a passive declaration finds its object.
func (s *scratchChannel) exists(ctx context.Context, passive func(*amqp091.Channel) error) (bool, error) {
	err := s.do(ctx, passive)
	if isCode(err, amqp091.NotFound) {
		return false, nil
	}
	return err == nil, err
}

func (s *scratchChannel) close() {
	if s.ch == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	// A channel that cannot be closed is closed with its connection.
	_ = within(ctx, s.ch.Close)
}

func isCode(err error, code int) bool {
	var broker *amqp091.Error
	return errors.As(err, &broker) && broker.Code == code
}

// TopologyBuilder lets watermill-amqp's own subscriber and publisher use this
// layout. It brings only the part of the layout into shape that the subscribed
// queue needs; exchanges that belong to somebody else must be there.
type TopologyBuilder struct {
	Layout Layout
	Mode   Mode
}

var _ wamqp.TopologyBuilder = TopologyBuilder{}

// BuildTopology declares or checks the queue and what leads to it.
func (t TopologyBuilder) BuildTopology(
	ch *amqp091.Channel, queueName, _ string, _ wamqp.Config, _ watermill.LoggerAdapter,
) error {
	if t.Mode == ModeOff {
		return nil
	}
	part, err := t.Layout.For(queueName)
	if err != nil {
		return err
	}
	if t.Mode == ModeVerify {
		return part.Queues[0].passive(ch)
	}
	for _, ex := range part.Exchanges {
		if ex.Foreign {
			continue
		}
		if err := ex.declare(ch); err != nil {
			return fmt.Errorf("declare exchange %s: %w", ex.Name, err)
		}
	}
	if err := part.Queues[0].declare(ch); err != nil {
		return fmt.Errorf("declare queue %s: %w", queueName, err)
	}
	for _, b := range part.Bindings {
		if err := b.declare(ch); err != nil {
			return fmt.Errorf("bind %s: %w", b, err)
		}
	}
	return nil
}

// ExchangeDeclare is what watermill-amqp's publisher calls before it sends. The
// layout is in place by then, so there is nothing to do.
func (t TopologyBuilder) ExchangeDeclare(*amqp091.Channel, string, wamqp.Config) error {
	return nil
}
