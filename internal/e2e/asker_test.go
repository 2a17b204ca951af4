package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"couponlease/internal/fleet"
	"couponlease/messages"
)

// replyLimit is how long an answer may take on a machine that does a lot else.
const replyLimit = time.Minute

// asker gives commands over the bare protocol, as a service in any language would.
type asker struct {
	t       *testing.T
	channel *amqp091.Channel
	replyTo string
	replies <-chan amqp091.Delivery
	sent    int
	// bodies are the bodies of all answers, as they came.
	bodies []string
}

// directAsker uses direct reply-to.
func directAsker(t *testing.T, space *fleet.Space) *asker {
	t.Helper()
	return newAsker(t, space, "amq.rabbitmq.reply-to", true)
}

// queueAsker has a queue of its own, which keeps answers while nobody listens.
func queueAsker(t *testing.T, space *fleet.Space, queue string) *asker {
	t.Helper()
	channel := rawChannel(t, space)
	if _, err := channel.QueueDeclare(queue, true, false, false, false, amqp091.Table{"x-queue-type": "quorum"}); err != nil {
		t.Fatal(err)
	}
	return newAsker(t, space, queue, false)
}

func newAsker(t *testing.T, space *fleet.Space, queue string, direct bool) *asker {
	t.Helper()
	a := &asker{t: t, channel: rawChannel(t, space), replyTo: queue}
	replies, err := a.channel.Consume(queue, "", direct, false, false, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	a.replies = replies
	return a
}

// fields is the data of a message.
type fields map[string]any

// send gives a command, under a correlation id that it returns, and does not wait.
func (a *asker) send(messageType string, data fields) string {
	a.t.Helper()
	a.sent++
	id := fmt.Sprintf("%s-%d", a.replyTo, a.sent)
	body, err := json.Marshal(data)
	if err != nil {
		a.t.Fatal(err)
	}
	a.publish("coupon.commands", amqp091.Publishing{
		MessageId: id, CorrelationId: id, ReplyTo: a.replyTo, Type: messageType,
		ContentType: "application/json", Timestamp: time.Now(), Body: body,
	})
	return id
}

func (a *asker) publish(exchange string, p amqp091.Publishing) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), replyLimit)
	defer cancel()
	confirmation, err := a.channel.PublishWithDeferredConfirmWithContext(ctx, exchange, p.Type, true, false, p)
	if err != nil {
		a.t.Fatal(err)
	}
	if acked, err := confirmation.WaitContext(ctx); err != nil || !acked {
		a.t.Fatalf("message %s was not confirmed: %v", p.MessageId, err)
	}
}

// answer waits for the answer to a command.
func (a *asker) answer(correlation string) messages.CommandReply {
	a.t.Helper()
	deadline := time.After(replyLimit)
	for {
		select {
		case d := <-a.replies:
			if d.CorrelationId != correlation {
				continue
			}
			a.bodies = append(a.bodies, string(d.Body))
			if d.Type != messages.TypeCommandReply {
				a.t.Fatalf("answered by a %s", d.Type)
			}
			var reply messages.CommandReply
			if err := json.Unmarshal(d.Body, &reply); err != nil {
				a.t.Fatalf("%v: %s", err, d.Body)
			}
			return reply
		case <-deadline:
			a.t.Fatalf("no answer to %s", correlation)
		}
	}
}

// ask gives a command and waits for its answer.
func (a *asker) ask(messageType string, data fields) messages.CommandReply {
	a.t.Helper()
	return a.answer(a.send(messageType, data))
}

// want gives a command and checks its outcome.
func (a *asker) want(outcome, messageType string, data fields) messages.CommandReply {
	a.t.Helper()
	reply := a.ask(messageType, data)
	if reply.Outcome != outcome {
		a.t.Errorf("%s %v: answered %s, want %s", messageType, data, reply.Outcome, outcome)
	}
	return reply
}
