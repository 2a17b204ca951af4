package amqp

import (
	"errors"
	"slices"
	"strings"
)

// ErrReplyQueue says that a message wants its answer in a queue that is not for answers.
var ErrReplyQueue = errors.New("the attribute reply-to names a queue that answers may not be sent to")

// CheckReplyQueue refuses queues that answers may not be sent to; "" is no answer. Whoever
// gives a command chooses a queue that we write to with our own rights: prefixes are what
// the names of those begin with that are meant for it. Names of the broker that came this
// far are those of requesters, and need no permission.
func CheckReplyQueue(queue string, prefixes []string) error {
	if queue == "" || strings.HasPrefix(queue, "amq.") ||
		slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(queue, prefix) }) {
		return nil
	}
	return ErrReplyQueue
}
