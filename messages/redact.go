package messages

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
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

// secretMember is generous about the spelling, as a sender who gets it wrong
// still sends a token.
func secretMember(name string) bool {
	name = strings.NewReplacer("_", "", "-", "").Replace(name)
	return strings.EqualFold(name, "leaseToken") || strings.EqualFold(name, "token") ||
		strings.EqualFold(name, "database64")
}

// RedactBody gives a copy of any body that may be kept, shown or exported: what
// RedactTokens makes of it or, when it is no JSON, the text without what follows
// a name that looks like a token's. That is the best that can be done for a text
// of unknown form; whoever sends a token under no name or under another one sends
// it into the dead letters.
func RedactBody(body []byte) []byte {
	if shown, ok := RedactTokens(body); ok {
		return shown
	}
	return secretText.ReplaceAll(body, []byte(`${1}"`+redacted+`"`))
}

// secretText finds, outside JSON, a name that secretMember knows and its value.
// Names and quotes may be escaped, once or several times, as in JSON inside a
// string. A value that opens an object or array hides all that follows: without
// a parser its end is not known.
var secretText = func() *regexp.Regexp {
	const (
		before = `(?:^|[^\pL\pN])`
		assign = `\\*["']?\s*[:=]\s*`
		value  = `\\+"[^"]*"?|"(?:[^"\\]|\\.)*"?|'[^']*'?|(?:\\?[\[{]).*|[^\s,;&}\]]+`
	)
	name := spelled("leasetoken") + "|" + spelled("token") + "|" + spelled("database64")
	return regexp.MustCompile(`(?s)(` + before + `(?:` + name + `)` + assign + `)(?:` + value + `)`)
}()

// spelled is a pattern for a name in any letter case, with underscores and
// hyphens anywhere, and with any character of it escaped.
func spelled(name string) string {
	var pattern strings.Builder
	for _, c := range name {
		fmt.Fprintf(&pattern, `(?i:%c|\\+u00(?:%02x|%02x))[_-]*`, c, c, unicode.ToUpper(c))
	}
	return pattern.String()
}
