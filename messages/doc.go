// Package messages holds the wire contracts of Couponlease: what it accepts
// from other services, and what it tells them.
//
// A message is one JSON object (the data) with a few attributes around it: an
// id, a type, a source and a time, as in CloudEvents 1.0. The id is the
// message's identity: the same id with the same data is the same message,
// however often it is delivered. The type ends in a version (order.placed.v1)
// and is also the routing key.
//
// There are five kinds, listed in [Contracts]:
//
//   - facts tell what happened to an order, a payment or a refund. A fact never
//     orders a coupon to change, and says itself when it happened (occurredAt).
//   - commands ask for one change, carry an idempotency key, and may be answered.
//   - the timer is the product's own delayed message: these leases are due.
//   - events tell what happened to a coupon. StateVersion orders the events of
//     one coupon; CausationID names the message that caused the change.
//   - replies answer commands.
//
// [Parse] accepts what a transport hands over in three shapes (structured
// CloudEvents JSON, CloudEvents headers, plain JSON with AMQP properties) and
// checks everything that can be checked without knowing the type's fields.
// The Decode functions check the fields and return typed data. [Encode] is the
// way back. Whatever cannot be read is a [*Malformed] with a [Reason]; it stays
// so however often it is tried, and its text never repeats what was sent.
//
// Unknown fields are ignored, unknown versions are refused. An optional field
// may be absent or null. Money is an integer in minor units with its currency.
// Times are RFC 3339 with a zone and are kept to the microsecond, which is what
// the database keeps.
//
// The JSON Schemas in schema/, the samples in testdata/ and asyncapi.yaml are
// generated from this package by internal/contracts.
package messages
