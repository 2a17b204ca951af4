package messages

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// outgoing has one of every message that only goes out.
var outgoing = []Message{
	CouponLocked{}, CouponLockRejected{}, CouponLeaseRenewed{}, CouponRedeemed{}, CouponReleased{},
	CouponExpired{}, CouponReturned{}, CouponRetired{}, CouponReturnDeclined{}, RefundCouponDecided{},
	CouponVoided{}, RedemptionReversed{}, CouponIssued{}, CouponClaimRejected{}, CampaignSoldOut{}, CouponConflictDetected{},
	ReviewOpened{}, ReviewResolved{}, CommandReply{},
}

type golden struct {
	file, messageType string
	data              []byte
}

// goldens reads the samples that hold the data of one message.
func goldens(t *testing.T) []golden {
	t.Helper()
	var all []golden
	for _, file := range sampleFiles(t) {
		if strings.Contains(file, ".shape-") {
			continue
		}
		name := filepath.Base(file)
		at := strings.Index(name, ".v1.")
		if at < 0 {
			t.Fatalf("%s is not named after a message type", file)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, golden{file, name[:at+len(".v1")], data})
	}
	return all
}

func sampleFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples in testdata (%v); run: go run ./internal/contracts", err)
	}
	return files
}

func TestGoldenSamplesSurviveDecodeAndEncode(t *testing.T) {
	seen := map[string]bool{}
	for _, sample := range goldens(t) {
		t.Run(filepath.Base(sample.file), func(t *testing.T) {
			seen[sample.messageType] = true
			message := decodeGolden(t, sample)
			body, properties, err := Encode("m2", "", message)
			if err != nil {
				t.Fatal(err)
			}
			if properties.Type != sample.messageType {
				t.Errorf("encoded as %s, want %s", properties.Type, sample.messageType)
			}
			var want bytes.Buffer
			if err := json.Compact(&want, sample.data); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.String(), string(body)); diff != "" {
				t.Errorf("data (-golden +encoded):\n%s", diff)
			}
		})
	}
	for _, contract := range Contracts() {
		if !seen[contract.Type] {
			t.Errorf("%s has no golden sample", contract.Type)
		}
	}
}

func decodeGolden(t *testing.T, sample golden) Message {
	t.Helper()
	// A sample without occurredAt takes the message's time, which would then be
	// in the data; no time at all keeps the data as it was.
	e := Envelope{Type: sample.messageType, Data: sample.data}
	if decode, ok := decoders[sample.messageType]; ok {
		message, err := decode(e)
		if err != nil {
			t.Fatal(err)
		}
		return message
	}
	for _, zero := range outgoing {
		if zero.MessageType() != sample.messageType {
			continue
		}
		message := reflect.New(reflect.TypeOf(zero))
		strict := json.NewDecoder(bytes.NewReader(sample.data))
		strict.DisallowUnknownFields()
		if err := strict.Decode(message.Interface()); err != nil {
			t.Fatal(err)
		}
		return message.Elem().Interface().(Message)
	}
	t.Fatalf("%s can be neither decoded nor is it among the outgoing messages", sample.messageType)
	return nil
}

// TestGoldenShapes: each fact is there in three shapes, and they are the same message.
func TestGoldenShapes(t *testing.T) {
	type attributes struct {
		ID, Type string
		Time     time.Time
		Hash     [32]byte
	}
	shapes := map[string]map[string]attributes{}
	for _, file := range sampleFiles(t) {
		messageType, shape, ok := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), ".shape-")
		if !ok {
			continue
		}
		e, err := Parse(readDelivery(t, file))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if _, err := decoders[e.Type](e); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if shapes[messageType] == nil {
			shapes[messageType] = map[string]attributes{}
		}
		// The plain shape knows whole seconds only.
		shapes[messageType][shape] = attributes{e.ID, e.Type, e.Time.Truncate(time.Second), e.Hash}
	}
	for _, contract := range Contracts() {
		if contract.Kind != KindFact {
			continue
		}
		got := shapes[contract.Type]
		for _, shape := range []string{"structured", "binary", "plain"} {
			if diff := cmp.Diff(got["plain"], got[shape]); diff != "" || got[shape].ID == "" {
				t.Errorf("%s, %s shape (-plain +%s):\n%s", contract.Type, shape, shape, diff)
			}
		}
	}
}

func readDelivery(t *testing.T, file string) Delivery {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var sample struct {
		RoutingKey string
		Properties struct {
			ContentType, MessageID, Type string
			Timestamp                    int64
		}
		Headers map[string]string
		Body    json.RawMessage
	}
	if err := json.Unmarshal(text, &sample); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	d := Delivery{
		Body: sample.Body, ContentType: sample.Properties.ContentType, MessageID: sample.Properties.MessageID,
		Type: sample.Properties.Type, RoutingKey: sample.RoutingKey, Headers: sample.Headers,
	}
	if sample.Properties.Timestamp != 0 {
		d.Timestamp = time.Unix(sample.Properties.Timestamp, 0)
	}
	return d
}
