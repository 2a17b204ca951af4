package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"couponlease/handlers"
	"couponlease/internal/amqp"
	"couponlease/messages"
)

// Shape is how a fact is put on the wire; all are accepted alike.
type Shape string

// The shapes.
const (
	// ShapePlain is the bare data, with AMQP properties.
	ShapePlain Shape = "plain"
	// ShapeBinary adds CloudEvents headers.
	ShapeBinary Shape = "binary"
	// ShapeStructured wraps the data in a CloudEvents JSON object.
	ShapeStructured Shape = "structured"
)

const (
	// MaxRepeat bounds how many copies of a fact are published at once.
	MaxRepeat = 100_000
	// publishWindow is how many copies await their confirmation together.
	publishWindow = 4096
	// clientName is how broker and database show an operator's connections, and
	// the CloudEvents source of what an operator publishes.
	clientName = "couponctl"
)

// Fact is one message of an upstream service, to be published by hand.
type Fact struct {
	ID   string
	Type string
	// Data is the JSON object of the message.
	Data  []byte
	Time  time.Time
	Shape Shape
	// Repeat is how many copies are sent, all under the same id.
	Repeat int
}

// NewFact encodes a message.
func NewFact(id string, m messages.Message) (Fact, error) {
	body, properties, err := messages.Encode(id, "", m)
	if err != nil {
		return Fact{}, err
	}
	return Fact{
		ID: id, Type: m.MessageType(), Data: body, Time: properties.Timestamp, Shape: ShapePlain, Repeat: 1,
	}, nil
}

// Published is what became of a fact.
type Published struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Exchange string `json:"exchange"`
	Shape    Shape  `json:"shape"`
	Copies   int    `json:"copies"`
}

// WriteText prints the id alone when there is one copy, so that a script can
// take it.
func (p Published) WriteText(w io.Writer) error {
	out := lines{w: w}
	out.addf("%s", p.ID)
	return out.err
}

// PublishFact publishes a fact as an upstream service would: persistent,
// mandatory and confirmed. It is checked first, so that nothing is published
// that would only be refused; such a fact is an ErrUsage.
func (b *Broker) PublishFact(ctx context.Context, fact Fact) (Published, error) {
	publication, err := fact.publication()
	if err != nil {
		return Published{}, err
	}
	done := Published{ID: fact.ID, Type: fact.Type, Exchange: publication.Exchange, Shape: fact.Shape}
	for done.Copies < fact.Repeat {
		copies := slices.Repeat([]amqp.Publication{publication}, min(publishWindow, fact.Repeat-done.Copies))
		if err := b.publish(ctx, copies); err != nil {
			return done, err
		}
		done.Copies += len(copies)
	}
	return done, nil
}

// PublishFacts publishes facts in their order, one copy each.
func (b *Broker) PublishFacts(ctx context.Context, facts []Fact) error {
	for part := range slices.Chunk(facts, publishWindow) {
		publications := make([]amqp.Publication, len(part))
		for i, fact := range part {
			fact.Repeat = 1
			var err error
			if publications[i], err = fact.publication(); err != nil {
				return err
			}
		}
		if err := b.publish(ctx, publications); err != nil {
			return err
		}
	}
	return nil
}

// publish sends a window of messages and waits until the broker has them all.
func (b *Broker) publish(ctx context.Context, publications []amqp.Publication) error {
	for i, err := range b.publisher.PublishBatch(ctx, publications) {
		switch kind := publications[i].Type; {
		case errors.Is(err, amqp.ErrReturned):
			return fmt.Errorf("publish %s: no queue takes it: run `couponctl topology apply` first: %w", kind, err)
		case errors.Is(err, amqp.ErrUnconfirmed):
			return fmt.Errorf("publish %s: %w: the broker may or may not have it; if its exchange is missing, "+
				"`couponctl topology apply` makes it", kind, err)
		case err != nil:
			return fmt.Errorf("publish %s: %w", kind, err)
		}
	}
	return nil
}

// publication gives the message for the wire, checked as its consumer will.
func (f Fact) publication() (amqp.Publication, error) {
	if f.Repeat < 1 || f.Repeat > MaxRepeat {
		return amqp.Publication{}, &usageError{fmt.Errorf("repeat %d: choose 1 to %d", f.Repeat, MaxRepeat)}
	}
	contract, known := messages.ContractOf(f.Type)
	if !known || contract.Kind != messages.KindFact {
		return amqp.Publication{}, &usageError{fmt.Errorf("%s is not a fact", f.Type)}
	}
	properties := messages.Properties{
		MessageID: f.ID, Type: f.Type, Source: clientName, Timestamp: f.Time, ContentType: "application/json",
	}
	delivery := properties.Delivery(f.Data)
	switch f.Shape {
	case ShapeBinary:
	case ShapePlain:
		delivery.Headers = nil
	case ShapeStructured:
		body, err := structured(properties, f.Data)
		if err != nil {
			return amqp.Publication{}, Usage(err)
		}
		delivery.Body, delivery.Headers = body, nil
		delivery.ContentType = "application/cloudevents+json"
	default:
		return amqp.Publication{}, &usageError{fmt.Errorf("shape %q: choose plain, binary or structured", f.Shape)}
	}
	if err := checkFact(delivery); err != nil {
		return amqp.Publication{}, &usageError{fmt.Errorf("%s would be refused: %w", f.Type, err)}
	}
	return amqp.Publication{
		Exchange: contract.Exchange, Key: f.Type, ID: f.ID, Type: f.Type, ContentType: delivery.ContentType,
		Timestamp: f.Time, Body: delivery.Body, Headers: delivery.Headers, Mandatory: true,
	}, nil
}

func structured(p messages.Properties, data []byte) ([]byte, error) {
	body, err := json.Marshal(map[string]any{
		"specversion": "1.0", "id": p.MessageID, "type": p.Type, "source": p.Source,
		"time": p.Timestamp.UTC(), "datacontenttype": p.ContentType, "data": json.RawMessage(data),
	})
	if err != nil {
		return nil, errors.New("the data is not JSON")
	}
	return body, nil
}

// checkFact reads a fact as its consumer will. The error is a
// *messages.Malformed, which never repeats what was sent.
func checkFact(d messages.Delivery) error {
	e, err := messages.Parse(d)
	if err != nil {
		return err
	}
	_, err = handlers.Table()[e.Type](e)
	return err
}
