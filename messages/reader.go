package messages

import (
	"encoding/hex"
	"strconv"
	"time"
)

// Limits on the fields of the data.
const (
	// MaxAmount is the largest amount of money, in minor units.
	MaxAmount int64 = 1_000_000_000_000_000
	// MaxLeaseSeconds is the longest lease that has an end: 400 days.
	MaxLeaseSeconds int64 = 400 * 24 * 60 * 60
	// MaxNumber bounds versions and revisions: the largest integer that every
	// JSON reader keeps exact.
	MaxNumber int64 = 1<<53 - 1
)

// reader takes typed fields out of a document. The first fault stays, and what
// is read after it means nothing, so that a decoder checks once at its end. An
// optional field that is null counts as absent.
type reader struct {
	doc   *document
	root  int32
	fault *Malformed
}

// open gives a reader on the envelope's data and the data's root.
func (e Envelope) open(wantType string) (*reader, int32) {
	r := &reader{doc: e.document}
	if e.Type != wantType {
		r.fault = malformed(TypeUnknown, "not of type "+wantType)
		return r, 0
	}
	if e.document != nil && sameMemory(e.Data, e.document.raw(e.root)) {
		r.root = e.root
		return r, r.root
	}
	// The envelope was not made by Parse, or its data was replaced since.
	r.doc, r.fault = parseDocument(e.Data)
	if r.fault == nil && r.doc.nodes[0].kind != '{' {
		r.fault = &Malformed{Reason: FieldInvalid, Path: "$", Detail: "must be an object"}
	}
	return r, 0
}

func sameMemory(a, b []byte) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }

// err avoids a non-nil error that holds a nil *Malformed.
func (r *reader) err() error {
	if r.fault == nil {
		return nil
	}
	return r.fault
}

// find gives the value of a field, or 0 when it is absent, null, or a fault is set.
func (r *reader) find(object int32, name string) int32 {
	if r.fault != nil {
		return 0
	}
	at := r.doc.member(object, name)
	if at != 0 && r.doc.nodes[at].kind == 'n' {
		return 0
	}
	return at
}

// need is find for a required field.
func (r *reader) need(object int32, name string) int32 {
	at := r.find(object, name)
	if at == 0 {
		r.missing(object, name)
	}
	return at
}

func (r *reader) missing(object int32, name string) {
	if r.fault == nil {
		r.fault = &Malformed{Reason: FieldMissing, Path: r.path(object) + "." + name}
	}
}

func (r *reader) refuse(reason Reason, value int32, detail string) {
	if r.fault == nil {
		r.fault = &Malformed{Reason: reason, Path: r.path(value), Detail: detail}
	}
}

// text is a required text: 1 to MaxID characters without control characters.
func (r *reader) text(object int32, name string) string { return r.textAt(r.need(object, name)) }

// optionalText is a text like text, or "" when absent.
func (r *reader) optionalText(object int32, name string) string {
	return r.textAt(r.find(object, name))
}

func (r *reader) textAt(value int32) string { return r.textUpTo(value, MaxID) }

// textUpTo is textAt with a limit of its own, in characters.
func (r *reader) textUpTo(value int32, limit int) string {
	if value == 0 {
		return ""
	}
	if r.doc.nodes[value].kind != '"' {
		r.refuse(FieldInvalid, value, "must be a string")
		return ""
	}
	text := r.doc.text(value)
	if !validText(text, limit) {
		r.refuse(FieldInvalid, value,
			"must have 1 to "+strconv.Itoa(limit)+" characters, none of them a control character")
	}
	return text
}

// oneOf is a required text out of a list.
func (r *reader) oneOf(object int32, name string, allowed ...string) string {
	value := r.need(object, name)
	text := r.textAt(value)
	for _, choice := range allowed {
		if text == choice {
			return text
		}
	}
	r.refuse(FieldInvalid, value, "is not one of the allowed values")
	return ""
}

// integer is an optional integer within limits; absent is 0 and false.
func (r *reader) integer(object int32, name string, low, high int64) (int64, bool) {
	value := r.find(object, name)
	if value == 0 {
		return 0, false
	}
	return r.integerAt(value, low, high), true
}

// requiredInteger is an integer within limits.
func (r *reader) requiredInteger(object int32, name string, low, high int64) int64 {
	return r.integerAt(r.need(object, name), low, high)
}

func (r *reader) integerAt(value int32, low, high int64) int64 {
	if value == 0 {
		return 0
	}
	if r.doc.nodes[value].kind != numberKind {
		r.refuse(FieldInvalid, value, "must be an integer")
		return 0
	}
	n, err := strconv.ParseInt(string(r.doc.raw(value)), 10, 64)
	if err != nil || n < low || n > high {
		r.refuse(FieldInvalid, value,
			"must be an integer from "+strconv.FormatInt(low, 10)+" to "+strconv.FormatInt(high, 10))
	}
	return n
}

// boolean is an optional truth value; absent is nil.
func (r *reader) boolean(object int32, name string) *bool {
	value := r.find(object, name)
	if value == 0 {
		return nil
	}
	k := r.doc.nodes[value].kind
	if k != 't' && k != 'f' {
		r.refuse(FieldInvalid, value, "must be true or false")
		return nil
	}
	yes := k == 't'
	return &yes
}

// money is a required amount of at least low minor units.
func (r *reader) money(object int32, name string, low int64) Money {
	return r.moneyAt(r.need(object, name), low)
}

// optionalMoney is an amount of at least 0, or nil when absent.
func (r *reader) optionalMoney(object int32, name string) *Money {
	value := r.find(object, name)
	if value == 0 {
		return nil
	}
	m := r.moneyAt(value, 0)
	return &m
}

func (r *reader) moneyAt(value int32, low int64) Money {
	if !r.object(value) {
		return Money{}
	}
	m := Money{Amount: r.requiredInteger(value, "amount", low, MaxAmount)}
	currency := r.need(value, "currency")
	if m.Currency = r.textAt(currency); r.fault == nil && !currencyCode(m.Currency) {
		r.refuse(FieldInvalid, currency, "must be an ISO 4217 code of three capital letters")
	}
	return m
}

func currencyCode(text string) bool {
	if len(text) != 3 {
		return false
	}
	for _, c := range []byte(text) {
		if c < 'A' || c > 'Z' {
			return false
		}
	}
	return true
}

// optionalTime is a time, or the zero time when absent.
func (r *reader) optionalTime(object int32, name string) time.Time {
	return r.timeAt(r.find(object, name))
}

func (r *reader) timeAt(value int32) time.Time {
	if value == 0 {
		return time.Time{}
	}
	if r.doc.nodes[value].kind != '"' {
		r.refuse(TimeInvalid, value, "must be a string: "+timeExpected)
		return time.Time{}
	}
	at, ok := parseTime(r.doc.text(value))
	if !ok {
		r.refuse(TimeInvalid, value, "must be "+timeExpected)
	}
	return at
}

// occurred is when it happened: the data's own word, else the envelope's.
func (r *reader) occurred(object int32, e Envelope) time.Time {
	if at := r.optionalTime(object, "occurredAt"); !at.IsZero() {
		return at
	}
	return e.Time
}

// hash is a required SHA-256 in 64 lower-case hexadecimal digits.
func (r *reader) hash(object int32, name string) string {
	value := r.need(object, name)
	text := r.textAt(value)
	if r.fault == nil && (len(text) != hex.EncodedLen(32) || !lowerHex(text)) {
		r.refuse(FieldInvalid, value, "must be 64 lower-case hexadecimal digits")
	}
	return text
}

func (r *reader) object(value int32) bool {
	if value == 0 || r.fault != nil {
		return false
	}
	if r.doc.nodes[value].kind != '{' {
		r.refuse(FieldInvalid, value, "must be an object")
		return false
	}
	return true
}

// each calls visit for every element of a required array of low to high objects.
func (r *reader) each(object int32, name string, low, high int, visit func(element int32)) {
	r.elements(r.need(object, name), low, high, func(element int32) {
		if r.object(element) {
			visit(element)
		}
	})
}

// elements calls visit for every element of an array of low to high elements,
// until a fault is set. No array, 0, has none.
func (r *reader) elements(array int32, low, high int, visit func(element int32)) {
	if array == 0 {
		return
	}
	if r.doc.nodes[array].kind != '[' {
		r.refuse(FieldInvalid, array, "must be an array")
		return
	}
	n := 0
	for at := r.doc.nodes[array].first; at != 0; at = r.doc.nodes[at].next {
		n++
	}
	if n < low || n > high {
		r.refuse(FieldInvalid, array,
			"must have "+strconv.Itoa(low)+" to "+strconv.Itoa(high)+" elements")
		return
	}
	for at := r.doc.nodes[array].first; at != 0 && r.fault == nil; at = r.doc.nodes[at].next {
		visit(at)
	}
}

// leaseTerm tells an absent leaseSeconds (default) from a null one (no end).
func (r *reader) leaseTerm(object int32, name string) LeaseTerm {
	if r.fault != nil {
		return LeaseTerm{}
	}
	value := r.doc.member(object, name)
	switch {
	case value == 0:
		return LeaseTerm{}
	case r.doc.nodes[value].kind == 'n':
		return OpenLease()
	default:
		return LeaseFor(r.integerAt(value, 1, MaxLeaseSeconds))
	}
}

// endingLease is a lease term that has an end.
func (r *reader) endingLease(object int32, name string) LeaseTerm {
	term := r.leaseTerm(object, name)
	if term.IsOpen() {
		r.refuse(FieldInvalid, r.doc.member(object, name), "must be an integer: this lease has an end")
		return LeaseTerm{}
	}
	return term
}

// path says where a value is, such as $.coupons[2].code, relative to the data.
func (r *reader) path(value int32) string {
	d := r.doc
	path := "$"
	for at := r.root; at != value; {
		index := 0
		child := d.nodes[at].first
		for d.nodes[child].end < d.nodes[value].end || d.nodes[child].start > d.nodes[value].start {
			child = d.nodes[child].next
			index++
		}
		if d.nodes[at].kind == '[' {
			path += "[" + strconv.Itoa(index) + "]"
		} else {
			path += "." + string(d.nodes[child].key)
		}
		at = child
	}
	return path
}
