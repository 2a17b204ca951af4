package messages

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// A jsonValue is a value that tests write down in many ways: text for leaves
// (already JSON), or members of an object or elements of an array.
type jsonValue struct {
	leaf     string
	isString bool
	members  []jsonMember
	elements []jsonValue
	kind     byte // { [ or 0 for a leaf
}

type jsonMember struct {
	name  string
	value jsonValue
}

// anyText draws text without U+0000, with quotes, controls and emoji in it.
func anyText() *rapid.Generator[string] {
	return rapid.StringOf(rapid.RuneFrom([]rune("abcXYZ019 \"\\/\b\f\n\r\t\x01\x7fäß€😀\u2028")))
}

func anyValue(depth int) *rapid.Generator[jsonValue] {
	return rapid.Custom(func(t *rapid.T) jsonValue {
		highest := 4
		if depth == 0 {
			highest = 2
		}
		switch rapid.IntRange(0, highest).Draw(t, "kind") {
		case 0:
			return jsonValue{leaf: anyText().Draw(t, "text"), isString: true}
		case 1:
			return jsonValue{leaf: rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "word")}
		case 2:
			return jsonValue{leaf: strconv.FormatInt(rapid.Int64().Draw(t, "number"), 10)}
		case 3:
			return anyObject(depth).Draw(t, "object")
		default:
			return jsonValue{kind: '[', elements: rapid.SliceOfN(anyValue(depth-1), 0, 4).Draw(t, "elements")}
		}
	})
}

func anyObject(depth int) *rapid.Generator[jsonValue] {
	return rapid.Custom(func(t *rapid.T) jsonValue {
		object := jsonValue{kind: '{'}
		for _, name := range rapid.SliceOfNDistinct(anyText(), 0, 5, rapid.ID[string]).Draw(t, "names") {
			object.members = append(object.members, jsonMember{name, anyValue(depth-1).Draw(t, "value")})
		}
		return object
	})
}

// write gives one of the many ways to write a value down.
func (v jsonValue) write(t *rapid.T) string {
	space := func() string { return rapid.StringOfN(rapid.RuneFrom([]rune(" \t\r\n")), 0, 2, -1).Draw(t, "space") }
	switch {
	case v.kind == '{':
		var members []string
		for _, m := range rapid.Permutation(v.members).Draw(t, "order") {
			members = append(members, space()+writeString(t, m.name)+space()+":"+space()+m.value.write(t)+space())
		}
		return "{" + space() + strings.Join(members, ",") + "}"
	case v.kind == '[':
		var elements []string
		for _, e := range v.elements {
			elements = append(elements, space()+e.write(t)+space())
		}
		return "[" + space() + strings.Join(elements, ",") + "]"
	case v.isString:
		return writeString(t, v.leaf)
	default:
		return v.leaf
	}
}

func writeString(t *rapid.T, text string) string {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '/': `\/`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range text {
		must := r < ' ' || r == '"' || r == '\\'
		switch choice := rapid.IntRange(0, 2).Draw(t, "escape"); {
		case choice == 0 && !must:
			out.WriteRune(r)
		case choice == 1 && short[r] != "":
			out.WriteString(short[r])
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				digits := strconv.FormatInt(int64(unit)+0x10000, 16)[1:]
				if rapid.Bool().Draw(t, "upper") {
					digits = strings.ToUpper(digits)
				}
				out.WriteString(`\u` + digits)
			}
		}
	}
	return out.String() + `"`
}

func hashOfData(t *rapid.T, data string) [32]byte {
	e, err := Parse(Delivery{Body: []byte(data), MessageID: "m1", Type: TypeOrderClosed, Timestamp: noon})
	if err != nil {
		t.Fatalf("%s\n%v", data, err)
	}
	return e.Hash
}

func TestHashIgnoresHowTheDataIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := anyObject(3).Draw(t, "data")
		one, other := value.write(t), value.write(t)
		if hashOfData(t, one) != hashOfData(t, other) {
			t.Fatalf("the same data hashes differently:\n%s\n%s", one, other)
		}
	})
}

func TestHashSeesEveryChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := anyObject(3).Draw(t, "data")
		before := value.write(t)
		changed := change(t, value)
		if after := changed.write(t); hashOfData(t, before) == hashOfData(t, after) {
			t.Fatalf("different data hashes the same:\n%s\n%s", before, after)
		}
	})
}

// change makes one change somewhere in a value.
func change(t *rapid.T, v jsonValue) jsonValue {
	switch {
	case v.kind == '{' && len(v.members) > 0 && rapid.IntRange(0, 3).Draw(t, "deeper") > 0:
		v.members = append([]jsonMember(nil), v.members...)
		i := rapid.IntRange(0, len(v.members)-1).Draw(t, "member")
		v.members[i].value = change(t, v.members[i].value)
	case v.kind == '{':
		v.members = append(v.members[:len(v.members):len(v.members)], jsonMember{"a name not drawn", jsonValue{leaf: "null"}})
	case v.kind == '[' && len(v.elements) > 0 && rapid.Bool().Draw(t, "deeper"):
		v.elements = append([]jsonValue(nil), v.elements...)
		i := rapid.IntRange(0, len(v.elements)-1).Draw(t, "element")
		v.elements[i] = change(t, v.elements[i])
	case v.kind == '[':
		v.elements = append(v.elements[:len(v.elements):len(v.elements)], jsonValue{leaf: "0"})
	case v.isString && rapid.Bool().Draw(t, "same text, no string"):
		return jsonValue{leaf: "17"}
	case v.isString:
		v.leaf += "x"
	case v.leaf == "null":
		v.leaf = "false"
	default:
		return jsonValue{leaf: v.leaf, isString: true}
	}
	return v
}

func TestHashDiffersByType(t *testing.T) {
	closed := envelope(t, TypeOrderClosed, closedData)
	placed := envelope(t, TypeOrderPlaced, closedData)
	if closed.Hash == placed.Hash {
		t.Error("the same data under two types hashes the same")
	}
}

func TestHashKeepsNumbersVerbatim(t *testing.T) {
	seen := map[[32]byte]string{}
	for _, number := range []string{"1", "1.0", "1e0", "10e-1", "-0", "0", "9007199254740993", "9007199254740992"} {
		hash := envelope(t, TypeOrderClosed, `{"n":`+number+`}`).Hash
		if other, taken := seen[hash]; taken {
			t.Errorf("%s and %s hash the same", number, other)
		}
		seen[hash] = number
	}
}

// The reader must agree with encoding/json on what JSON is and means, apart
// from what it refuses on purpose.
func TestDocumentAgreesWithEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(anyValue(3).Draw(t, "value").write(t))
		for range rapid.IntRange(0, 2).Draw(t, "spoiled") {
			i := rapid.IntRange(0, len(text)-1).Draw(t, "at")
			text[i] = rapid.SampledFrom([]byte(`"\{}[]:,0-.eu x`)).Draw(t, "with")
		}
		doc, fault := parseDocument(text)
		if fault == nil != json.Valid(text) {
			if fault != nil && (strings.Contains(fault.Detail, "surrogate") || strings.Contains(fault.Detail, "twice") ||
				strings.Contains(fault.Detail, "UTF-8") || fault.Reason == EmptyBody || fault.Reason == NULCharacter) {
				return
			}
			t.Fatalf("%s\nfault %v, valid %t", text, fault, json.Valid(text))
		}
		if fault != nil {
			return
		}
		sameMeaning(t, text, doc.appendCanonical(nil, 0))
	})
}

func sameMeaning(t *rapid.T, text, canonical []byte) {
	decode := func(b []byte) []byte {
		decoder := json.NewDecoder(bytes.NewReader(b))
		decoder.UseNumber()
		var value any
		if err := decoder.Decode(&value); err != nil {
			t.Fatalf("%s\n%v", b, err)
		}
		again, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return again
	}
	if one, other := decode(text), decode(canonical); !bytes.Equal(one, other) {
		t.Fatalf("%s\nmeans     %s\ncanonical %s\nmeans     %s", text, one, canonical, other)
	}
}
