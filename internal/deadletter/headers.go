package deadletter

import "strings"

// Headers of our own on messages that are retried, buried or replayed.
const (
	HeaderAttempt    = "couponlease-attempt"
	HeaderReason     = "couponlease-reason"
	HeaderError      = "couponlease-error"
	HeaderQueue      = "couponlease-queue"
	HeaderExchange   = "couponlease-exchange"
	HeaderRoutingKey = "couponlease-routing-key"
	HeaderHost       = "couponlease-host"
	HeaderVersion    = "couponlease-version"
	HeaderFirst      = "couponlease-first-failed-at"
	HeaderLast       = "couponlease-last-failed-at"
	// HeaderReplay names job and position of a message that is being replayed.
	HeaderReplay = "couponlease-replay"

	// HeaderPrefix begins the names of them all.
	HeaderPrefix = "couponlease-"
)

// sendersOwn says whether a header came from the sender and goes along with a replay.
// Those of the broker and our own speak of an earlier delivery: a copied x-death makes
// brokers up to 3.12 take a replayed message for a cycle.
func sendersOwn(name string) bool {
	return !strings.HasPrefix(name, HeaderPrefix) && !strings.HasPrefix(name, "amqp.") &&
		!strings.HasPrefix(name, "x-death") && !strings.HasPrefix(name, "x-first-death-") &&
		!strings.HasPrefix(name, "x-last-death-") && !strings.HasPrefix(name, "x-delivery-") &&
		!strings.HasPrefix(name, "x-acquired-") && name != "x-due-at"
}

// isSecret says whether the value of a header must not be kept.
func isSecret(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"token", "secret", "password", "authorization", "cookie"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

const redacted = "[redacted]"

// kept gives the sender's headers as they are stored.
func kept(headers map[string]string) map[string]string {
	own := make(map[string]string, len(headers))
	for name, value := range headers {
		switch {
		case !sendersOwn(name):
		case isSecret(name):
			own[clean(name)] = redacted
		default:
			own[clean(name)] = clean(value)
		}
	}
	return own
}

// clean gives text that the database can store.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
