package messages

import (
	"bytes"
	"strings"
)

// RedactTokens gives a copy of a body that may be shown, logged or exported:
// the values of members named leaseToken are replaced, and so is data that is
// hidden in base64. ok is false when the body is no JSON; then nothing can be
// said about what it holds, and it must not be shown: see RedactBody.
func RedactTokens(body []byte) (shown []byte, ok bool) {
	doc, fault := parseDocument(body)
	if fault != nil {
		return nil, false
	}
	shown = make([]byte, 0, len(body))
	done := int32(0)
	// Values are in the order of the text, an object before its members.
	for i := range doc.nodes {
		n := &doc.nodes[i]
		if n.start < done || n.kind == 'n' || !secretMember(string(n.key)) {
			continue
		}
		shown = append(shown, body[done:n.start]...)
		shown = appendString(shown, redacted)
		done = n.end
	}
	return append(shown, body[done:]...), true
}

// HoldsTokens reports whether a body has, or had before RedactBody blanked it, what
// RedactBody blanks. A body of which that is true says something else once it was kept.
func HoldsTokens(body []byte) bool {
	doc, fault := parseDocument(body)
	if fault != nil {
		return bytes.Contains(RedactBody(body), []byte(redacted))
	}
	for i := range doc.nodes {
		if n := &doc.nodes[i]; n.kind != 'n' && secretMember(string(n.key)) {
			return true
		}
	}
	return false
}

// secretMember is generous about the spelling, as a sender who gets it wrong
// still sends a token.
func secretMember(name string) bool {
	name = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' {
			return -1
		}
		return r
	}, name)
	return strings.EqualFold(name, "leaseToken") || strings.EqualFold(name, "token") ||
		strings.EqualFold(name, "database64")
}
