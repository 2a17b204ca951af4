package router

import (
	"testing"

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
		{"a retry", amqp.ExchangeDelivery, "0.0.1.coupon-order-placed", messages.TypeOrderPlaced, false},
		{"sent again by hand", "", amqp.QueueOrderPlaced, messages.TypeOrderPlaced, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			msg := message.NewMessage("m1", nil)
			msg.Metadata.Set(amqp.MetaExchange, test.exchange)
			msg.Metadata.Set(amqp.MetaRoutingKey, test.key)
			// What the sender can write decides nothing.
			msg.Metadata.Set(HeaderExchange, "elsewhere")
			msg.Metadata.Set(HeaderRoutingKey, test.messageType)
			if detail := misrouted(msg, test.messageType); (detail != "") != test.wrong {
				t.Errorf("got %q, want it to be wrong: %t", detail, test.wrong)
			}
		})
	}
}
