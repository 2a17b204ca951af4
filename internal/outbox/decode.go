package outbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

type row struct {
	Version  int       `json:"v"`
	Messages []Message `json:"messages"`
}

// DecodeRow reads what this or an older EncodeRow wrote, also when something in
// between has rearranged the JSON. Unknown fields are tolerated, unknown versions
// are ErrRowVersion.
func DecodeRow(payload []byte) ([]Message, error) {
	if len(payload) > MaxRowBytes {
		return nil, fmt.Errorf("decode outbox row: %d bytes, want at most %d", len(payload), MaxRowBytes)
	}
	if messages, ok := readRow(payload); ok {
		return messages, nil
	}
	var decoded row
	if err := json.Unmarshal(payload, &decoded); err != nil {
		return nil, fmt.Errorf("decode outbox row: %w", err)
	}
	if decoded.Version < 1 || decoded.Version > RowVersion {
		return nil, fmt.Errorf("decode outbox row: %w %d", ErrRowVersion, decoded.Version)
	}
	return decoded.Messages, nil
}

// readRow reads a row that is just as EncodeRow writes it, several times faster
// than encoding/json. It returns false for everything else, right or wrong. Bodies
// were checked when they were written and are not looked into again.
func readRow(payload []byte) ([]Message, bool) {
	if !utf8.Valid(payload) {
		return nil, false
	}
	r := reader{payload: payload, text: string(payload)}
	if !r.take(fmt.Sprintf(rowHead, 1)) && !r.take(fmt.Sprintf(rowHead, RowVersion)) {
		return nil, false
	}
	messages := make([]Message, 0, min(MaxRowMessages, bytes.Count(payload, []byte(`{"id":`))))
	for {
		var m Message
		if !r.message(&m) {
			return nil, false
		}
		messages = append(messages, m)
		if !r.take(`,`) {
			return messages, r.take(rowTail) && r.at == len(payload)
		}
	}
}

// reader walks over JSON without spaces. What it returns shares the memory of the
// row.
type reader struct {
	payload []byte
	text    string // the same as payload
	at      int
}

func (r *reader) take(token string) bool {
	if !strings.HasPrefix(r.text[r.at:], token) {
		return false
	}
	r.at += len(token)
	return true
}

func (r *reader) message(m *Message) bool {
	if !r.take(`{`) {
		return false
	}
	for r.field(m) {
		if !r.take(`,`) {
			return r.take(`}`)
		}
	}
	return false
}

func (r *reader) field(m *Message) bool {
	name, ok := r.string()
	if !ok || !r.take(`:`) {
		return false
	}
	switch name {
	case "id":
		m.ID, ok = r.string()
	case "type":
		m.Type, ok = r.string()
	case "time":
		m.Time, ok = r.time()
	case "exchange":
		m.Exchange, ok = r.string()
	case "key":
		m.Key, ok = r.string()
	case "contentType":
		m.ContentType, ok = r.string()
	case "correlationId":
		m.CorrelationID, ok = r.string()
	case "replyTo":
		m.ReplyTo, ok = r.string()
	case "headers":
		m.Headers, ok = r.headers()
	case "mandatory":
		ok = r.take(`true`)
		m.Mandatory = ok
	case "notBefore":
		m.NotBefore, ok = r.time()
	case "delayQueue":
		m.DelayQueue, ok = r.string()
	case "seal":
		m.Seal, ok = r.seal()
	case "body":
		m.Body, ok = r.value()
	default:
		return false
	}
	return ok
}

// string reads a string without escapes.
func (r *reader) string() (string, bool) {
	if !r.take(`"`) {
		return "", false
	}
	for i := r.at; i < len(r.text); i++ {
		switch c := r.text[i]; {
		case c == '"':
			s := r.text[r.at:i]
			r.at = i + 1
			return s, true
		case c < ' ' || c == '\\':
			return "", false
		}
	}
	return "", false
}

func (r *reader) time() (t time.Time, ok bool) {
	start := r.at + 1
	s, ok := r.string()
	if !ok {
		return t, false
	}
	err := t.UnmarshalText(r.payload[start : start+len(s)])
	return t, err == nil
}

func (r *reader) headers() (map[string]string, bool) {
	headers := map[string]string{}
	if !r.take(`{`) {
		return nil, false
	}
	for {
		key, ok := r.string()
		if !ok || !r.take(`:`) {
			return nil, false
		}
		if headers[key], ok = r.string(); !ok {
			return nil, false
		}
		if !r.take(`,`) {
			return headers, r.take(`}`)
		}
	}
}

// seal reads a seal as it is written, both fields in order.
func (r *reader) seal() (*Seal, bool) {
	s := &Seal{}
	var ok [2]bool
	if !r.take(`{"lease":`) {
		return nil, false
	}
	s.Lease, ok[0] = r.string()
	if !r.take(`,"hash":`) {
		return nil, false
	}
	s.Hash, ok[1] = r.string()
	return s, ok[0] && ok[1] && r.take(`}`)
}

// value finds the end of an object or an array.
func (r *reader) value() (json.RawMessage, bool) {
	depth := 0
	for i := r.at; i < len(r.payload); i++ {
		switch r.payload[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			i = r.stringEnd(i)
		}
		if depth <= 0 {
			if i == r.at || i >= len(r.payload) || depth < 0 {
				return nil, false
			}
			value := r.payload[r.at : i+1 : i+1]
			r.at = i + 1
			return value, true
		}
	}
	return nil, false
}

// stringEnd returns where the string that begins at start has its closing quote,
// or a place beyond the payload.
func (r *reader) stringEnd(start int) int {
	for i := start + 1; ; {
		next := bytes.IndexByte(r.payload[i:], '"')
		if next < 0 {
			return len(r.payload)
		}
		if escape := bytes.IndexByte(r.payload[i:i+next], '\\'); escape >= 0 {
			i = min(i+escape+2, len(r.payload))
			continue
		}
		return i + next
	}
}
