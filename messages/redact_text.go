package messages

import (
	"bytes"
	"unicode/utf8"
)

// RedactBody gives a copy of any body that may be kept, shown or exported: what
// RedactTokens makes of it or, when it is no JSON, the text without what follows
// a name that looks like a token's. That is the best that can be done for a text
// of unknown form; whoever sends a token under no name or under another one sends
// it into the dead letters.
func RedactBody(body []byte) []byte {
	if shown, ok := RedactTokens(body); ok {
		return shown
	}
	shown := make([]byte, 0, len(body))
	done := 0
	for at := 0; ; {
		next := bytes.IndexAny(body[at:], ":=")
		if next < 0 {
			return append(shown, body[done:]...)
		}
		at += next + 1
		if !endsInSecretName(body[done : at-1]) {
			continue
		}
		begin := len(body) - len(bytes.TrimLeft(body[at:], blanks+">"))
		end := begin + valueLength(body[begin:])
		if end > begin {
			shown = append(shown, body[done:begin]...)
			shown = appendString(shown, redacted)
			done, at = end, end
		}
	}
}

const blanks = " \t\r\n"

// longestName bounds how far back a name is looked for: every character of it may
// be written as an escape.
const longestName = 200

// endsInSecretName reports whether a text ends in a name that secretMember knows.
// The quotes around it may be escaped, once or several times, as in JSON inside a
// string, and so may its characters.
func endsInSecretName(text []byte) bool {
	text = bytes.TrimRight(text, blanks)
	if n := len(text); n > 0 && (text[n-1] == '"' || text[n-1] == '\'') {
		text = bytes.TrimRight(text[:n-1], `\`)
	}
	start := len(text)
	for start > 0 && len(text)-start < longestName && nameByte(text[start-1]) {
		start--
	}
	return secretMember(plainName(text[start:]))
}

func nameByte(c byte) bool {
	return c-'0' <= 9 || c|0x20-'a' <= 'z'-'a' || c == '_' || c == '-' || c == '\\' || c >= utf8.RuneSelf
}

// plainName decodes escapes, however many backslashes they have.
func plainName(written []byte) string {
	var name []byte
	for i := 0; i < len(written); i++ {
		escaped := written[i] == '\\'
		for i < len(written) && written[i] == '\\' {
			i++
		}
		if i == len(written) {
			break
		}
		if r := hexRune(written[i+1:]); escaped && written[i] == 'u' && r >= 0 {
			name = utf8.AppendRune(name, r)
			i += 4
		} else {
			name = append(name, written[i])
		}
	}
	return string(name)
}

// valueLength is how long the value is that a text begins with. A value that opens
// an object or array takes all that follows: without a parser its end is not known.
func valueLength(text []byte) int {
	opening := len(text) - len(bytes.TrimLeft(text, `\`))
	if opening == len(text) {
		return opening
	}
	rest := text[opening+1:]
	length := 0
	switch c := text[opening]; {
	case c == '{' || c == '[':
		return len(text)
	case c == '"' && opening == 0:
		length = quotedLength(rest)
	case c == '"' || c == '\'':
		length = bytes.IndexByte(rest, c) + 1
	default:
		if end := bytes.IndexAny(text, blanks+",;&}]"); end >= 0 {
			return end
		}
	}
	if length <= 0 {
		return len(text)
	}
	return opening + 1 + length
}

// quotedLength is how long a JSON string is, from after its opening quote to after
// its closing one; 0 when it does not end.
func quotedLength(text []byte) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}
