package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"couponlease/messages"
)

func document(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(moduleRoot, asyncAPIFile))
	if err != nil {
		t.Fatalf("%v; run: go run ./internal/contracts", err)
	}
	var doc map[string]any
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// lookUp follows a JSON pointer without its leading "#".
func lookUp(value any, pointer string) (any, bool) {
	for _, step := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		members, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = members[step]; !ok {
			return nil, false
		}
	}
	return value, true
}

func TestAsyncAPIHasEveryMessage(t *testing.T) {
	doc := document(t)
	if doc["asyncapi"] != "3.0.0" {
		t.Errorf("the version is %v, want 3.0.0", doc["asyncapi"])
	}
	for _, c := range messages.Contracts() {
		want := map[string]any{
			"/components/messages/" + c.Name + "/name":         c.Type,
			"/components/messages/" + c.Name + "/payload/$ref": "./schema/" + c.Type + ".schema.json",
		}
		channel := "/channels/" + c.Name
		switch {
		case c.Exchange != "":
			want[channel+"/address"] = c.Type
			want[channel+"/bindings/amqp/is"] = "routingKey"
			want[channel+"/bindings/amqp/exchange/name"] = c.Exchange
			want[channel+"/bindings/amqp/exchange/type"] = "topic"
		case c.Queue != "":
			want[channel+"/address"] = c.Queue
			want[channel+"/bindings/amqp/queue/name"] = c.Queue
		default:
			want[channel+"/address"] = nil
		}
		if c.Kind.Incoming() {
			want["/operations/receive"+c.Name+"/action"] = "receive"
		}
		if c.Kind == messages.KindEvent || c.Kind == messages.KindTimer {
			want["/operations/send"+c.Name+"/action"] = "send"
		}
		if c.Kind == messages.KindCommand {
			want["/operations/receive"+c.Name+"/reply/channel/$ref"] = "#/channels/CommandReply"
		}
		for pointer, value := range want {
			got, ok := lookUp(doc, pointer)
			if !ok {
				t.Errorf("%s is missing", pointer)
			} else if diff := cmp.Diff(value, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", pointer, diff)
			}
		}
	}
	channels, _ := lookUp(doc, "/channels")
	if got, want := len(channels.(map[string]any)), len(messages.Contracts()); got != want {
		t.Errorf("%d channels for %d messages", got, want)
	}
}

// TestEveryReferenceResolves follows each $ref of the document and of the
// schemas, into files as well.
func TestEveryReferenceResolves(t *testing.T) {
	followed := map[string]int{}
	var follow func(dir string, root, value any, where string)
	follow = func(dir string, root, value any, where string) {
		switch v := value.(type) {
		case []any:
			for i, inner := range v {
				follow(dir, root, inner, fmt.Sprintf("%s/%d", where, i))
			}
		case map[string]any:
			for key, inner := range v {
				target, isText := inner.(string)
				if key != "$ref" || !isText {
					follow(dir, root, inner, where+"/"+key)
					continue
				}
				followed[target]++
				if pointer, inside := strings.CutPrefix(target, "#"); inside {
					if _, ok := lookUp(root, pointer); !ok {
						t.Errorf("%s: %s leads nowhere", where, target)
					}
				} else if followed[target] == 1 {
					file := path.Join(dir, target)
					schema := readJSON(t, file)
					follow(path.Dir(file), schema, schema, file)
				}
			}
		}
	}
	doc := document(t)
	follow("messages", doc, doc, asyncAPIFile)
	for _, c := range messages.Contracts() {
		if target := "./schema/" + c.Type + ".schema.json"; followed[target] == 0 {
			t.Errorf("nothing refers to %s", target)
		}
	}
}

func readJSON(t *testing.T, file string) any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(moduleRoot, file))
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return value
}
