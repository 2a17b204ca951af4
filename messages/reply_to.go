package messages

import "strings"

// maxReplyTo is the longest name of a queue, in bytes.
const maxReplyTo = 255

// directReplyTo is the pseudo-queue of a requester that declares no queue. The
// broker adds a dot and a reference to the requester before it delivers.
const directReplyTo = "amq.rabbitmq.reply-to"

// checkReplyTo refuses names that would make us write, with our permissions, into
// queues that a requester may not write to: our own, and the broker's. Of the
// broker's names it takes those of requesters: direct reply-to, and queues that
// the broker named for a client that declared them without a name. Which other
// names are taken is configured where commands are consumed.
func checkReplyTo(queue string) *Malformed {
	switch {
	case len(queue) > maxReplyTo || !validText(queue, maxReplyTo):
		return malformed(FieldInvalid, "the attribute reply-to is too long or holds control characters")
	case strings.HasPrefix(queue, "coupon-"), strings.HasPrefix(queue, "coupon.delay-"):
		return malformed(FieldInvalid, "the attribute reply-to names a queue of the product")
	case !strings.HasPrefix(queue, "amq."), queue == directReplyTo,
		strings.HasPrefix(queue, directReplyTo+"."), strings.HasPrefix(queue, "amq.gen-"):
		return nil
	default:
		return malformed(FieldInvalid, "the attribute reply-to names a queue of the broker")
	}
}
