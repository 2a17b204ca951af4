package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"gopkg.in/yaml.v3"

	"couponlease/messages"
)

// object is a part of the document; its members come out in alphabetical order.
type object = map[string]any

// asyncAPI is the top of the document, in the order in which people read it.
type asyncAPI struct {
	AsyncAPI           string `yaml:"asyncapi"`
	Info               object `yaml:"info"`
	DefaultContentType string `yaml:"defaultContentType"`
	Servers            object `yaml:"servers"`
	Channels           object `yaml:"channels"`
	Operations         object `yaml:"operations"`
	Components         object `yaml:"components"`
}

const about = `Couponlease owns the state of every coupon. Other services publish facts
(and, if they want something at once, commands), and listen to events.

Messages are CloudEvents 1.0 over AMQP 0.9.1. What comes in may have one of three
shapes: structured JSON (application/cloudevents+json), binary mode (headers
cloudEvents:* or cloudEvents_*), or plain JSON with the AMQP properties message-id,
type and timestamp. What goes out is binary mode with the AMQP properties.

Delivery is at least once and in no order: the id tells repetitions apart, and the
stateVersion orders the events of one coupon. Unknown fields have to be ignored.`

// addAsyncAPI makes the document from the contracts, and takes the first sample
// of each message as its example.
func addAsyncAPI(files artifacts, samples []sample) error {
	examples := map[string]any{}
	for _, s := range samples {
		if _, known := examples[s.message.MessageType()]; known {
			continue
		}
		var payload any
		if err := json.Unmarshal(files[s.file()], &payload); err != nil {
			return fmt.Errorf("%s: %w", s.file(), err)
		}
		examples[s.message.MessageType()] = payload
	}
	document := asyncAPI{
		AsyncAPI:           "3.0.0",
		Info:               object{"title": "Couponlease", "version": "1.0.0", "description": about},
		DefaultContentType: "application/json",
		Servers:            servers(),
		Channels:           object{},
		Operations:         object{},
		Components: object{
			"schemas":        object{"IncomingHeaders": incomingHeaders(), "OutgoingHeaders": outgoingHeaders()},
			"correlationIds": correlationIDs(),
		},
	}
	components := object{}
	for _, contract := range messages.Contracts() {
		document.Channels[contract.Name] = channel(contract)
		addOperations(document.Operations, contract)
		components[contract.Name] = message(contract, examples[contract.Type])
	}
	document.Components["messages"] = components

	var out bytes.Buffer
	out.WriteString("# Generated from package messages. To change it: go run ./internal/contracts\n")
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("render: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return fmt.Errorf("render: %w", err)
	}
	files[asyncAPIFile] = out.Bytes()
	return nil
}

func ref(to string) object { return object{"$ref": to} }

func servers() object {
	return object{"rabbitmq": object{
		"host":            "{host}:{port}",
		"protocol":        "amqp",
		"protocolVersion": "0.9.1",
		"description":     "RabbitMQ 3.10 to 4.x.",
		"variables": object{
			"host": object{"default": "localhost"},
			"port": object{"default": "5672"},
		},
	}}
}

// channel is where a message is published: a routing key of an exchange, or a
// queue for what is sent to one directly.
func channel(contract messages.Contract) object {
	c := object{
		"address":  contract.Type,
		"title":    contract.Name,
		"messages": object{contract.Name: ref("#/components/messages/" + contract.Name)},
	}
	switch {
	case contract.Exchange != "":
		c["bindings"] = object{"amqp": object{
			"is": "routingKey",
			"exchange": object{
				"name": contract.Exchange, "type": "topic", "durable": true, "autoDelete": false, "vhost": "/",
			},
			"bindingVersion": "0.3.0",
		}}
	case contract.Queue != "":
		c["address"] = contract.Queue
		c["description"] = "Internal: reached through the delay levels, when the leases are due."
		c["bindings"] = object{"amqp": object{
			"is": "queue",
			"queue": object{
				"name": contract.Queue, "durable": true, "exclusive": false, "autoDelete": false, "vhost": "/",
			},
			"bindingVersion": "0.3.0",
		}}
	default:
		c["address"] = nil
		c["description"] = "The queue that the command named in its AMQP property reply-to."
	}
	return c
}

// addOperations says what this side does: it receives facts, commands and the
// timer, and sends the timer, events and replies.
func addOperations(operations object, contract messages.Contract) {
	operation := func(action string) object {
		return object{
			"action":   action,
			"channel":  ref("#/channels/" + contract.Name),
			"messages": []any{ref("#/channels/" + contract.Name + "/messages/" + contract.Name)},
		}
	}
	if contract.Kind.Incoming() {
		receive := operation("receive")
		receive["summary"] = "Consumed from the queue " + contract.Queue + "."
		receive["bindings"] = object{"amqp": object{"ack": true, "bindingVersion": "0.3.0"}}
		if contract.Kind == messages.KindCommand {
			receive["reply"] = object{
				"address": object{
					"description": "The AMQP property reply-to.",
					"location":    "$message.header#/replyTo",
				},
				"channel":  ref("#/channels/CommandReply"),
				"messages": []any{ref("#/channels/CommandReply/messages/CommandReply")},
			}
		}
		operations["receive"+contract.Name] = receive
	}
	// A reply is sent as part of the operation of its command.
	if contract.Kind == messages.KindEvent || contract.Kind == messages.KindTimer {
		send := operation("send")
		send["bindings"] = object{"amqp": object{"deliveryMode": 2, "timestamp": true, "bindingVersion": "0.3.0"}}
		operations["send"+contract.Name] = send
	}
}

func message(contract messages.Contract, example any) object {
	headers := "OutgoingHeaders"
	if contract.Kind.Incoming() {
		headers = "IncomingHeaders"
	}
	m := object{
		"name":        contract.Type,
		"title":       contract.Name,
		"contentType": "application/json",
		"headers":     ref("#/components/schemas/" + headers),
		"payload":     ref("./schema/" + schemaFile(contract.Type)),
		"tags":        []any{object{"name": string(contract.Kind)}},
		"bindings":    object{"amqp": object{"messageType": contract.Type, "bindingVersion": "0.3.0"}},
		"examples":    []any{object{"name": contract.Name, "payload": example}},
	}
	if contract.Kind == messages.KindCommand || contract.Kind == messages.KindReply {
		m["correlationId"] = ref("#/components/correlationIds/command")
	}
	return m
}

func correlationIDs() object {
	return object{"command": object{
		"description": "The AMQP property correlation-id: the reply has the one of its command.",
		"location":    "$message.header#/correlationId",
	}}
}

// headerProperties describes the CloudEvents attributes as AMQP headers.
func headerProperties() object {
	text := func(description string) object { return object{"type": "string", "description": description} }
	return object{
		"cloudEvents:specversion":     object{"type": "string", "const": "1.0"},
		"cloudEvents:id":              text("The identity of the message; as AMQP property: message-id."),
		"cloudEvents:type":            text("The type with its version; as AMQP property: type."),
		"cloudEvents:source":          text("Who sends it."),
		"cloudEvents:subject":         text("The coupon or order it is about."),
		"cloudEvents:time":            object{"type": "string", "format": "date-time", "description": "When it happened; as AMQP property, in whole seconds: timestamp."},
		"cloudEvents:datacontenttype": text("application/json"),
		"traceparent":                 text("W3C trace context, passed on to the events that follow."),
	}
}

func incomingHeaders() object {
	properties := headerProperties()
	properties["replyTo"] = object{"type": "string", "description": "The AMQP property reply-to: where to send the answer to a command: direct reply-to, a queue that the broker named, or one whose name begins as the product is configured, with reply. unless it is otherwise."}
	properties["correlationId"] = object{"type": "string", "description": "The AMQP property correlation-id."}
	return object{
		"type":        "object",
		"description": "Attributes of what comes in. In the plain and structured shapes there are no headers.",
		"properties":  properties,
	}
}

func outgoingHeaders() object {
	properties := headerProperties()
	properties["correlationId"] = object{"type": "string", "description": "The AMQP property correlation-id, on replies."}
	return object{
		"type":        "object",
		"description": "Attributes of what goes out: CloudEvents binary mode.",
		"properties":  properties,
		"required": []any{
			"cloudEvents:specversion", "cloudEvents:id", "cloudEvents:type", "cloudEvents:source",
			"cloudEvents:time", "cloudEvents:datacontenttype",
		},
	}
}
