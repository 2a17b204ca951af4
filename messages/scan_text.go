package messages

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

func (s *scanner) literal(word string) {
	if !bytes.HasPrefix(s.src[s.pos:], []byte(word)) {
		s.fail("expected a value")
		return
	}
	s.pos += len(word)
}

func (s *scanner) number() {
	if s.peek() == '-' {
		s.pos++
	}
	if s.peek() == '0' {
		s.pos++
	} else if s.digits() == 0 {
		s.fail("expected a value")
		return
	}
	if s.peek() == '.' {
		s.pos++
		if s.digits() == 0 {
			s.fail("expected a digit")
			return
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c = s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if s.digits() == 0 {
			s.fail("expected a digit")
		}
	}
}

func (s *scanner) digits() int {
	start := s.pos
	for s.pos < len(s.src) && s.src[s.pos]-'0' <= 9 {
		s.pos++
	}
	return s.pos - start
}

// text reads a string from its opening quote to behind its closing one, and
// reports whether it holds escapes.
func (s *scanner) text() (escaped bool) {
	for s.pos++; s.pos < len(s.src); s.pos++ {
		switch c := s.src[s.pos]; {
		case c == '"':
			s.pos++
			return escaped
		case c == 0:
			s.nul()
			return escaped
		case c < ' ':
			s.fail("a control character in a string")
			return escaped
		case c == '\\':
			escaped = true
			if s.escape(); s.fault != nil {
				return escaped
			}
		}
	}
	s.fail("a string without end")
	return escaped
}

func (s *scanner) nul() {
	s.fault = malformed(NULCharacter, "U+0000 in the string at byte "+strconv.Itoa(s.pos))
}

// escape checks the escape at the current position and stands on its last byte.
func (s *scanner) escape() {
	s.pos++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
	case 'u':
		r := hexRune(s.src[s.pos+1:])
		switch {
		case r < 0:
			s.fail("a broken escape")
		case r == 0:
			s.nul()
		case utf16.IsSurrogate(r):
			rest := s.src[s.pos+5:]
			if len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' ||
				utf16.DecodeRune(r, hexRune(rest[2:])) == utf8.RuneError {
				s.fail("half a surrogate pair")
				return
			}
			s.pos += 10
		default:
			s.pos += 4
		}
	default:
		s.fail("a broken escape")
	}
}

// hexRune reads four hexadecimal digits; it is negative when there are none.
func hexRune(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20-'a' <= 5:
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// unescape decodes the inside of a string that the scanner has accepted.
func unescape(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			continue
		}
		i++
		switch c := raw[i]; c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r := hexRune(raw[i+1:])
			i += 4
			if utf16.IsSurrogate(r) {
				r = utf16.DecodeRune(r, hexRune(raw[i+3:]))
				i += 6
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, c)
		}
	}
	return out
}
