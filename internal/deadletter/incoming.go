package deadletter

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"couponlease/messages"
)

// Limits of what is kept of a letter besides its body, in bytes.
const (
	maxIdentity = 512
	maxError    = 4 << 20
)

// Incoming is a message as the broker gave it out from the dead letters.
type Incoming struct {
	MessageID, Type            string
	ContentType, CorrelationID string
	ReplyTo                    string
	Timestamp                  time.Time
	Headers                    map[string]string
	// Deliveries is how often the broker gave the message out before, as far as it
	// tells.
	Deliveries int64
	Body       []byte
}

// death is the newest entry of x-death, in which the broker says why it gave a message
// up. It names the cause of a letter; nothing is counted by it and nothing decided.
type death struct {
	Reason string   `json:"reason"`
	Queue  string   `json:"queue"`
	From   string   `json:"exchange"`
	Keys   []string `json:"routing-keys"`
	Time   string   `json:"time"`
}

// Read gives the letter of a message from the dead letters. It has an answer for every
// message. Order, coupons and the reason of a failure that is told otherwise are the
// caller's to add.
//
// Two kinds come in. Ours have the story in headers. The broker's own have x-death, and
// perhaps headers of ours from an earlier failure: we never send x-death ourselves.
func Read(in Incoming) Letter {
	h := in.Headers
	l := NewLetter(in)
	l.Reason, l.Error = clean(h[HeaderReason]), clean(h[HeaderError])
	l.Queue, l.Host, l.Version = clean(h[HeaderQueue]), clean(h[HeaderHost]), clean(h[HeaderVersion])
	l.Attempts, _ = strconv.ParseInt(h[HeaderAttempt], 10, 64)
	l.Last = instant(h[HeaderLast])
	l.First = instant(h[HeaderFirst])
	l.Exchange, l.RoutingKey = clean(h[HeaderExchange]), clean(h[HeaderRoutingKey])
	if d, ok := newestDeath(h); ok {
		l.gaveUp(d, in)
	}
	l.complete()
	return l
}

// NewLetter gives what every letter has from its message, without a failure.
func NewLetter(in Incoming) Letter {
	body := messages.RedactBody(in.Body)
	l := Letter{
		MessageID: clean(cutTo(in.MessageID, maxIdentity)), Type: clean(cutTo(in.Type, maxIdentity)), Status: New,
		ContentType: clean(in.ContentType), CorrelationID: clean(in.CorrelationID), ReplyTo: clean(in.ReplyTo),
		Sent: in.Timestamp, Headers: kept(in.Headers), Size: int64(len(body)), Body: body,
		Redacted: messages.HoldsTokens(in.Body),
		Replay:   ParseItem(in.Headers[HeaderReplay]),
	}
	l.Hash = sha256.Sum256(body)
	if len(body) > MaxBody {
		l.Body = body[:MaxBody:MaxBody]
	}
	return l
}

// Fail adds a failure that is told by the process in which it happened, whose text may
// be as long as it is.
func (l *Letter) Fail(reason, text string, at time.Time) {
	l.Reason, l.Error, l.Last = clean(reason), clean(text), at
	l.complete()
}

// Describe adds what the message is and what it is about, each "" or nil when it cannot
// be read.
func (l *Letter) Describe(messageType, order string, coupons []string) {
	l.Type, l.Order = cmp.Or(messageType, l.Type), clean(cutTo(order, maxIdentity))
	for _, id := range coupons {
		l.Coupons = append(l.Coupons, clean(cutTo(id, maxIdentity)))
	}
	l.complete()
}

// complete fills in what can be said without being told.
func (l *Letter) complete() {
	l.Reason = cmp.Or(l.Reason, Unknown)
	l.Error = cutTo(l.Error, maxError)
	l.Type = cmp.Or(l.Type, cutTo(l.RoutingKey, maxIdentity))
	if l.First.IsZero() || !l.Last.IsZero() && l.First.After(l.Last) {
		l.First = l.Last
	}
	l.Fingerprint = Fingerprint(l.Type, l.Reason, l.Error)
}

func newestDeath(headers map[string]string) (death, bool) {
	var deaths []death
	if err := json.Unmarshal([]byte(headers["x-death"]), &deaths); err != nil || len(deaths) == 0 {
		return death{}, false
	}
	return deaths[0], true
}

// gaveUp notes that the broker itself gave the message up.
func (l *Letter) gaveUp(d death, in Incoming) {
	before := l.Error
	l.Host, l.Version = "", ""
	if d.Queue != "" {
		l.Queue = clean(d.Queue)
	}
	l.Exchange = cmp.Or(l.Exchange, clean(d.From))
	if l.RoutingKey == "" && len(d.Keys) > 0 {
		l.RoutingKey = clean(d.Keys[0])
	}
	l.Last = instant(d.Time)
	l.Reason, l.Error = d.meaning()
	l.Attempts = in.Deliveries
	if before != "" {
		l.Error += "; the last error before that: " + before
	}
}

func (d death) meaning() (reason, text string) {
	switch d.Reason {
	case "delivery_limit":
		return CrashLoop, "the broker reached its delivery limit and nobody had answered: " +
			"handling the message ends the process, or the message cannot be forwarded"
	case "expired":
		return TTL, "the message was not taken from its queue in time"
	case "maxlen":
		return MaxLen, "the queue of the message was full"
	case "rejected":
		return Rejected, "the message could not be read as a message at all"
	default:
		return Unknown, fmt.Sprintf("the broker gave the message up, and calls that %q", d.Reason)
	}
}

func instant(text string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return at.UTC().Truncate(time.Microsecond)
}

// cutTo shortens text to at most limit bytes of whole characters.
func cutTo(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "")
}
