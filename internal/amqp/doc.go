// Package amqp is the broker side of the product.
//
// It holds the whole broker layout as data ([DefaultLayout]), brings a broker
// into that shape or compares it ([Apply], [Verify]), translates messages
// without ever failing on odd content ([Marshaler]), keeps connections alive
// ([Conn]), takes messages in ([Subscriber]) and sends them out ([Publisher]).
//
// Subscriber and Publisher implement Watermill's interfaces. They differ from
// the ones of watermill-amqp in what a money-carrying queue needs: many
// messages in flight on one channel, acknowledgements that never cover a
// message still being worked on, a close that finishes work instead of giving
// it back, and a publish that is only a success when the broker has confirmed
// and routed it. The stock subscriber stays available as [StockSubscriber].
//
// Delivery is at least once in both directions. A lost connection means that
// messages in flight come again, so every receiver must recognise repeats.
package amqp
