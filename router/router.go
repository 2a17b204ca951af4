// Package router joins queues and handlers: it takes messages from the broker,
// has them translated and answered, and alone decides what becomes of each.
package router

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"couponlease/handlers"
	"couponlease/internal/amqp"
	"couponlease/internal/coupon"
	"couponlease/messages"
)

// Engine answers requests, one answer or error each.
type Engine interface {
	SubmitAll(ctx context.Context, requests []coupon.Request) ([]coupon.Outcome, []error)
}

// Publisher sends messages with confirmation, one error each.
type Publisher interface {
	PublishBatch(ctx context.Context, publications []amqp.Publication) []error
}

// Config shapes a consumer.
type Config struct {
	// Subscriber delivers, Publisher forwards what is retried or buried.
	Subscriber message.Subscriber
	Publisher  Publisher
	Engine     Engine
	// Repeats answers repeated requests of tills; nil leaves them to the engine.
	Repeats *Repeats
	// Desk keeps dead letters, and DeadLetters delivers those of the broker to it. Without
	// them dead letters stay in their queue.
	Desk        Desk
	DeadLetters message.Subscriber
	// ReplyQueues are what the names of queues begin with that answers may be sent to.
	// Whoever gives a command chooses a queue that we write to with our own rights; only
	// direct reply-to, and queues that the broker named, need no permission.
	ReplyQueues []string
	// Queues to consume, with the number of subscriptions on each: one is right
	// for the windowed subscriber, many for the stock one.
	Queues        []string
	Subscriptions int
	// Tiers are the waits between attempts; none takes DefaultTiers.
	Tiers []time.Duration
	// CloseTimeout bounds Close; it has to be longer than the subscriber's drain.
	CloseTimeout time.Duration
	// Host and Version name this process on dead letters.
	Host, Version string
	Observer      Observer
	// Follow begins to trace a message; it, or its result, is nil when none is traced.
	Follow func(Arrival) Span
	Logger *slog.Logger
	// Now stamps failures; nil is time.Now.
	Now func() time.Time
}

// consumer settles the messages of one queue.
type consumer struct {
	Config
	queue string
	table map[string]handlers.Translate
	judge judge
}

// New gives a Watermill router that consumes the queues. The caller runs and
// closes it.
func New(cfg Config) (*message.Router, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if len(cfg.Tiers) == 0 {
		cfg.Tiers = DefaultTiers()
	}
	r, err := message.NewRouter(
		message.RouterConfig{CloseTimeout: cfg.CloseTimeout},
		watermill.NewSlogLoggerWithLevelMapping(cfg.Logger, map[slog.Level]slog.Level{
			slog.LevelInfo: slog.LevelDebug,
		}))
	if err != nil {
		return nil, fmt.Errorf("make router: %w", err)
	}
	for _, queue := range cfg.Queues {
		c := &consumer{Config: cfg, queue: queue, table: handlers.Table(), judge: judge{cfg.Tiers}}
		for i := range max(1, cfg.Subscriptions) {
			name := queue
			if cfg.Subscriptions > 1 {
				name = fmt.Sprintf("%s-%d", queue, i)
			}
			r.AddConsumerHandler(name, queue, cfg.Subscriber, c.handle)
		}
	}
	if cfg.Desk != nil && cfg.DeadLetters != nil {
		k := &clerk{desk: cfg.Desk, table: handlers.Table(), logger: cfg.Logger}
		r.AddConsumerHandler(amqp.QueueDead, amqp.QueueDead, cfg.DeadLetters, k.handle)
	}
	return r, nil
}

// handle settles one message. It returns nil once the message may be forgotten,
// and an error to give it back to the broker.
func (c *consumer) handle(msg *message.Message) error {
	settled, span := c.settle(msg, time.Now())
	err := c.carryOut(msg, settled.Verdict, settled.Outcomes)
	if span != nil {
		span.Settle(string(settled.Verdict.Action), settled.Verdict.Reason, settled.Verdict.Action != Ack || err != nil)
	}
	if c.Observer != nil {
		settled.Took = time.Since(settled.Began)
		c.Observer.Settled(settled)
	}
	return err
}

// settle reads a message and decides what becomes of it. The span, if there is one, is
// still open.
func (c *consumer) settle(msg *message.Message, began time.Time) (Settled, Span) {
	envelope, unread := messages.Parse(delivery(msg))
	settled := Settled{
		Queue: c.queue, Type: envelope.Type, Happened: envelope.Time, Attempt: attempt(msg), Began: began,
		Redelivered: msg.Metadata.Get(amqp.MetaRedelivered) == "true",
	}
	if due := msg.Metadata.Get(amqp.HeaderDueAt); due != "" {
		// What is no time counts as none.
		settled.Due, _ = time.Parse(time.RFC3339Nano, due)
	}
	span := c.follow(msg, &envelope, began)
	settled.Verdict, settled.Outcomes = c.answer(msg, envelope, unread, span)
	return settled, span
}

// answer asks the engine what a message asks for, and judges.
func (c *consumer) answer(msg *message.Message, envelope messages.Envelope, unread error, span Span) (
	Verdict, []coupon.Outcome,
) {
	tried := attempt(msg)
	if unread != nil {
		return c.unreadable(unread, tried), nil
	}
	translate := c.table[envelope.Type]
	if translate == nil {
		return c.judge.malformed(&messages.Malformed{
			Reason: messages.SchemaUnknown, Detail: "this version does not consume " + envelope.Type,
		}, tried), nil
	}
	if detail := misrouted(msg, envelope.Type); detail != "" {
		return Verdict{Action: Bury, Reason: ReasonMisrouted, Detail: detail}, nil
	}
	if err := amqp.CheckReplyQueue(envelope.ReplyTo, c.ReplyQueues); err != nil {
		return c.judge.malformed(&messages.Malformed{Reason: messages.FieldInvalid, Detail: err.Error()}, tried), nil
	}
	requests, err := translate(envelope)
	if err != nil {
		return c.unreadable(err, tried), nil
	}
	defer submit(requests, span)()
	if outcome, ok := c.Repeats.answer(msg.Context(), requests); ok {
		outcomes := []coupon.Outcome{outcome}
		return c.judge.answered(outcomes, []error{nil}, tried), outcomes
	}
	outcomes, errs := c.Engine.SubmitAll(msg.Context(), requests)
	return c.judge.answered(outcomes, errs, tried), outcomes
}

func (c *consumer) unreadable(err error, tried int) Verdict {
	var malformed *messages.Malformed
	if errors.As(err, &malformed) {
		return c.judge.malformed(malformed, tried)
	}
	return c.judge.again(Verdict{Reason: ReasonHandlerError, Detail: err.Error()}, tried)
}

func (c *consumer) carryOut(msg *message.Message, verdict Verdict, outcomes []coupon.Outcome) error {
	switch verdict.Action {
	case Ack:
		return c.replayed(msg, outcomes)
	case Requeue:
		return fmt.Errorf("give message back: %s", verdict.Detail)
	case Retry:
		publication := c.failed(msg, verdict)
		publication.DelayQueue, publication.Delay = c.queue, verdict.Delay
		publication.Headers[HeaderAttempt] = strconv.Itoa(attempt(msg) + 1)
		c.log(msg, verdict, slog.LevelWarn, "message will be tried again")
		return c.publish(msg.Context(), publication)
	default:
		if c.Desk != nil && len(verdict.Detail) > maxErrorHeader {
			c.log(msg, verdict, slog.LevelError, "message is filed with the dead letters at once")
			return c.fileAtOnce(msg, verdict)
		}
		publication := c.failed(msg, verdict)
		// Dead letters are kept and read by people, who are not to become owners of leases.
		publication.Body = messages.RedactBody(publication.Body)
		publication.Exchange, publication.Key = amqp.ExchangeDead, c.queue
		publication.Headers[HeaderAttempt] = strconv.Itoa(attempt(msg))
		c.log(msg, verdict, slog.LevelError, "message goes to the dead letters")
		return c.publish(msg.Context(), publication)
	}
}

// failed gives the message with the story of its failure in its headers. The
// error's full text may be long; headers travel in one frame and are cut.
func (c *consumer) failed(msg *message.Message, verdict Verdict) amqp.Publication {
	publication := forward(msg)
	now := c.Now().UTC().Format(time.RFC3339Nano)
	headers := publication.Headers
	headers[HeaderReason], headers[HeaderError] = verdict.Reason, cut(verdict.Detail)
	headers[HeaderQueue], headers[HeaderHost], headers[HeaderVersion] = c.queue, c.Host, c.Version
	headers[HeaderLast] = now
	setDefault(headers, HeaderFirst, now)
	headers[HeaderExchange], headers[HeaderRoutingKey] = origin(msg)
	return publication
}

func setDefault(headers map[string]string, key, value string) {
	if headers[key] == "" {
		headers[key] = value
	}
}

// maxErrorHeader bounds an error text in a header, in bytes.
const maxErrorHeader = 4 << 10

func cut(text string) string {
	if len(text) <= maxErrorHeader {
		return text
	}
	return text[:maxErrorHeader]
}

// Waits between attempts to forward a message.
const (
	forwardFirst = 100 * time.Millisecond
	forwardMost  = 5 * time.Second
)

// publish forwards a message before the original is acknowledged. While the
// broker takes nothing the message waits here: giving it back would only bring
// it again at once.
func (c *consumer) publish(ctx context.Context, publication amqp.Publication) error {
	for wait := forwardFirst; ; wait = min(2*wait, forwardMost) {
		err := c.Publisher.PublishBatch(ctx, []amqp.Publication{publication})[0]
		if err == nil {
			return nil
		}
		if errors.Is(err, amqp.ErrInvalid) {
			// It can never be forwarded. Given back often enough, the broker itself
			// dead-letters it.
			return fmt.Errorf("forward message: %w", err)
		}
		c.Logger.Warn("message could not be forwarded", "queue", c.queue, "message", publication.ID, "error", err)
		select {
		case <-ctx.Done():
			return fmt.Errorf("forward message: %w", err)
		case <-time.After(wait):
		}
	}
}

func (c *consumer) log(msg *message.Message, verdict Verdict, level slog.Level, text string) {
	c.Logger.Log(msg.Context(), level, text,
		"queue", c.queue, "message", msg.UUID, "attempt", attempt(msg),
		"reason", verdict.Reason, "detail", cut(verdict.Detail), "delay", verdict.Delay)
}
