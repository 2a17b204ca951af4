package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"couponlease/messages"
)

const token messages.Token = "s3cret-s3cret-s3cret-s3cret-s3cret"

// commands calls every method, with and without a key.
func commands(ctx context.Context, c *Client, key string) map[string]func() (messages.CommandReply, error) {
	type reply = messages.CommandReply
	head := messages.CommandHead{IdempotencyKey: key}
	return map[string]func() (reply, error){
		messages.TypeLockCoupon: func() (reply, error) { return c.Lock(ctx, lock(key)) },
		messages.TypeRenewLease: func() (reply, error) {
			return c.Renew(ctx, messages.RenewLease{CommandHead: head, Code: "C1", LeaseToken: token})
		},
		messages.TypeReleaseLease: func() (reply, error) {
			return c.Release(ctx, messages.ReleaseLease{CommandHead: head, Code: "C1", LeaseToken: token})
		},
		messages.TypeRedeemCoupon: func() (reply, error) {
			return c.Redeem(ctx, messages.RedeemCoupon{CommandHead: head, Code: "C1", OrderID: "o1", LeaseToken: token})
		},
		messages.TypeSwapCoupons: func() (reply, error) {
			return c.Swap(ctx, messages.SwapCoupons{CommandHead: head, OrderID: "o1", Drop: []string{"C1"}})
		},
		messages.TypeReturnCoupon: func() (reply, error) {
			return c.Return(ctx, messages.ReturnCoupon{
				CommandHead: head, Code: "C1", OrderID: "o1", RefundID: "r1", Reason: "faulty", Actor: "desk",
			})
		},
		messages.TypeVoidCoupon: func() (reply, error) {
			return c.Void(ctx, messages.VoidCoupon{CommandHead: head, Code: "C1", Reason: "leaked", Actor: "desk"})
		},
		messages.TypeReverseChange: func() (reply, error) {
			return c.Reverse(ctx, messages.ReverseChange{CommandHead: head, Code: "C1", OperationID: "op", Reason: "r", Actor: "desk"})
		},
		messages.TypeRedeemRequested: func() (reply, error) {
			return c.RequestRedemption(ctx, messages.RedeemRequested{RequestID: key, Code: "C1"})
		},
	}
}

func TestCommandsAreAnswered(t *testing.T) {
	s := newShop(t, nil)
	c := s.client(nil)
	for _, key := range []string{"key-1", ""} {
		for messageType, call := range commands(patient(t), c, key) {
			answered := background(call)
			d := s.take(commandQueue)
			e := received(t, d)
			sent := keyOf(t, e)
			if e.Type != messageType || d.RoutingKey != messageType || e.Source != "checkout" || d.DeliveryMode != amqp091.Persistent {
				t.Errorf("%s arrived as %+v", messageType, d)
			}
			if key != "" && sent != key || len(sent) == 0 || !strings.HasPrefix(e.ReplyTo, directReplyTo) {
				t.Errorf("%s came under the key %q, reply-to %q", messageType, sent, e.ReplyTo)
			}
			want := messages.CommandReply{Outcome: "OK", IdempotencyKey: sent, State: "LOCKED", LeaseToken: token}
			s.answer(d, want)
			got := <-answered
			s.must(got.err)
			want.Command, want.OccurredAt = messageType, got.reply.OccurredAt
			if diff := cmp.Diff(want, got.reply); diff != "" {
				t.Errorf("%s: reply (-want +got):\n%s", messageType, diff)
			}
		}
	}
}

// keyOf is what makes a command safe to repeat.
func keyOf(t testing.TB, e messages.Envelope) string {
	t.Helper()
	var data struct{ IdempotencyKey, RequestID string }
	if err := json.Unmarshal(e.Data, &data); err != nil {
		t.Fatal(err)
	}
	return data.IdempotencyKey + data.RequestID
}

func TestARefusalIsAnAnswer(t *testing.T) {
	s := newShop(t, nil)
	answered := s.locking(patient(t), s.client(nil), "key-1")
	s.answer(s.take(commandQueue), messages.CommandReply{Outcome: "ALREADY_LOCKED", PublicCode: "NOT_AVAILABLE"})
	got := <-answered
	s.must(got.err)
	var refused *messages.Refused
	if !errors.As(got.reply.Err(), &refused) || refused.PublicCode != "NOT_AVAILABLE" {
		t.Errorf("got %+v, want a refusal", got.reply)
	}
}

func TestLateAndRepeatedAnswersAreDropped(t *testing.T) {
	s := newShop(t, nil)
	c := s.client(nil)
	_, err := c.Lock(hasty(t), lock("key-1"))
	failure(t, err, context.DeadlineExceeded, true, "key-1")
	first := s.take(commandQueue)

	again := s.locking(patient(t), c, "key-1")
	second := s.take(commandQueue)
	if first.CorrelationId == second.CorrelationId {
		t.Error("two calls have the same correlation id")
	}
	s.answer(first, messages.CommandReply{Outcome: "OK", State: "late"})
	s.answer(second, messages.CommandReply{Outcome: "OK", State: "first"})
	s.answer(second, messages.CommandReply{Outcome: "OK", State: "repeated"})
	if got := <-again; got.err != nil || got.reply.State != "first" {
		t.Errorf("got %+v, want the first answer of the second call", got)
	}
	another := s.locking(patient(t), c, "key-2")
	third := s.take(commandQueue)
	s.answer(second, messages.CommandReply{Outcome: "OK", State: "repeated later"})
	s.answer(third, messages.CommandReply{Outcome: "OK", State: "its own"})
	if got := <-another; got.err != nil || got.reply.State != "its own" {
		t.Errorf("got %+v, want its own answer", got)
	}
	if len(c.waiting) > 0 {
		t.Errorf("%d calls still wait", len(c.waiting))
	}
}

// TestAnAnswerThatIsLostIsAskedForAgain: nobody answers the first, on a connection that
// lives.
func TestAnAnswerThatIsLostIsAskedForAgain(t *testing.T) {
	s := newShop(t, nil)
	c := s.client(func(o *Options) { o.AskAgain = 20 * time.Millisecond })
	answered := s.locking(patient(t), c, "key-1")
	first, second, third := s.take(commandQueue), s.take(commandQueue), s.take(commandQueue)
	for _, d := range []amqp091.Delivery{second, third} {
		// Where it came in, and when it was taken out, differ.
		same := func(d amqp091.Delivery) []any {
			return []any{
				d.MessageId, d.Type, d.RoutingKey, string(d.Body), d.ReplyTo, d.CorrelationId, d.Timestamp,
				keyOf(t, received(t, d)),
			}
		}
		if diff := cmp.Diff(same(first), same(d)); diff != "" {
			t.Errorf("sent again (-first +again):\n%s", diff)
		}
	}
	s.answer(second, messages.CommandReply{Outcome: "OK", State: "first"})
	s.answer(third, messages.CommandReply{Outcome: "OK", State: "repeated"})
	if got := <-answered; got.err != nil || got.reply.State != "first" {
		t.Errorf("got %+v, want the first answer", got)
	}
	if len(c.waiting) > 0 {
		t.Errorf("%d calls still wait", len(c.waiting))
	}
}

// TestAskingAgainGetsRarer: each wait is twice as long as the one before.
func TestAskingAgainGetsRarer(t *testing.T) {
	s := newShop(t, nil)
	c := s.client(func(o *Options) { o.AskAgain = soon / 16 })
	_, err := c.Lock(hasty(t), lock("key-1"))
	failure(t, err, context.DeadlineExceeded, true, "key-1")
	s.take(commandQueue)
	asked := 1
	for ok := true; ok; {
		_, ok, err = s.channel.Get(commandQueue, true)
		s.must(err)
		if ok {
			asked++
		}
	}
	// In 16 waits there is room for one, two, four and eight of them.
	if asked > 5 {
		t.Errorf("asked %d times", asked)
	}
}

func TestAskingAgainWithTheKeyOfTheError(t *testing.T) {
	s := newShop(t, nil)
	c := s.client(nil)
	_, err := c.Lock(hasty(t), lock(""))
	var failed *Error
	if !errors.As(err, &failed) || failed.Key == "" {
		t.Fatalf("got %v, want an *Error with a key", err)
	}
	again := s.locking(patient(t), c, failed.Key)
	first, second := s.take(commandQueue), s.take(commandQueue)
	if string(first.Body) != string(second.Body) || keyOf(t, received(t, second)) != failed.Key {
		t.Errorf("first %s, then %s: want the same content under the key %s", first.Body, second.Body, failed.Key)
	}
	s.answer(second, messages.CommandReply{Outcome: "OK"})
	s.must((<-again).err)
}

func TestCommandsThatBreakTheContractAreNotSent(t *testing.T) {
	s := newShop(t, nil)
	c := s.client(nil)
	endless := lock("key-1")
	endless.Lease = messages.OpenLease()
	_, err := c.Lock(patient(t), endless)
	var fault *messages.Malformed
	if !errors.As(err, &fault) || fault.Path != "$.leaseSeconds" {
		t.Fatalf("got %v, want a fault in leaseSeconds", err)
	}
	failure(t, err, fault, false, "key-1")
	_, err = c.Swap(patient(t), messages.SwapCoupons{OrderID: "o1"})
	if !errors.As(err, &fault) {
		t.Errorf("a swap of nothing: got %v, want a *messages.Malformed", err)
	}
	s.depth(commandQueue, 0)
}

func TestCallsInFlightAreBounded(t *testing.T) {
	s := newShop(t, nil)
	c := s.client(func(o *Options) { o.MaxInFlight = 2 })
	one, other := s.locking(patient(t), c, "key-1"), s.locking(patient(t), c, "key-2")
	first, second := s.take(commandQueue), s.take(commandQueue)
	_, err := c.Lock(hasty(t), lock("key-3"))
	failure(t, err, context.DeadlineExceeded, false, "key-3")
	s.depth(commandQueue, 0)
	s.answer(first, messages.CommandReply{Outcome: "OK"})
	s.answer(second, messages.CommandReply{Outcome: "OK"})
	s.must((<-one).err)
	s.must((<-other).err)
	third := s.locking(patient(t), c, "key-3")
	s.answer(s.take(commandQueue), messages.CommandReply{Outcome: "OK"})
	s.must((<-third).err)
}

func TestCommandsFailWhenNoQueueTakesThem(t *testing.T) {
	s := newShop(t, nil)
	s.must(s.channel.QueueUnbind(commandQueue, "#", messages.ExchangeCommands, nil))
	_, err := s.client(nil).Lock(patient(t), lock("key-1"))
	failure(t, err, ErrUnroutable, true, "key-1")
}

func TestAnswersThatCannotBeReadShowNoToken(t *testing.T) {
	s := newShop(t, nil)
	c := s.client(nil)
	for name, body := range map[string]string{
		"no JSON":      `{"leaseToken":"` + string(token) + `"`,
		"no outcome":   `{"leaseToken":"` + string(token) + `"}`,
		"other types":  `{"leaseToken":"` + string(token) + `","outcome":7}`,
		"token number": `{"leaseToken":12345678,"outcome":"OK"}`,
	} {
		answered := s.locking(patient(t), c, "key-1")
		s.raw(s.take(commandQueue), amqp091.Publishing{
			MessageId: "m1", Type: messages.TypeCommandReply, ContentType: "application/json", Body: []byte(body),
			Headers: amqp091.Table{"cloudEvents:time": "2026-03-01T12:00:00Z"},
		})
		got := <-answered
		var failed *Error
		if !errors.As(got.err, &failed) || !failed.Sent {
			t.Errorf("%s: got %v, want an *Error of a command that was sent", name, got.err)
		}
		if shown := fmt.Sprintf("%v %+v", got.err, failed); strings.Contains(shown, "s3cret") || strings.Contains(shown, "12345678") {
			t.Errorf("%s: the error shows the token: %s", name, shown)
		}
	}
	answered := s.locking(patient(t), c, "key-1")
	s.raw(s.take(commandQueue), amqp091.Publishing{
		MessageId: "m1", Type: messages.TypeCouponLocked, Body: []byte(`{}`),
		Headers: amqp091.Table{"cloudEvents:time": "2026-03-01T12:00:00Z"},
	})
	if got := <-answered; got.err == nil || !strings.Contains(got.err.Error(), messages.TypeCouponLocked) {
		t.Errorf("an event as the answer: got %v", got.err)
	}
}
