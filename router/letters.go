package router

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"couponlease/handlers"
	"couponlease/internal/amqp"
	"couponlease/internal/coupon"
	"couponlease/internal/deadletter"
	"couponlease/messages"
)

// Desk keeps dead letters. Both methods return nil once what they were told is
// committed.
type Desk interface {
	File(ctx context.Context, letter deadletter.Letter) error
	Record(ctx context.Context, settled deadletter.Settled) error
}

// clerk files what comes from the queue of dead letters. A message is acknowledged when
// its letter is committed: while the database is away, messages wait in the queue.
type clerk struct {
	desk   Desk
	table  map[string]handlers.Translate
	logger *slog.Logger
}

// refusedPause is how long a letter that the database does not want waits before it is
// tried again. It is a defect; the wait keeps it from being a loud one.
const refusedPause = 5 * time.Second

func (k *clerk) handle(msg *message.Message) error {
	letter := deadletter.Read(incoming(msg))
	letter.Describe(k.subjects(msg))
	err := k.desk.File(msg.Context(), letter)
	if err == nil {
		return nil
	}
	k.logger.Error("a dead letter was not filed and stays in its queue", "message", msg.UUID, "error", err)
	select {
	case <-msg.Context().Done():
	case <-time.After(refusedPause):
	}
	return err
}

func incoming(msg *message.Message) deadletter.Incoming {
	d := delivery(msg)
	deliveries, _ := strconv.ParseInt(msg.Metadata.Get(amqp.MetaDeliveryCount), 10, 64)
	return deadletter.Incoming{
		MessageID: d.MessageID, Type: d.Type, ContentType: d.ContentType, CorrelationID: d.CorrelationID,
		ReplyTo: d.ReplyTo, Timestamp: d.Timestamp, Headers: d.Headers, Deliveries: deliveries, Body: d.Body,
	}
}

// maxSubjects bounds how many coupons of one letter are kept.
const maxSubjects = 100

// subjects tells what a message is and what it is about, as far as it can be read.
func (k *clerk) subjects(msg *message.Message) (messageType, order string, coupons []string) {
	envelope, err := messages.Parse(delivery(msg))
	if translate := k.table[envelope.Type]; err == nil && translate != nil {
		if requests, err := translate(envelope); err == nil {
			order, coupons = subjectsOf(requests)
			return envelope.Type, order, coupons
		}
	}
	order, coupons = guessed(msg.Payload)
	return envelope.Type, order, coupons
}

func subjectsOf(requests []coupon.Request) (order string, coupons []string) {
	for i := range requests {
		fact := requests[i].Fact
		if orders := fact.Orders(); order == "" && len(orders) > 0 {
			order = orders[0]
		}
		coupons = append(coupons, fact.Coupons()...)
	}
	return order, coupons[:min(len(coupons), maxSubjects)]
}

// guessed looks for the usual names in a body that is JSON and no message of ours.
func guessed(body []byte) (order string, coupons []string) {
	type subjects struct {
		OrderID  any `json:"orderId"`
		CouponID any `json:"couponId"`
		Code     any `json:"code"`
		Coupons  []struct {
			Code any `json:"code"`
		} `json:"coupons"`
	}
	var found struct {
		subjects
		Data subjects `json:"data"`
	}
	if len(body) > messages.MaxBody || json.Unmarshal(body, &found) != nil {
		return "", nil
	}
	text := func(values ...any) (result string) {
		for _, value := range values {
			if s, ok := value.(string); ok && len(s) <= messages.MaxID {
				result = cmp.Or(result, s)
			}
		}
		return result
	}
	add := func(code string) {
		if code = coupon.Fold(code); code != "" && len(coupons) < maxSubjects {
			coupons = append(coupons, code)
		}
	}
	add(text(found.CouponID, found.Code, found.Data.CouponID, found.Data.Code))
	for _, named := range append(found.Coupons, found.Data.Coupons...) {
		add(text(named.Code))
	}
	return text(found.OrderID, found.Data.OrderID), coupons
}

// fileAtOnce files a message whose story is too long for a header, past the queue of
// dead letters.
func (c *consumer) fileAtOnce(msg *message.Message, verdict Verdict) error {
	letter := deadletter.NewLetter(incoming(msg))
	k := clerk{desk: c.Desk, table: c.table, logger: c.Logger}
	letter.Describe(k.subjects(msg))
	letter.Queue, letter.Host, letter.Version = c.queue, c.Host, c.Version
	letter.Exchange, letter.RoutingKey = origin(msg)
	letter.Attempts = int64(attempt(msg))
	if first, err := time.Parse(time.RFC3339Nano, msg.Metadata.Get(HeaderFirst)); err == nil {
		letter.First = first
	}
	letter.Fail(verdict.Reason, verdict.Detail, c.Now().UTC().Truncate(time.Microsecond))
	return c.Desk.File(msg.Context(), letter)
}

// replayed records the outcome of a replay before its message is acknowledged.
func (c *consumer) replayed(msg *message.Message, outcomes []coupon.Outcome) error {
	item := deadletter.ParseItem(msg.Metadata.Get(HeaderReplay))
	if c.Desk == nil || item.Job == "" {
		return nil
	}
	outcome, code := deadletter.Answered(outcomes)
	settled := deadletter.Settled{Item: item, MessageID: msg.UUID, Outcome: outcome, Detail: string(code)}
	for i := range outcomes {
		if answer := outcomes[i].Answer; answer != nil {
			settled.Answered = answer.Done
		}
	}
	if err := c.Desk.Record(msg.Context(), settled); err != nil {
		return fmt.Errorf("settle replayed message: %w", err)
	}
	return nil
}
