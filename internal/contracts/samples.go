package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"couponlease/messages"
)

// sample is one golden message. The first sample of a type is also the example
// in the AsyncAPI document.
type sample struct {
	// name tells several samples of one type apart; "" if there is only one.
	name    string
	message messages.Message
}

func (s sample) file() string {
	if s.name == "" {
		return sampleDir + "/" + s.message.MessageType() + ".json"
	}
	return sampleDir + "/" + s.message.MessageType() + "." + s.name + ".json"
}

// at is an instant in the story that the samples tell: seconds after its start.
func at(seconds float64) time.Time {
	start := time.Date(2026, time.March, 1, 9, 0, 0, 0, time.UTC)
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

func eur(cents int64) messages.Money { return messages.Money{Amount: cents, Currency: "EUR"} }

// uuid makes the n-th of the ids that the product itself gives in the samples.
func uuid(n int) string { return fmt.Sprintf("019ca8b2-4000-7000-8000-%012d", n) }

func allSamples() []sample {
	samples := factSamples()
	samples = append(samples, commandSamples()...)
	samples = append(samples, operatorSamples()...)
	samples = append(samples, replySamples()...)
	samples = append(samples, leaseEvents()...)
	samples = append(samples, refundEvents()...)
	return append(samples, walletEvents()...)
}

// addSamples writes the data of every sample, and of every fact the three
// shapes in which it may come.
func addSamples(files artifacts, samples []sample) error {
	for i, s := range samples {
		body, properties, err := messages.Encode(fmt.Sprintf("msg-%03d", i+1), traceParent, s.message)
		if err != nil {
			return err
		}
		if files[s.file()], err = indent(body); err != nil {
			return fmt.Errorf("%s: %w", s.file(), err)
		}
		if s.name != "full" {
			continue
		}
		shapes, err := shapesOf(properties, body)
		if err != nil {
			return fmt.Errorf("%s: %w", s.file(), err)
		}
		for _, shape := range shapes {
			file := sampleDir + "/" + properties.Type + ".shape-" + shape.name + ".json"
			text, err := json.Marshal(shape.delivery)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if files[file], err = indent(text); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return nil
}

const traceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func indent(text []byte) ([]byte, error) {
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return nil, fmt.Errorf("indent: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// delivery is a message with its transport attributes, as a sample file shows it.
type delivery struct {
	RoutingKey string            `json:"routingKey"`
	Properties amqpProperties    `json:"properties"`
	Headers    map[string]string `json:"headers,omitempty"`
	Body       json.RawMessage   `json:"body"`
}

type amqpProperties struct {
	ContentType string `json:"contentType"`
	MessageID   string `json:"messageId,omitempty"`
	Type        string `json:"type,omitempty"`
	// Timestamp is in seconds since 1970.
	Timestamp int64 `json:"timestamp,omitempty"`
}

type shape struct {
	name     string
	delivery delivery
}

// shapesOf gives one message in the three shapes that are accepted.
func shapesOf(p messages.Properties, data []byte) ([]shape, error) {
	structured, err := json.Marshal(struct {
		SpecVersion     string          `json:"specversion"`
		ID              string          `json:"id"`
		Type            string          `json:"type"`
		Source          string          `json:"source"`
		Subject         string          `json:"subject"`
		Time            time.Time       `json:"time"`
		DataContentType string          `json:"datacontenttype"`
		Data            json.RawMessage `json:"data"`
	}{"1.0", p.MessageID, p.Type, "urn:shop:orders", p.Subject, p.Timestamp, p.ContentType, data})
	if err != nil {
		return nil, fmt.Errorf("structured shape: %w", err)
	}
	headers := p.Headers()
	headers["cloudEvents:source"] = "urn:shop:orders"
	return []shape{
		{"structured", delivery{
			RoutingKey: p.Type,
			Properties: amqpProperties{ContentType: "application/cloudevents+json"},
			Body:       structured,
		}},
		{"binary", delivery{
			RoutingKey: p.Type,
			Properties: amqpProperties{ContentType: p.ContentType},
			Headers:    headers,
			Body:       data,
		}},
		{"plain", delivery{
			RoutingKey: p.Type,
			Properties: amqpProperties{
				ContentType: p.ContentType, MessageID: p.MessageID, Type: p.Type, Timestamp: p.Timestamp.Unix(),
			},
			Body: data,
		}},
	}, nil
}
