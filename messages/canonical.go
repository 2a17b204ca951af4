package messages

import "crypto/sha256"

// hash is the SHA-256 of the type and the canonical form of one value.
func (d *document) hash(messageType string, value int32) [sha256.Size]byte {
	n := d.nodes[value]
	out := make([]byte, 0, len(messageType)+1+int(n.end-n.start))
	out = append(out, messageType...)
	out = append(out, '\n')
	return sha256.Sum256(d.appendCanonical(out, value))
}

// ContentHash is what a command asks for: the SHA-256 of type and data in
// canonical form like Hash, but without the members that say which command this is
// and when it was given (idempotencyKey and occurredAt). A key that comes again
// with another ContentHash is used for something else.
func (e Envelope) ContentHash() [sha256.Size]byte {
	r, root := e.open(e.Type)
	if r.fault != nil {
		// No Decode function takes such data either.
		return sha256.Sum256(append([]byte(e.Type+"\n"), e.Data...))
	}
	d := r.doc
	out := make([]byte, 0, len(e.Type)+len("\n{}")+len(e.Data))
	out = append(out, e.Type...)
	out = append(out, "\n{"...)
	for member := d.nodes[root].first; member != 0; member = d.nodes[member].next {
		switch string(d.nodes[member].key) {
		case "idempotencyKey", "occurredAt":
		default:
			out = d.appendMember(out, member)
		}
	}
	return sha256.Sum256(append(out, '}'))
}

// appendMember writes a member of an object, after a comma if it is not the first.
func (d *document) appendMember(out []byte, member int32) []byte {
	if out[len(out)-1] != '{' {
		out = append(out, ',')
	}
	out = appendString(out, d.nodes[member].key)
	out = append(out, ':')
	return d.appendCanonical(out, member)
}

// appendCanonical writes a value so that two texts give the same bytes exactly
// when they mean the same: no white space, members in the order of their names,
// each character of a string in its shortest form. Numbers stay as they were
// sent: 1.0 is not 1, as a producer that repeats a message repeats its digits.
func (d *document) appendCanonical(out []byte, value int32) []byte {
	n := &d.nodes[value]
	switch {
	case n.kind == '{':
		out = append(out, '{')
		for member := n.first; member != 0; member = d.nodes[member].next {
			out = d.appendMember(out, member)
		}
		return append(out, '}')
	case n.kind == '[':
		out = append(out, '[')
		for element := n.first; element != 0; element = d.nodes[element].next {
			if element != n.first {
				out = append(out, ',')
			}
			out = d.appendCanonical(out, element)
		}
		return append(out, ']')
	case n.escaped:
		return appendString(out, unescape(d.src[n.start+1:n.end-1]))
	default:
		return append(out, d.src[n.start:n.end]...)
	}
}

// appendString writes a JSON string, escaping only what JSON demands.
func appendString[T string | []byte](out []byte, text T) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c < ' ':
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}

// text decodes a string value.
func (d *document) text(value int32) string {
	n := &d.nodes[value]
	raw := d.src[n.start+1 : n.end-1]
	if n.escaped {
		raw = unescape(raw)
	}
	return string(raw)
}

// raw is a value as it was sent.
func (d *document) raw(value int32) []byte {
	n := &d.nodes[value]
	return d.src[n.start:n.end:n.end]
}

// member finds a member of an object by its name; 0 means there is none.
func (d *document) member(object int32, name string) int32 {
	for at := d.nodes[object].first; at != 0; at = d.nodes[at].next {
		if string(d.nodes[at].key) == name {
			return at
		}
	}
	return 0
}
