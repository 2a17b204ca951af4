package outbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"
)

// RowVersion is the newest version of the row format. A row is written in the
// oldest version that can say what is in it, and rows of all versions are read:
//
//   - 1 is all but seals.
//   - 2 has seals. A program that does not know them would publish the message
//     without its token; it parks the row instead.
const RowVersion = 2

// A row is the head, the messages with commas between them, and the tail.
const (
	rowHead = `{"v":%d,"messages":[`
	rowTail = `]}`
)

// messageOverhead is what a message with the usual headers takes besides its body, in
// bytes. A guess that is too low costs a copy of the row.
const messageOverhead = 640

// Limits of one row. A transaction that needs more has to be split.
const (
	MaxRowMessages = 8192
	MaxRowBytes    = 16 << 20
)

// ErrRowVersion says that a row was written by a newer program. Such a row is
// parked until a program that can read it takes over.
var ErrRowVersion = errors.New("unknown outbox row version")

// Message is one message to publish, with everything the broker needs to know.
type Message struct {
	ID            string            `json:"id"`
	Type          string            `json:"type,omitzero"`
	Time          time.Time         `json:"time,omitzero"`
	Exchange      string            `json:"exchange,omitzero"` // empty is the default exchange
	Key           string            `json:"key,omitzero"`
	ContentType   string            `json:"contentType,omitzero"`
	CorrelationID string            `json:"correlationId,omitzero"`
	ReplyTo       string            `json:"replyTo,omitzero"`
	Headers       map[string]string `json:"headers,omitempty"`
	// Mandatory asks the broker to return the message when no queue takes it.
	// Without it such a message is confirmed and gone.
	Mandatory bool `json:"mandatory,omitzero"`
	// NotBefore is the earliest time of delivery; zero is at once. The publisher
	// turns it into a delay when it publishes.
	NotBefore time.Time `json:"notBefore,omitzero"`
	// DelayQueue is the queue a delayed message ends in.
	DelayQueue string `json:"delayQueue,omitzero"`
	// Seal stands for the lease token that the publisher puts into the body; nil
	// when the body is complete.
	Seal *Seal `json:"seal,omitempty"`
	// Body is sent byte for byte, but for the token; nil is an empty body.
	Body json.RawMessage `json:"body,omitempty"`
}

// Seal says that the token of a lease belongs into the body of its message. It is
// put there when the message is published and is never stored.
type Seal struct {
	// Lease is the id of the lease.
	Lease string `json:"lease"`
	// Hash is the SHA-256 of the token in lower-case hex.
	Hash string `json:"hash"`
}

// Sum is the hash in bytes; false when it is not one.
func (s *Seal) Sum() (sum [sha256.Size]byte, ok bool) {
	hash, err := hex.DecodeString(s.Hash)
	if err != nil || len(hash) != len(sum) {
		return sum, false
	}
	return [sha256.Size]byte(hash), true
}

// EncodeRow renders the messages of one transaction, in order, as the payload of
// one row: JSON a person can read. It refuses an empty list, a message without an
// id, text that is not UTF-8, a body that is not JSON, a seal that is not whole or
// has no body to go into, and what is over the limits.
func EncodeRow(messages []Message) ([]byte, error) {
	if len(messages) == 0 || len(messages) > MaxRowMessages {
		return nil, fmt.Errorf("encode outbox row: %d messages, want 1 to %d", len(messages), MaxRowMessages)
	}
	size, version := 64, 1
	for i := range messages {
		size += messageOverhead + len(messages[i].Body)
		if messages[i].Seal != nil {
			version = 2
		}
	}
	out := fmt.Appendf(make([]byte, 0, size), rowHead, version)
	w := writer{out: out}
	for i := range messages {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.message(&messages[i])
		if w.err != nil {
			return nil, fmt.Errorf("encode outbox message %d (%q): %w", i, messages[i].ID, w.err)
		}
	}
	w.out = append(w.out, rowTail...)
	if len(w.out) > MaxRowBytes {
		return nil, fmt.Errorf("encode outbox row: %d bytes, want at most %d", len(w.out), MaxRowBytes)
	}
	return w.out, nil
}

// writer appends JSON, the same as encoding/json would, only several times faster:
// it runs inside the transaction that holds the coupon locks. It keeps the first
// error.
type writer struct {
	out  []byte
	keys []string
	err  error
}

func (w *writer) message(m *Message) {
	if m.ID == "" {
		w.fail(errors.New("no id"))
		return
	}
	w.out = append(w.out, '{')
	w.text("id", m.ID)
	w.text("type", m.Type)
	w.time("time", m.Time)
	w.text("exchange", m.Exchange)
	w.text("key", m.Key)
	w.text("contentType", m.ContentType)
	w.text("correlationId", m.CorrelationID)
	w.text("replyTo", m.ReplyTo)
	w.headers(m.Headers)
	if m.Mandatory {
		w.name("mandatory")
		w.out = append(w.out, "true"...)
	}
	w.time("notBefore", m.NotBefore)
	w.text("delayQueue", m.DelayQueue)
	w.seal(m)
	w.body(m.Body)
	w.out = append(w.out, '}')
}

func (w *writer) name(name string) {
	if w.out[len(w.out)-1] != '{' {
		w.out = append(w.out, ',')
	}
	w.quote(name)
	w.out = append(w.out, ':')
}

func (w *writer) text(name, value string) {
	if value == "" {
		return
	}
	w.name(name)
	w.quote(value)
}

func (w *writer) time(name string, value time.Time) {
	if value.IsZero() {
		return
	}
	w.name(name)
	w.out = append(w.out, '"')
	out, err := value.UTC().AppendText(w.out)
	if err != nil {
		w.fail(fmt.Errorf("%s: %w", name, err))
		return
	}
	w.out = append(out, '"')
}

func (w *writer) headers(headers map[string]string) {
	if len(headers) == 0 {
		return
	}
	w.name("headers")
	w.out = append(w.out, '{')
	w.keys = slices.AppendSeq(w.keys[:0], maps.Keys(headers))
	slices.Sort(w.keys)
	for _, key := range w.keys {
		w.name(key)
		w.quote(headers[key])
	}
	w.out = append(w.out, '}')
}

func (w *writer) seal(m *Message) {
	if m.Seal == nil {
		return
	}
	if _, ok := m.Seal.Sum(); !ok || m.Seal.Lease == "" || len(m.Body) == 0 {
		w.fail(errors.New("a seal needs a lease, the hash of its token, and a body"))
		return
	}
	w.name("seal")
	w.out = append(w.out, '{')
	w.text("lease", m.Seal.Lease)
	w.text("hash", m.Seal.Hash)
	w.out = append(w.out, '}')
}

func (w *writer) body(body json.RawMessage) {
	if len(body) == 0 {
		return
	}
	if !json.Valid(body) {
		w.fail(errors.New("body is not JSON"))
		return
	}
	w.name("body")
	w.out = append(w.out, body...)
}

func (w *writer) quote(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			w.quoteSlow(s)
			return
		}
	}
	w.out = append(w.out, '"')
	w.out = append(w.out, s...)
	w.out = append(w.out, '"')
}

func (w *writer) quoteSlow(s string) {
	if !utf8.ValidString(s) {
		// Escaping would silently replace what is not text.
		w.fail(fmt.Errorf("%q is not UTF-8", s))
		return
	}
	quoted, err := json.Marshal(s)
	if err != nil {
		w.fail(err)
		return
	}
	w.out = append(w.out, quoted...)
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}
