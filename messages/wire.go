package messages

import (
	"crypto/sha256"
	"encoding/base64"
	"mime"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits on the attributes of a message, in characters.
const (
	// MaxID is the longest id, and the longest text field of the data.
	MaxID = 200
	// maxAttribute bounds the attributes that are only passed on.
	maxAttribute = 1024
)

const (
	contentTypeJSON       = "application/json"
	contentTypeStructured = "application/cloudevents+json"
	specVersion           = "1.0"
)

// Delivery is a message as a transport hands it over: AMQP 0.9.1 properties
// with the headers already turned into text.
type Delivery struct {
	Body        []byte
	ContentType string
	MessageID   string
	Type        string
	// RoutingKey stands in for a missing type.
	RoutingKey string
	// Timestamp is the AMQP property (whole seconds); zero when absent.
	Timestamp     time.Time
	Headers       map[string]string
	CorrelationID string
	ReplyTo       string
}

// Envelope is a message whose attributes and JSON are sound. Its fields have
// not been looked at yet; that is what the Decode functions do.
type Envelope struct {
	// ID is the identity of the message, given by its sender.
	ID string
	// Type is the full type with its version, one of the Type constants.
	Type    string
	Version int
	// Source and Subject are CloudEvents attributes; empty when not sent.
	Source  string
	Subject string
	// Time is when it happened according to the attributes, or to the data's
	// occurredAt if no attribute says so. UTC, whole microseconds.
	Time time.Time
	// TraceParent is the W3C trace context; empty when absent or not well formed.
	TraceParent string
	// Data is the JSON object of the message. It shares memory with the body of
	// the delivery, so neither may be changed.
	Data          []byte
	CorrelationID string
	// ReplyTo is the queue where a command wants its answer; empty on everything
	// else. It is none of the broker's or the product's own queues; whether answers may be
	// sent there is for the consumer to say.
	ReplyTo string
	// Hash is the SHA-256 of type and data in canonical form: the same for the
	// same content, whatever the white space and the order of members.
	Hash [sha256.Size]byte

	document *document
	root     int32
}

// Parse reads the envelope of a message that is consumed here: a fact, a
// command or the timer. The error is always a *Malformed.
func Parse(d Delivery) (Envelope, error) { return parse(d, Kind.Incoming) }

// ParseOutgoing reads the envelope of an event, a reply or the timer, for those
// who listen to them. The error is always a *Malformed.
func ParseOutgoing(d Delivery) (Envelope, error) {
	return parse(d, func(k Kind) bool { return k == KindEvent || k == KindReply || k == KindTimer })
}

func parse(d Delivery, wanted func(Kind) bool) (Envelope, error) {
	if len(d.Body) > MaxBody {
		return Envelope{}, malformed(BodyTooLarge, "longer than 256 KiB")
	}
	doc, fault := parseDocument(d.Body)
	if fault != nil {
		return Envelope{}, fault
	}
	var a attributes
	if mediaType(d.ContentType) == contentTypeStructured {
		a, fault = structuredAttributes(doc)
	} else {
		a, fault = headerAttributes(d, doc)
	}
	if fault != nil {
		return Envelope{}, fault
	}
	e, fault := a.envelope(d, wanted)
	if fault != nil {
		return Envelope{}, fault
	}
	return e, nil
}

// attributes are what the three shapes have in common, before any check.
type attributes struct {
	id, typ, source, subject, time, traceParent string
	specVersion, dataContentType                string
	doc                                         *document
	data                                        int32
}

// structuredAttributes reads a CloudEvents JSON object: the attributes are
// members, and the data is the member data or, as text, data_base64.
func structuredAttributes(doc *document) (attributes, *Malformed) {
	if doc.nodes[0].kind != '{' {
		return attributes{}, malformed(FieldInvalid, "the CloudEvents envelope must be an object")
	}
	a := attributes{doc: doc, data: doc.member(0, "data")}
	encoded := ""
	for _, attribute := range [...]struct {
		name string
		to   *string
	}{
		{"id", &a.id}, {"type", &a.typ}, {"source", &a.source}, {"subject", &a.subject},
		{"time", &a.time}, {"traceparent", &a.traceParent}, {"specversion", &a.specVersion},
		{"datacontenttype", &a.dataContentType}, {"data_base64", &encoded},
	} {
		member := doc.member(0, attribute.name)
		if member == 0 || doc.nodes[member].kind == 'n' {
			continue
		}
		if doc.nodes[member].kind != '"' {
			return attributes{}, malformed(FieldInvalid, "the attribute "+attribute.name+" must be a string")
		}
		*attribute.to = doc.text(member)
	}
	switch {
	case a.data != 0 && encoded != "":
		return attributes{}, malformed(FieldInvalid, "data and data_base64 exclude each other")
	case a.data == 0 && encoded == "":
		return attributes{}, malformed(FieldMissing, "the CloudEvents envelope has no data")
	case a.data != 0:
		return a, nil
	}
	body, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return attributes{}, malformed(FieldInvalid, "data_base64 is not base64")
	}
	inner, fault := parseDocument(body)
	a.doc = inner
	return a, fault
}

// headerAttributes reads the two shapes whose body is the data itself. An
// attribute comes from its CloudEvents header or, failing that, from the AMQP
// property of the same meaning.
func headerAttributes(d Delivery, doc *document) (attributes, *Malformed) {
	a := attributes{doc: doc, specVersion: specVersion, dataContentType: d.ContentType}
	for _, header := range [...]struct {
		name, otherwise string
		to              *string
	}{
		{"id", d.MessageID, &a.id}, {"type", d.Type, &a.typ}, {"source", "", &a.source},
		{"subject", "", &a.subject}, {"time", "", &a.time},
		{"traceparent", d.Headers["traceparent"], &a.traceParent},
		{"specversion", specVersion, &a.specVersion},
		{"datacontenttype", d.ContentType, &a.dataContentType},
	} {
		if *header.to = cloudEventsHeader(d.Headers, header.name); *header.to == "" {
			*header.to = header.otherwise
		}
	}
	if a.typ == "" {
		a.typ = d.RoutingKey
	}
	return a, nil
}

func cloudEventsHeader(headers map[string]string, name string) string {
	if len(headers) == 0 {
		return ""
	}
	if value := headers["cloudEvents:"+name]; value != "" {
		return value
	}
	return headers["cloudEvents_"+name]
}

// envelope checks the attributes and builds the envelope.
func (a attributes) envelope(d Delivery, wanted func(Kind) bool) (Envelope, *Malformed) {
	if fault := a.check(d); fault != nil {
		return Envelope{}, fault
	}
	contract, version, fault := admit(a.typ, wanted)
	if fault != nil {
		return Envelope{}, fault
	}
	if a.doc.nodes[a.data].kind != '{' {
		return Envelope{}, &Malformed{Reason: FieldInvalid, Path: "$", Detail: "must be an object"}
	}
	at, fault := a.when(d.Timestamp)
	if fault != nil {
		return Envelope{}, fault
	}
	e := Envelope{
		ID: a.id, Type: contract.Type, Version: version, Source: a.source, Subject: a.subject, Time: at,
		Data: a.doc.raw(a.data), CorrelationID: d.CorrelationID,
		Hash: a.doc.hash(contract.Type, a.data), document: a.doc, root: a.data,
	}
	if contract.Kind == KindCommand && d.ReplyTo != "" {
		if fault := checkReplyTo(d.ReplyTo); fault != nil {
			return Envelope{}, fault
		}
		e.ReplyTo = d.ReplyTo
	}
	if validTraceParent(a.traceParent) {
		e.TraceParent = a.traceParent
	}
	return e, nil
}

func (a attributes) check(d Delivery) *Malformed {
	switch {
	case a.specVersion == "":
		return malformed(FieldMissing, "the CloudEvents envelope has no specversion")
	case a.specVersion != specVersion:
		return malformed(SchemaUnknown, "CloudEvents other than "+specVersion)
	case !jsonContent(a.dataContentType):
		return malformed(FieldInvalid, "the content type must be JSON")
	case a.id == "":
		return malformed(IDMissing, "no id attribute and no message-id")
	case !validText(a.id, MaxID):
		return malformed(IDInvalid, "1 to 200 characters, none of them a control character")
	}
	for _, passedOn := range [...]struct{ name, value string }{
		{"source", a.source}, {"subject", a.subject}, {"correlation-id", d.CorrelationID},
	} {
		if passedOn.value != "" && !validText(passedOn.value, maxAttribute) {
			return malformed(FieldInvalid, "the attribute "+passedOn.name+" is too long or holds control characters")
		}
	}
	return nil
}

// when is the time of the message: its attribute, else the AMQP property, else
// what the data says.
func (a attributes) when(timestamp time.Time) (time.Time, *Malformed) {
	if a.time != "" {
		at, ok := parseTime(a.time)
		if !ok {
			return time.Time{}, malformed(TimeInvalid, "the attribute time: "+timeExpected)
		}
		return at, nil
	}
	if !timestamp.IsZero() {
		at, ok := normalTime(timestamp)
		if !ok {
			return time.Time{}, malformed(TimeInvalid, "the property timestamp: the year must be 1970 to 9999")
		}
		return at, nil
	}
	r := reader{doc: a.doc, root: a.data}
	at := r.optionalTime(a.data, "occurredAt")
	switch {
	case r.fault != nil:
		return time.Time{}, r.fault
	case at.IsZero():
		return time.Time{}, malformed(TimeMissing, "no time attribute, no timestamp, no occurredAt")
	}
	return at, nil
}

const timeExpected = "RFC 3339 with a zone, in the years 1970 to 9999"

// parseTime reads an RFC 3339 time with its zone.
func parseTime(text string) (time.Time, bool) {
	var at time.Time
	// UnmarshalText is strict where time.Parse lets some lapses pass.
	if err := at.UnmarshalText([]byte(text)); err != nil {
		return time.Time{}, false
	}
	return normalTime(at)
}

// normalTime brings a time to what is kept: UTC, whole microseconds.
func normalTime(at time.Time) (time.Time, bool) {
	at = at.UTC().Truncate(time.Microsecond)
	return at, at.Year() >= 1970 && at.Year() <= 9999
}

func mediaType(contentType string) string {
	if contentType == contentTypeJSON || contentType == contentTypeStructured {
		return contentType
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return contentType
	}
	return media
}

// jsonContent accepts JSON, anything built on JSON, and what says nothing.
func jsonContent(contentType string) bool {
	switch media := mediaType(contentType); media {
	case "", contentTypeJSON, "text/json", "text/plain", "application/octet-stream":
		return true
	case contentTypeStructured, "application/cloudevents-batch+json":
		return false
	default:
		return strings.HasSuffix(media, "+json")
	}
}

// validText reports whether a text has 1 to limit characters, valid UTF-8, not
// only white space, and no control characters.
func validText(text string, limit int) bool {
	blank := true
	n := 0
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			if r, size = utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && size == 1 {
				return false
			}
		}
		if r < ' ' || r >= 0x7f && unicode.IsControl(r) {
			return false
		}
		blank = blank && unicode.IsSpace(r)
		i += size
		n++
	}
	return !blank && n <= limit
}

// validTraceParent checks the form of version 00 of the W3C trace context.
func validTraceParent(text string) bool {
	if len(text) != 55 || text[:3] != "00-" || text[35] != '-' || text[52] != '-' {
		return false
	}
	trace, span := text[3:35], text[36:52]
	return lowerHex(trace) && lowerHex(span) && lowerHex(text[53:]) &&
		strings.Trim(trace, "0") != "" && strings.Trim(span, "0") != ""
}

func lowerHex(text string) bool {
	for _, c := range []byte(text) {
		if c-'0' > 9 && c-'a' > 5 {
			return false
		}
	}
	return text != ""
}
