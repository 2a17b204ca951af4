package messages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func schema(t *testing.T, messageType string) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile("schema/" + messageType + ".schema.json")
	if err != nil {
		t.Fatalf("%v; run: go run ./internal/contracts", err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// validate says whether a schema accepts a text.
func validate(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s.Validate(value)
}

func TestGoldenSamplesFitTheirSchemas(t *testing.T) {
	for _, sample := range goldens(t) {
		if err := validate(t, schema(t, sample.messageType), sample.data); err != nil {
			t.Errorf("%s: %v", sample.file, err)
		}
	}
}

// TestSchemasAndDecodersRefuseTheSame plants one fault after the other in every
// golden sample. For what comes in, schema and decoder must agree on each; for
// what goes out, a missing member and a wrong type must be refused.
func TestSchemasAndDecodersRefuseTheSame(t *testing.T) {
	refused := map[string]int{}
	for _, sample := range goldens(t) {
		s := schema(t, sample.messageType)
		for _, planted := range faults(t, sample.data) {
			schemaFault := validate(t, s, planted.data)
			if schemaFault != nil {
				refused[sample.messageType]++
			}
			decode, incoming := decoders[sample.messageType]
			if !incoming {
				if schemaFault == nil && planted.wrongType {
					t.Errorf("%s: the schema accepts %s", sample.file, planted.what)
				}
				continue
			}
			_, decoderFault := decode(Envelope{Type: sample.messageType, Data: planted.data, Time: noon})
			if (schemaFault == nil) != (decoderFault == nil) {
				t.Errorf("%s, %s:\nschema: %v\ndecoder: %v", sample.file, planted.what, schemaFault, decoderFault)
			}
		}
	}
	for _, contract := range Contracts() {
		if refused[contract.Type] == 0 {
			t.Errorf("the schema of %s refuses nothing", contract.Type)
		}
	}
}

// planted is a sample with one fault in it, or what may be one.
type planted struct {
	what      string
	data      []byte
	wrongType bool
}

// faults puts each of a list of values in the place of each value of a sample,
// and leaves each member out.
func faults(t *testing.T, data []byte) []planted {
	t.Helper()
	values := []any{
		nil, "", " ", "a\u0007b", "a\u0000b", "a\u0085b", "\u00a0", "x", strings.Repeat("ü", MaxID), strings.Repeat("ü", MaxID+1),
		-1, 0, 1, 1.5, MaxAmount, MaxAmount + 1, MaxLeaseSeconds, MaxLeaseSeconds + 1, MaxNumber + 1,
		json.Number("99999999999999999999"), true, false, []any{}, map[string]any{}, []any{1}, []any{map[string]any{}},
		"EURO", "eur", "2026-03-01T12:00:00", "2026-03-01T12:00:00Z", "2026-03-01T12:00:00.123+05:30",
		"2026-03-01 12:00:00Z", "1969-12-31T00:00:00Z", "2026-13-01T12:00:00Z", strings.Repeat("a", 64), strings.Repeat("A", 64),
	}
	var all []planted
	visit(decodeAny(t, data), nil, func(path []any, old any, member bool) {
		for _, value := range values {
			text := plant(t, data, path, value, false)
			all = append(all, planted{fmt.Sprintf("%.40q at %v", value, path), text, wrongType(old, value)})
		}
		if member {
			all = append(all, planted{fmt.Sprintf("nothing at %v", path), plant(t, data, path, nil, true), false})
		}
	})
	return all
}

// wrongType reports whether a value is of a JSON type that can never stand for
// the old one.
func wrongType(old, value any) bool {
	class := func(v any) string {
		switch v.(type) {
		case string:
			return "text"
		case json.Number, int, int64, float64:
			return "number"
		case bool:
			return "truth"
		case []any:
			return "list"
		case map[string]any:
			return "object"
		default:
			return "null"
		}
	}
	return class(old) != class(value)
}

// visit calls f for every value inside a value.
func visit(value any, path []any, f func(path []any, old any, member bool)) {
	step := func(key, inner any, member bool) {
		at := append(path[:len(path):len(path)], key)
		f(at, inner, member)
		visit(inner, at, f)
	}
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			step(key, inner, true)
		}
	case []any:
		for i, inner := range v {
			step(i, inner, false)
		}
	}
}

// plant gives the sample with another value at a path, or without it.
func plant(t *testing.T, data []byte, path []any, value any, remove bool) []byte {
	t.Helper()
	root := decodeAny(t, data)
	at := root
	for _, key := range path[:len(path)-1] {
		switch key := key.(type) {
		case string:
			at = at.(map[string]any)[key]
		case int:
			at = at.([]any)[key]
		}
	}
	switch key := path[len(path)-1].(type) {
	case string:
		at.(map[string]any)[key] = value
		if remove {
			delete(at.(map[string]any), key)
		}
	case int:
		at.([]any)[key] = value
	}
	text, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func decodeAny(t *testing.T, data []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}
