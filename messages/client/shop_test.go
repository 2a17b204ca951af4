package client

import (
	"context"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"
	"go.uber.org/goleak"

	"couponlease/internal/testkit"
	"couponlease/messages"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	commandQueue = "coupon-commands"
	factQueue    = "facts"
	// limit is how long a test waits for what has to happen.
	limit = 30 * time.Second
	// soon is a deadline that is meant to pass.
	soon = 300 * time.Millisecond
)

// shop is a virtual host where facts and commands arrive, and the other side of
// the client: it takes what arrives and answers.
type shop struct {
	testing.TB
	broker  testkit.Broker
	channel *amqp091.Channel
}

// newShop declares what the product would. extra are arguments of the fact queue.
func newShop(t testing.TB, extra amqp091.Table) *shop {
	t.Helper()
	s := &shop{TB: t, broker: testkit.RabbitMQ(t)}
	s.connect()
	for exchange, queue := range map[string]string{
		messages.ExchangeCommerce: factQueue, messages.ExchangeCommands: commandQueue,
	} {
		s.must(s.channel.ExchangeDeclare(exchange, "topic", true, false, false, false, nil))
		args := amqp091.Table{}
		if queue == factQueue {
			args = extra
		}
		_, err := s.channel.QueueDeclare(queue, true, false, false, false, args)
		s.must(err)
		s.must(s.channel.QueueBind(queue, "#", exchange, false, nil))
	}
	return s
}

// connect is also for after the broker has closed all connections.
func (s *shop) connect() {
	s.Helper()
	conn, err := amqp091.Dial(s.broker.URL)
	s.must(err)
	s.Cleanup(func() { _ = conn.Close() }) // the test may have ended it before
	s.channel, err = conn.Channel()
	s.must(err)
}

func (s *shop) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// client gives a client that ends with the test. change edits its options.
func (s *shop) client(change func(*Options)) *Client {
	s.Helper()
	opts := Options{
		URL: s.broker.URL, Source: "checkout", MinBackoff: 10 * time.Millisecond, MaxBackoff: 100 * time.Millisecond,
		AskAgain: 2 * limit, // no test waits that long: a command is asked again where the test is about that
	}
	if change != nil {
		change(&opts)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c, err := Dial(ctx, opts)
	s.must(err)
	s.Cleanup(func() { s.shut(c) })
	return c
}

func (s *shop) shut(c *Client) {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		s.Error(err)
	}
}

// take takes the next message out of a queue.
func (s *shop) take(queue string) amqp091.Delivery {
	s.Helper()
	var d amqp091.Delivery
	testkit.Eventually(s, limit, "a message is in "+queue, func() (bool, string) {
		var ok bool
		var err error
		d, ok, err = s.channel.Get(queue, true)
		s.must(err)
		return ok, "none"
	})
	return d
}

// depth waits until so many messages are in a queue.
func (s *shop) depth(queue string, want int) {
	s.Helper()
	testkit.Eventually(s, limit, "messages are in "+queue, func() (bool, string) {
		n := s.broker.QueueDepth(s, queue)
		return n == want, "not so many"
	})
}

// answer sends a reply to a command, as the product would.
func (s *shop) answer(d amqp091.Delivery, reply messages.CommandReply) {
	s.Helper()
	reply.Command, reply.OccurredAt = d.Type, time.Now().UTC()
	body, properties, err := messages.Encode(newID(), "", reply)
	s.must(err)
	headers := amqp091.Table{}
	for name, value := range properties.Headers() {
		headers[name] = value
	}
	s.raw(d, amqp091.Publishing{
		Headers: headers, ContentType: properties.ContentType, MessageId: properties.MessageID,
		Type: properties.Type, Body: body,
	})
}

// raw sends anything as the reply to a command.
func (s *shop) raw(d amqp091.Delivery, p amqp091.Publishing) {
	s.Helper()
	p.CorrelationId = d.CorrelationId
	s.must(s.channel.PublishWithContext(context.Background(), "", d.ReplyTo, false, false, p))
}

// result is what a call returned.
type result struct {
	reply messages.CommandReply
	err   error
}

// background makes a call beside the test.
func background(call func() (messages.CommandReply, error)) <-chan result {
	results := make(chan result, 1)
	go func() {
		reply, err := call()
		results <- result{reply, err}
	}()
	return results
}

// lock is the command of tests that are not about commands.
func lock(key string) messages.LockCoupon {
	return messages.LockCoupon{CommandHead: messages.CommandHead{IdempotencyKey: key}, Code: "C1", OrderID: "quote-1"}
}

// locking makes a Lock beside the test.
func (s *shop) locking(ctx context.Context, c *Client, key string) <-chan result {
	return background(func() (messages.CommandReply, error) { return c.Lock(ctx, lock(key)) })
}

// closed is a fact of tests that are not about facts.
var closed = messages.OrderClosed{OrderID: "order-1", Reason: "timeout"}

func patient(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

func hasty(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	t.Cleanup(cancel)
	return ctx
}
