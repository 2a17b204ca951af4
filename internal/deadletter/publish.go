package deadletter

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"unicode/utf8"

	"couponlease/internal/coupon"
	"couponlease/internal/outbox"
)

// ToSend is a letter, without its error, that a job is going to send.
type ToSend struct {
	Letter Letter
	Item   Item
}

// Sendable says why the message of a letter cannot be sent as it is, nil if it can.
func (l *Letter) Sendable() error {
	switch {
	case l.MessageID == "":
		return errors.New("it has no id; edit it")
	case l.Queue == "":
		return errors.New("nobody knows which queue it comes from")
	case l.Reason == Misrouted:
		// Sent by us it would pass by the rights of whoever sent it first.
		return errors.New("it was published as something else than it says it is")
	case l.Redacted:
		return ErrRedacted
	case !l.Whole():
		return fmt.Errorf("only the first %d of its %d bytes were kept", len(l.Body), l.Size)
	case len(l.Body) == 0:
		return errors.New("it has no body; edit it")
	case !json.Valid(l.Body) || !utf8.Valid(l.Body):
		return errors.New("its body is not JSON; edit it")
	}
	return nil
}

// message gives the message of a letter as its sender sent it: the same id, body and
// properties. It goes to the queue whose handler had given it up, and to no other queue
// that its exchange feeds. Attempts are counted anew.
func (t *ToSend) message() (outbox.Message, error) {
	l := &t.Letter
	if err := l.Sendable(); err != nil {
		return outbox.Message{}, err
	}
	headers := maps.Clone(l.Headers)
	if headers == nil {
		headers = map[string]string{}
	}
	headers[HeaderReplay] = t.Item.String()
	if l.RoutingKey != "" {
		headers[HeaderRoutingKey] = l.RoutingKey
	}
	if l.Exchange != "" {
		headers[HeaderExchange] = l.Exchange
	}
	return outbox.Message{
		ID: l.MessageID, Type: l.Type, Time: l.Sent, Key: l.Queue, ContentType: l.ContentType,
		CorrelationID: l.CorrelationID, ReplyTo: l.ReplyTo, Headers: headers, Mandatory: true, Body: l.Body,
	}, nil
}

// AppliedBefore says whether a letter that cannot be sent as it is need not be sent, and
// what its message would be answered. Who published it as something else may have borrowed
// the id or the key.
func (l *Letter) AppliedBefore() (coupon.Code, bool) {
	if !l.Redacted || !l.Answered || l.Reason == Misrouted {
		return "", false
	}
	if _, command := l.Command(); command {
		return coupon.Duplicate, true
	}
	return coupon.DuplicateEvent, true
}

// unsent is the outcome of a letter that is not sent. One that lacks its lease token waits
// for its sender; every other one would fail like the first time, unless it was applied
// before.
func (t *ToSend) unsent(cause error) Settled {
	s := Settled{Item: t.Item, MessageID: t.Letter.MessageID}
	code, applied := t.Letter.AppliedBefore()
	switch {
	case applied:
		s.Outcome, s.Detail = Duplicate, string(code)
	case errors.Is(cause, ErrRedacted):
		s.Outcome, s.Detail = Skipped, cause.Error()
	default:
		s.Outcome, s.Detail = FailedAgain, "it cannot be sent as it is: "+cause.Error()
	}
	return s
}

// Publications gives the outbox rows that send letters, and an outcome for each letter
// that cannot be sent as it is. It is pure.
func Publications(list []ToSend, shards int) (rows []coupon.OutboxRow, unsent []Settled, err error) {
	byShard := make([][]outbox.Message, max(1, shards))
	for i := range list {
		m, err := list[i].message()
		if err == nil {
			_, err = outbox.EncodeRow([]outbox.Message{m})
		}
		if err != nil {
			unsent = append(unsent, list[i].unsent(err))
			continue
		}
		sum := fnv.New32a()
		sum.Write([]byte(cmp.Or(list[i].Letter.Order, list[i].Letter.MessageID)))
		shard := int(sum.Sum32() % uint32(len(byShard)))
		byShard[shard] = append(byShard[shard], m)
	}
	for shard, messages := range byShard {
		if len(messages) == 0 {
			continue
		}
		payload, err := outbox.EncodeRow(messages)
		if err != nil {
			return nil, nil, fmt.Errorf("encode replayed letters: %w", err)
		}
		rows = append(rows, coupon.OutboxRow{Shard: shard, Messages: len(messages), Payload: payload})
	}
	return rows, unsent, nil
}
