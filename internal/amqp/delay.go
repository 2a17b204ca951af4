package amqp

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Delay levels: level n holds a message for 2^n seconds, and a delay is the sum
// of the levels named by its set bits. All messages of one level queue have the
// same time to live, so none ever waits behind a longer one.
const (
	delayLevels      = 17
	delayLevelPrefix = "coupon.delay-level-"
	// MaxDelay is the longest delay the broker holds in one go. A longer one is
	// sent for MaxDelay, and the receiver sends the message on for the rest.
	MaxDelay = 36 * time.Hour
	// HeaderDueAt carries the time a delayed message is meant for, RFC 3339. It
	// tells a receiver whether time remains, and a tool how to rebuild delays.
	HeaderDueAt = "x-due-at"
)

// ErrBadDestination says that a delayed message cannot be addressed to that queue.
var ErrBadDestination = errors.New("delay destination must be a queue name without dots, 1 to 200 bytes")

// maxDestination leaves room for the bits within the 255 bytes of a routing key.
const maxDestination = 200

// DelayRoute says where to publish a message so that it arrives in the queue
// destination after delay. The delay is rounded up to whole seconds and cut at
// MaxDelay; zero and less go straight to the destination.
//
// The routing key holds the delay in bits, highest first, then the destination.
// Publishing enters at the level of the highest set bit.
func DelayRoute(delay time.Duration, destination string) (exchange, routingKey string, err error) {
	if destination == "" || len(destination) > maxDestination || strings.ContainsAny(destination, ".*#") {
		return "", "", fmt.Errorf("delay to %q: %w", destination, ErrBadDestination)
	}
	seconds := delaySeconds(delay)
	if seconds == 0 {
		return ExchangeDelivery, destination, nil
	}
	var key strings.Builder
	entry := -1
	for level := delayLevels - 1; level >= 0; level-- {
		bit := byte('0')
		if seconds&(1<<level) != 0 {
			bit = '1'
			entry = max(entry, level)
		}
		key.WriteByte(bit)
		key.WriteByte('.')
	}
	key.WriteString(destination)
	return delayLevelName(entry), key.String(), nil
}

// delaySeconds is the delay in whole seconds: never early, never over the cap.
func delaySeconds(delay time.Duration) int64 {
	if delay <= 0 {
		return 0
	}
	delay = min(delay, MaxDelay)
	return int64((delay + time.Second - 1) / time.Second)
}

func delayLevelName(level int) string {
	return fmt.Sprintf("%s%02d", delayLevelPrefix, level)
}

// withDelayLevels adds the level exchanges and queues. A level's exchange sends
// a message with its bit set to the level's queue, where it waits, and others
// to the next lower level; expired messages go to the next lower level too. The
// routing key stays as it is on the whole way.
func withDelayLevels(layout Layout) Layout {
	for level := delayLevels - 1; level >= 0; level-- {
		name := delayLevelName(level)
		next := ExchangeDelivery
		if level > 0 {
			next = delayLevelName(level - 1)
		}
		prefix := strings.Repeat("*.", delayLevels-1-level)
		layout.Exchanges = append(layout.Exchanges, Exchange{Name: name, Kind: "topic"})
		layout.Queues = append(layout.Queues, Queue{Name: name, Args: map[string]any{
			"x-queue-type":           "quorum",
			"x-message-ttl":          int64(1000) << level,
			"x-dead-letter-exchange": next,
			"x-dead-letter-strategy": "at-least-once",
			"x-overflow":             "reject-publish",
		}})
		layout.Bindings = append(layout.Bindings,
			Binding{Source: name, Key: prefix + "1.#", Destination: name},
			Binding{Source: name, Key: prefix + "0.#", Destination: next, ToExchange: true},
		)
	}
	return layout
}
