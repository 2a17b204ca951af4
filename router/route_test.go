package router

import (
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"couponlease/internal/amqp"
	"couponlease/messages"
)

func TestMisroutedMessages(t *testing.T) {
	tests := []struct {
		name, exchange, key, messageType string
		wrong                            bool
	}{
		{"a fact", amqp.ExchangeCommerce, "order.placed.v1", messages.TypeOrderPlaced, false},
		{"a command", amqp.ExchangeCommands, "coupon.lock.v1", messages.TypeLockCoupon, false},
		{"without a version", amqp.ExchangeCommerce, "order.placed", messages.TypeOrderPlaced, false},
		{"saying more", amqp.ExchangeCommerce, "order.placed.v1.eu.berlin", messages.TypeOrderPlaced, false},
		{"a payment as an order", amqp.ExchangeCommerce, "order.placed.v1", messages.TypePaymentSucceeded, true},
		{"a closed order as a placed one", amqp.ExchangeCommerce, "order.placed.v1", messages.TypeOrderClosed, true},
		{"a void as a redemption", amqp.ExchangeCommands, "coupon.redeem.v1", messages.TypeVoidCoupon, true},
		{"a redemption as a request for one", amqp.ExchangeCommands, "coupon.redeem_requested.v1", messages.TypeRedeemCoupon, true},
		{"a longer word", amqp.ExchangeCommerce, "order.placedish.v1", messages.TypeOrderPlaced, true},
		{"one word", amqp.ExchangeCommerce, "order", messages.TypeOrderPlaced, true},
		{"no key", amqp.ExchangeCommerce, "", messages.TypeOrderPlaced, true},
		{"a timer", amqp.ExchangeDelivery, "0.0.1.coupon-lease-expired", messages.TypeLeaseExpired, false},
		{"sent again by hand", "", amqp.QueueOrderPlaced, messages.TypeOrderPlaced, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			msg := message.NewMessage("m1", nil)
			msg.Metadata.Set(amqp.MetaExchange, test.exchange)
			msg.Metadata.Set(amqp.MetaRoutingKey, test.key)
			if isPublic(test.exchange) {
				// What the sender can write decides nothing.
				msg.Metadata.Set(HeaderExchange, "elsewhere")
				msg.Metadata.Set(HeaderRoutingKey, test.messageType)
			}
			if detail := misrouted(msg, test.messageType); (detail != "") != test.wrong {
				t.Errorf("got %q, want it to be wrong: %t", detail, test.wrong)
			}
		})
	}
}

// A message that was tried before is judged by where it came from at first, and
// nobody can choose that for us.
func TestMisroutedMessagesStayMisrouted(t *testing.T) {
	first := message.NewMessage("m1", nil)
	first.Metadata.Set(amqp.MetaExchange, amqp.ExchangeCommerce)
	first.Metadata.Set(amqp.MetaRoutingKey, "order.placed.v1")
	first.Metadata.Set(HeaderExchange, "elsewhere")
	first.Metadata.Set(HeaderRoutingKey, messages.TypePaymentSucceeded)
	c := consumer{Config: Config{Now: time.Now}, queue: amqp.QueueOrderPlaced}
	for _, exchange := range []string{amqp.ExchangeDelivery, ""} {
		again := message.NewMessage("m1", nil)
		for name, value := range c.failed(first, Verdict{Reason: string(messages.SchemaUnknown)}).Headers {
			again.Metadata.Set(name, value)
		}
		again.Metadata.Set(amqp.MetaExchange, exchange)
		again.Metadata.Set(amqp.MetaRoutingKey, amqp.QueueOrderPlaced)
		if misrouted(again, messages.TypePaymentSucceeded) == "" {
			t.Errorf("from exchange %q: a forged payment is believed when it comes again", exchange)
		}
		if detail := misrouted(again, messages.TypeOrderPlaced); detail != "" {
			t.Errorf("from exchange %q: an order is not believed when it comes again: %s", exchange, detail)
		}
	}
}

// A command decides where its answer is written to, and that with our rights: only where
// we were told to write, and to whom the broker knows as a requester.
func TestAnswersGoOnlyWhereTheyMay(t *testing.T) {
	const command = `{"idempotencyKey":"k1","code":"C1","orderId":"O1"}`
	named := []string{"reply.", "answers-"}
	tests := []struct {
		queue  string
		queues []string
		taken  bool
	}{
		{"", nil, true}, {"amq.rabbitmq.reply-to.g1h2AA5y", nil, true}, {"amq.gen-JzTY20BRgKO", nil, true},
		{"reply.checkout", nil, false}, {"invoices", nil, false},
		{"", named, true}, {"amq.rabbitmq.reply-to", named, true}, {"reply.checkout", named, true}, {"answers-1", named, true},
		{"invoices", named, false}, {"my.reply.checkout", named, false}, {"reply", named, false}, {"Reply.checkout", named, false},
		{"coupon-claims", []string{"c"}, false}, {"amq.rabbitmq.trace", []string{"a"}, false},
	}
	for _, test := range tests {
		w := newTill(t, nil)
		w.consumer.ReplyQueues = test.queues
		msg := message.NewMessage("m1", []byte(command))
		for name, value := range map[string]string{
			amqp.MetaType: messages.TypeLockCoupon, amqp.MetaTimestamp: "2026-05-04T12:00:00Z", amqp.MetaReplyTo: test.queue,
		} {
			msg.Metadata.Set(name, value)
		}
		settled, _ := w.consumer.settle(msg, time.Now())
		want := Verdict{Action: Bury, Reason: string(messages.FieldInvalid)}
		if test.taken {
			want = Verdict{Action: Ack, Reason: "OK"}
		}
		if got := settled.Verdict; got.Action != want.Action || got.Reason != want.Reason {
			t.Errorf("%q with %q: %+v, want %+v", test.queue, test.queues, got, want)
		}
		if answered := len(w.queued) > 0; answered != (test.taken && test.queue != "") {
			t.Errorf("%q with %q: answered: %t", test.queue, test.queues, answered)
		}
	}
}
