package store

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"couponlease/internal/coupon"
)

// eraser puts a pseudonym in the place of a person's ids, and its hash in the place of
// theirs: whoever has an id in mind could tell by its hash that it was meant.
type eraser struct {
	ids, hashes []string // folded
	pseudonym   string
	anywhere    *regexp.Regexp
}

func newEraser(pseudonym string, ids ...string) *eraser {
	e := &eraser{ids: ids, pseudonym: pseudonym}
	var names []string
	for _, id := range ids {
		name := regexp.QuoteMeta(id)
		if strings.Contains(id, "@") {
			name = "(?i:" + name + ")"
		}
		hash := coupon.HashPerson(id)
		e.hashes = append(e.hashes, hash)
		names = append(names, name, hash)
	}
	// Of two ids that begin alike, the longer one is meant.
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	e.anywhere = regexp.MustCompile(strings.Join(names, "|"))
	return e
}

// names says whether a value is one of the ids, however it is written.
func (e *eraser) names(value string) bool { return slices.Contains(e.ids, coupon.FoldPerson(value)) }

// instead gives what takes the place of an id, or of its hash.
func (e *eraser) instead(of string) string {
	if slices.Contains(e.hashes, of) {
		return coupon.HashPerson(e.pseudonym)
	}
	return e.pseudonym
}

// same erases a value that is an id as a whole.
func (e *eraser) same(value []byte) []byte {
	if e.names(string(value)) {
		return []byte(e.pseudonym)
	}
	return value
}

// prose erases ids wherever they stand as words of their own: "u1" is in "customer=u1,",
// and is neither in "u12" nor in "order-u1", which name something else.
func (e *eraser) prose(text []byte) []byte {
	var out []byte
	kept := 0
	for _, at := range e.anywhere.FindAllIndex(text, -1) {
		if wordBefore(text[:at[0]]) || wordAfter(text[at[1]:]) {
			continue
		}
		out = append(append(out, text[kept:at[0]]...), e.instead(string(text[at[0]:at[1]]))...)
		kept = at[1]
	}
	return append(out, text[kept:]...)
}

// wordBefore says that a text goes on from a word, or from one and a joint.
func wordBefore(text []byte) bool {
	last, size := utf8.DecodeLastRune(text)
	if joins(last) {
		last, _ = utf8.DecodeLastRune(text[:len(text)-size])
	}
	return ofWord(last)
}

func wordAfter(text []byte) bool {
	first, size := utf8.DecodeRune(text)
	if joins(first) {
		first, _ = utf8.DecodeRune(text[size:])
	}
	return ofWord(first)
}

func ofWord(r rune) bool {
	return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
func joins(r rune) bool { return strings.ContainsRune(".-+@", r) }

// document erases values of a JSON document, and leaves every other byte as it is. Values
// of members that name something else stay, although they may look like the id. What is
// no JSON is prose.
func (e *eraser) document(text []byte) []byte {
	if !json.Valid(text) {
		return e.prose(text)
	}
	var out []byte
	member, kept := "", 0
	for at := 0; at < len(text); at++ {
		if text[at] != '"' {
			continue
		}
		end := at + quoted(text[at:])
		var value string
		if err := json.Unmarshal(text[at:end], &value); err != nil {
			return e.prose(text) // cannot be: the document is valid
		}
		if rest := bytes.TrimLeft(text[end:], " \t\r\n"); len(rest) > 0 && rest[0] == ':' {
			member = value
		} else if becomes := e.value(member, value); becomes != value {
			written, _ := json.Marshal(becomes) // a string never fails
			out = append(append(out, text[kept:at]...), written...)
			kept = end
		}
		at = end - 1
	}
	return append(out, text[kept:]...)
}

// value erases one value of a document.
func (e *eraser) value(member, value string) string {
	_, bare, found := strings.Cut(member, ":") // cloudEvents:id
	if !found {
		bare = member
	}
	switch {
	case namesOthers[strings.ToLower(bare)]:
		return value
	case e.names(value), slices.Contains(e.hashes, value):
		return e.instead(value)
	case strings.ContainsFunc(value, unicode.IsSpace):
		return string(e.prose([]byte(value)))
	default:
		return value
	}
}

// namesOthers are the members, in lower case, whose values are ids of something else.
var namesOthers = map[string]bool{
	"id": true, "key": true, "cause": true, "type": true, "code": true, "coupon": true, "couponid": true, "drop": true,
	"order": true, "orderid": true, "parentorderid": true, "supersedes": true, "payment": true, "paymentid": true,
	"refund": true, "refundid": true, "lease": true, "leaseid": true, "quoteid": true, "operationid": true,
	"requestid": true, "idempotencykey": true, "template": true, "templateid": true, "batch": true, "batchid": true,
	"currency": true, "group": true,
}

// quoted is how long the string is that a text begins with, quotes included.
func quoted(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// needles are what the database looks for: every content that names one of the ids holds
// one of them. What cannot be looked for so, such as an id with letters beyond ASCII, is
// looked for by reading everything.
func (e *eraser) needles(escaped bool) texts {
	var needles texts
	for _, id := range e.ids {
		if strings.ContainsFunc(id, func(r rune) bool { return r > unicode.MaxASCII || r < ' ' || r == '"' || r == '\\' }) {
			return texts{""}
		}
		needles = append(needles, strings.ToLower(id))
	}
	needles = append(needles, e.hashes...)
	if escaped { // any letter may be written as \u0041 in a body
		needles = append(needles, `\\u`)
	}
	return needles
}
