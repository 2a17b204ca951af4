package amqp

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// Limits of what one message may carry outside its body. All headers travel in
// one frame; a frame over the negotiated 128 KiB would end the connection.
const (
	maxHeaderName  = 255
	maxHeaderValue = 8 << 10
	maxHeaderTotal = 32 << 10
	maxShortString = 255
)

// headerPublishID numbers a mandatory publication within its channel, so that a
// returned message finds its publication even when message ids repeat.
const headerPublishID = "x-publish-id"

// headerText renders any header value as text: strings as they are, times in
// RFC 3339, bytes as text when they are text and in base64 otherwise, tables
// and arrays as JSON. It has an answer for every value.
func headerText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case int32:
		return strconv.FormatInt(int64(v), 10)
	case []byte:
		return bytesText(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339)
	case amqp091.Decimal:
		return decimalText(v)
	case amqp091.Table, []any:
		return jsonText(v)
	default:
		return fmt.Sprint(v)
	}
}

func bytesText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// decimalText renders value / 10^scale without going through floating point.
func decimalText(d amqp091.Decimal) string {
	digits := strconv.FormatInt(int64(d.Value), 10)
	if d.Scale == 0 {
		return digits
	}
	sign := ""
	if rest, negative := strings.CutPrefix(digits, "-"); negative {
		sign, digits = "-", rest
	}
	if missing := int(d.Scale) + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	point := len(digits) - int(d.Scale)
	return sign + digits[:point] + "." + digits[point:]
}

func jsonText(value any) string {
	text, err := json.Marshal(jsonValue(value))
	if err != nil {
		// Unreachable with the types AMQP knows; still an answer, not a failure.
		return fmt.Sprint(value)
	}
	return string(text)
}

// jsonValue replaces what JSON cannot hold: infinities, not-a-number, and types
// whose JSON form would not be their text.
func jsonValue(value any) any {
	switch v := value.(type) {
	case amqp091.Table:
		object := make(map[string]any, len(v))
		for key, field := range v {
			object[key] = jsonValue(field)
		}
		return object
	case []any:
		array := make([]any, len(v))
		for i, element := range v {
			array[i] = jsonValue(element)
		}
		return array
	case nil, bool, string, int64, int32, int16, int8, uint32, uint16, uint8:
		return v
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Sprint(v)
		}
		return v
	case float32:
		return jsonValue(float64(v))
	default:
		return headerText(v)
	}
}

// ownedByBroker tells whether a header must not travel on with a message that is
// published again. Brokers up to 3.12 believe a client's x-death and would take
// a message delayed twice for a dead-letter cycle; a copied delivery count makes
// a replayed message fail at once. CC and BCC would route it to where it has been
// already, and as the text that they are here the broker closes the channel.
func ownedByBroker(name string) bool {
	switch name {
	case "CC", "BCC", "x-death", "x-delivery-count", "x-acquired-count", headerPublishID, headerMessageUUID:
		return true
	}
	return strings.HasPrefix(name, "x-first-death-") ||
		strings.HasPrefix(name, "x-last-death-") ||
		strings.HasPrefix(name, metaPrefix)
}

// headerTable makes the headers of an outgoing message. Values over 8 KiB are
// cut, and when all together exceed 32 KiB the largest ones give way: they are
// cut to what is left. Names that AMQP cannot carry are left out.
func headerTable(headers map[string]string) amqp091.Table {
	table := make(amqp091.Table, len(headers)+2)
	total := 0
	for name, value := range headers {
		if name == "" || len(name) > maxHeaderName || ownedByBroker(name) {
			continue
		}
		value = cutText(value, maxHeaderValue)
		table[name] = value
		total += len(name) + len(value)
	}
	if total > maxHeaderTotal {
		shrinkHeaders(table)
	}
	return table
}

func shrinkHeaders(table amqp091.Table) {
	type header struct{ name, value string }
	bySize := make([]header, 0, len(table))
	for name, value := range table {
		bySize = append(bySize, header{name, value.(string)})
	}
	slices.SortFunc(bySize, func(a, b header) int {
		return cmp.Or(cmp.Compare(len(a.value), len(b.value)), strings.Compare(a.name, b.name))
	})
	left := maxHeaderTotal
	for _, h := range bySize {
		left -= len(h.name)
		if left <= 0 {
			delete(table, h.name)
			left = 0
			continue
		}
		value := cutText(h.value, left)
		table[h.name] = value
		left -= len(value)
	}
}

// cutText shortens text to at most limit bytes without splitting a character.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
