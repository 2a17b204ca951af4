// Package tracing follows messages through the product as OpenTelemetry spans, and is
// the only one that knows OpenTelemetry.
//
//	process <queue>    one message, from its delivery to its verdict; a child of the
//	                   sender's span, if the message names one
//	submit             its requests, from the engine's queue to the committed answer
//	batch              one attempt at one transaction; a child of the first message
//	                   that is followed, linked to all of them
//	send <exchange>    one event, answer or forwarded message, until it is confirmed;
//	                   a child of the message that caused it, and the span that the
//	                   outgoing traceparent names
//
// Whoever is not followed passes through: what goes out then names the context that came
// in. A nil *Tracer follows nobody and costs nothing.
//
// Attributes are names, sizes, codes and ids of messages. Bodies, lease tokens, buyers,
// the queues that answers go to and the texts of errors are in none.
package tracing
