package messages

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Limits on what is read. They bound the work and memory of one message.
const (
	// MaxBody is the longest accepted body, in bytes.
	MaxBody = 256 << 10
	// MaxDepth is how deep objects and arrays may be nested.
	MaxDepth = 32
	// MaxValues is how many JSON values one body may hold.
	MaxValues = 20_000
)

// A document is one parsed JSON text. One pass over the text finds every value,
// and refuses what the rest of the package must never see: trailing data,
// invalid UTF-8, lone surrogates, U+0000, members named twice, great depth.
// The members of an object are linked in the order of their names, so that
// fields are found, and the canonical form is written, without a second pass
// over the text.
//
// encoding/json is not used for reading: it takes members whatever their letter
// case, keeps the last of two equal names, and replaces broken characters, so
// that two different bodies would read the same.
type document struct {
	src   []byte
	nodes []node
}

// kind is the first byte of a value: { [ " t f n, or 0 for a number.
type kind byte

const numberKind kind = '0'

// A node is one value. Index 0 is the root; as no value is inside the root's
// parent, 0 also stands for "none" in first and next.
type node struct {
	key         []byte // decoded name, when the value is a member of an object
	start, end  int32  // extent in src; strings with their quotes
	first, next int32
	kind        kind
	escaped     bool // a string with escapes in it
}

// scanner walks the text once and fills the document.
type scanner struct {
	document
	pos     int
	members []int32 // open objects' members, a stack
	fault   *Malformed
}

// parseDocument reads src as one JSON text. src must not change afterwards.
func parseDocument(src []byte) (*document, *Malformed) {
	s := scanner{document: document{src: src}}
	s.nodes = make([]node, 0, min(16+len(src)/16, 1024))
	s.skipSpace()
	if s.pos == len(src) {
		return nil, malformed(EmptyBody, "")
	}
	if !utf8.Valid(src) {
		return nil, malformed(BadJSON, "not valid UTF-8")
	}
	s.value(nil, 1)
	s.skipSpace()
	if s.fault == nil && s.pos != len(src) {
		s.fail("data after the JSON value")
	}
	if s.fault != nil {
		return nil, s.fault
	}
	return &s.document, nil
}

func (s *scanner) fail(what string) {
	if s.fault == nil {
		s.fault = malformed(BadJSON, what+" at byte "+strconv.Itoa(s.pos))
	}
}

func (s *scanner) skipSpace() {
	for s.pos < len(s.src) {
		switch s.src[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// peek is the byte at the current position, or 0 at the end.
func (s *scanner) peek() byte {
	if s.pos < len(s.src) {
		return s.src[s.pos]
	}
	return 0
}

// value reads one value and gives its index; the result means nothing once
// fault is set.
func (s *scanner) value(key []byte, depth int) int32 {
	switch {
	case depth > MaxDepth:
		s.fail("nested deeper than " + strconv.Itoa(MaxDepth))
		return 0
	case len(s.nodes) == MaxValues:
		s.fail("more than " + strconv.Itoa(MaxValues) + " values")
		return 0
	}
	at := int32(len(s.nodes))
	c := s.peek()
	s.nodes = append(s.nodes, node{key: key, start: int32(s.pos), kind: kind(c)})
	switch c {
	case '{':
		s.object(at, depth)
	case '[':
		s.array(at, depth)
	case '"':
		s.nodes[at].escaped = s.text()
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		s.nodes[at].kind = numberKind
		s.number()
	}
	s.nodes[at].end = int32(s.pos)
	return at
}

func (s *scanner) object(at int32, depth int) {
	s.pos++
	base := len(s.members)
	s.skipSpace()
	for first := true; s.peek() != '}' || !first; first = false {
		if s.peek() != '"' {
			s.fail("expected a member name")
			return
		}
		start := s.pos
		escaped := s.text()
		if s.fault != nil {
			return
		}
		key := s.src[start+1 : s.pos-1]
		if escaped {
			key = unescape(key)
		}
		s.skipSpace()
		if s.peek() != ':' {
			s.fail("expected a colon")
			return
		}
		s.pos++
		s.skipSpace()
		member := s.value(key, depth+1)
		if s.fault != nil {
			return
		}
		s.members = append(s.members, member)
		if !s.separator('}') {
			break
		}
	}
	s.pos++
	if s.fault == nil {
		s.link(at, s.members[base:])
		s.members = s.members[:base]
	}
}

func (s *scanner) array(at int32, depth int) {
	s.pos++
	s.skipSpace()
	last := int32(0)
	for first := true; s.peek() != ']' || !first; first = false {
		element := s.value(nil, depth+1)
		if s.fault != nil {
			return
		}
		if first {
			s.nodes[at].first = element
		} else {
			s.nodes[last].next = element
		}
		last = element
		if !s.separator(']') {
			break
		}
	}
	s.pos++
}

// separator skips a comma and reports true, or stands at the closing bracket
// (or sets fault) and reports false.
func (s *scanner) separator(closing byte) bool {
	s.skipSpace()
	switch s.peek() {
	case ',':
		s.pos++
		s.skipSpace()
		return true
	case closing:
	default:
		s.fail("expected a comma or " + string(rune(closing)))
	}
	return false
}

// link chains the members of an object by name and refuses equal names.
func (s *scanner) link(at int32, members []int32) {
	if len(members) == 0 {
		return
	}
	slices.SortFunc(members, func(a, b int32) int { return bytes.Compare(s.nodes[a].key, s.nodes[b].key) })
	s.nodes[at].first = members[0]
	for i, member := range members[1:] {
		previous := members[i]
		if bytes.Equal(s.nodes[previous].key, s.nodes[member].key) {
			s.pos = int(s.nodes[member].start)
			s.fail("a member named twice")
			return
		}
		s.nodes[previous].next = member
	}
}
