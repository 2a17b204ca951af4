package messages

import "strings"

// Reason says why a message cannot be read. It is stored with the dead letter
// and is what operators group and filter by.
type Reason string

// The reasons, in the order in which they are looked for.
const (
	// BodyTooLarge: the body is longer than MaxBody.
	BodyTooLarge Reason = "BODY_TOO_LARGE"
	// EmptyBody: there is no body, or only white space.
	EmptyBody Reason = "EMPTY_BODY"
	// BadJSON: the body is not one JSON value, is not valid UTF-8, names a
	// member twice, or goes beyond the limits on depth and number of values.
	BadJSON Reason = "BAD_JSON"
	// NULCharacter: a string holds U+0000, which the database cannot store.
	NULCharacter Reason = "NUL_CHARACTER"
	// IDMissing: the message has no id.
	IDMissing Reason = "ID_MISSING"
	// IDInvalid: the id is too long or holds control characters.
	IDInvalid Reason = "ID_INVALID"
	// TypeUnknown: the type is missing or is none that this side consumes.
	TypeUnknown Reason = "TYPE_UNKNOWN"
	// SchemaUnknown: the type is known, this version of it is not. A newer
	// release may know it, so the message is worth another try later.
	SchemaUnknown Reason = "SCHEMA_UNKNOWN"
	// TimeMissing: neither the message nor its data says when it happened.
	TimeMissing Reason = "TIME_MISSING"
	// TimeInvalid: a time is not RFC 3339, has no zone, or is out of range.
	TimeInvalid Reason = "TIME_INVALID"
	// FieldMissing: a required field is absent or null.
	FieldMissing Reason = "FIELD_MISSING"
	// FieldInvalid: a field has the wrong type or is outside its limits.
	FieldInvalid Reason = "FIELD_INVALID"
)

// Malformed is the only error that reading a message returns. It never holds a
// value from the message: what is wrong with a token must not show the token.
type Malformed struct {
	Reason Reason
	// Path is where in the data it is wrong, such as "$.coupons[2].code". It is
	// empty when the fault is not in a field of the data.
	Path string
	// Detail says in words what was expected.
	Detail string
}

// Error gives reason, path and detail, such as
// "FIELD_INVALID $.payable.amount: must be at least 0".
func (m *Malformed) Error() string {
	var b strings.Builder
	b.WriteString(string(m.Reason))
	if m.Path != "" {
		b.WriteByte(' ')
		b.WriteString(m.Path)
	}
	if m.Detail != "" {
		b.WriteString(": ")
		b.WriteString(m.Detail)
	}
	return b.String()
}

func malformed(reason Reason, detail string) *Malformed {
	return &Malformed{Reason: reason, Detail: detail}
}
