package messages

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const closedData = `{"orderId":"o1","reason":"cancelled","occurredAt":"2026-03-01T10:00:00+01:00"}`

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// plain is a good message in the plain shape, for tests to spoil.
func plain() Delivery {
	return Delivery{
		Body: []byte(closedData), ContentType: "application/json",
		MessageID: "m1", Type: TypeOrderClosed, Timestamp: noon,
	}
}

func structured(body string) Delivery {
	return Delivery{Body: []byte(body), ContentType: "application/cloudevents+json; charset=utf-8"}
}

func TestParseShapesAgree(t *testing.T) {
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	binary := func(prefix string) Delivery {
		return Delivery{Body: []byte(closedData), Headers: map[string]string{
			prefix + "specversion": "1.0", prefix + "id": "m1", prefix + "type": TypeOrderClosed,
			prefix + "source": "urn:shop", prefix + "subject": "o1", prefix + "time": "2026-03-01T12:00:00Z",
			prefix + "datacontenttype": "application/json", "traceparent": trace,
		}}
	}
	const attributes = `"specversion":"1.0","id":"m1","type":"order.closed.v1","source":"urn:shop",` +
		`"subject":"o1","time":"2026-03-01T13:00:00+01:00","traceparent":"` + trace + `"`
	encoded := base64.StdEncoding.EncodeToString([]byte(closedData))
	full := Envelope{
		ID: "m1", Type: TypeOrderClosed, Version: 1, Source: "urn:shop", Subject: "o1", Time: noon,
		TraceParent: trace, Data: []byte(closedData),
	}
	bare := full
	bare.Source, bare.Subject, bare.TraceParent = "", "", ""
	routed := plain()
	routed.Type, routed.RoutingKey = "", TypeOrderClosed
	overruled := binary("cloudEvents:")
	overruled.MessageID, overruled.Type, overruled.Timestamp = "other", TypeOrderPlaced, noon.Add(time.Hour)

	for name, tc := range map[string]struct {
		delivery Delivery
		want     Envelope
	}{
		"structured":               {structured(`{` + attributes + `,"data":` + closedData + `}`), full},
		"structured, base64":       {structured(`{` + attributes + `,"data_base64":"` + encoded + `"}`), full},
		"binary, colon":            {binary("cloudEvents:"), full},
		"binary, underscore":       {binary("cloudEvents_"), full},
		"headers before AMQP":      {overruled, full},
		"plain":                    {plain(), bare},
		"routing key for the type": {routed, bare},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(tc.delivery)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreUnexported(Envelope{}), cmpopts.IgnoreFields(Envelope{}, "Hash")); diff != "" {
				t.Errorf("envelope (-want +got):\n%s", diff)
			}
			reference, err := Parse(plain())
			if err != nil {
				t.Fatal(err)
			}
			if got.Hash != reference.Hash {
				t.Error("the same data hashes differently in this shape")
			}
			if _, err := DecodeOrderClosed(got); err != nil {
				t.Errorf("decode: %v", err)
			}
		})
	}
}

func TestParseReasons(t *testing.T) {
	spoil := func(change func(*Delivery)) Delivery {
		d := plain()
		change(&d)
		return d
	}
	body := func(text string) Delivery { return spoil(func(d *Delivery) { d.Body = []byte(text) }) }
	for name, tc := range map[string]struct {
		delivery Delivery
		want     Reason
	}{
		"too large":              {body(`{"a":"` + strings.Repeat("x", MaxBody) + `"}`), BodyTooLarge},
		"no body":                {body(""), EmptyBody},
		"only white space":       {body(" \r\n\t"), EmptyBody},
		"not JSON":               {body("hello"), BadJSON},
		"cut off":                {body(`{"orderId":"o1"`), BadJSON},
		"trailing data":          {body(closedData + closedData), BadJSON},
		"trailing comma":         {body(`{"orderId":"o1",}`), BadJSON},
		"byte order mark":        {body("\ufeff" + closedData), BadJSON},
		"not UTF-8":              {body("{\"orderId\":\"\xff\"}"), BadJSON},
		"half a surrogate pair":  {body(`{"orderId":"\ud83d"}`), BadJSON},
		"raw line feed":          {body("{\"orderId\":\"a\nb\"}"), BadJSON},
		"member named twice":     {body(`{"orderId":"o1","reason":"x","orderId":"o2"}`), BadJSON},
		"twice, one escaped":     {body(`{"orderId":"o1","order\u0049d":"o2"}`), BadJSON},
		"twice, deep inside":     {body(`{"x":[{"y":{"z":1,"z":1}}]}`), BadJSON},
		"too deep":               {body(strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)), BadJSON},
		"too many values":        {body("[" + strings.Repeat("1,", MaxValues) + "1]"), BadJSON},
		"leading zero":           {body(`{"a":01}`), BadJSON},
		"NaN":                    {body(`{"a":NaN}`), BadJSON},
		"escaped NUL":            {body(`{"orderId":"o\u0000"}`), NULCharacter},
		"raw NUL":                {body("{\"orderId\":\"o\x00\"}"), NULCharacter},
		"NUL in an unknown name": {body(`{"x":{"\u0000":1}}`), NULCharacter},
		"data is a list":         {body(`[1]`), FieldInvalid},
		"no id":                  {spoil(func(d *Delivery) { d.MessageID = "" }), IDMissing},
		"long id":                {spoil(func(d *Delivery) { d.MessageID = strings.Repeat("ü", MaxID+1) }), IDInvalid},
		"control in id":          {spoil(func(d *Delivery) { d.MessageID = "m\x1b1" }), IDInvalid},
		"NUL in id":              {spoil(func(d *Delivery) { d.MessageID = "m\x00" }), IDInvalid},
		"blank id":               {spoil(func(d *Delivery) { d.MessageID = "  " }), IDInvalid},
		"id not UTF-8":           {spoil(func(d *Delivery) { d.MessageID = "\xff" }), IDInvalid},
		"no type":                {spoil(func(d *Delivery) { d.Type = "" }), TypeUnknown},
		"other type":             {spoil(func(d *Delivery) { d.Type = "order.shipped.v1" }), TypeUnknown},
		"type without version":   {spoil(func(d *Delivery) { d.Type = "order.closed" }), TypeUnknown},
		"odd version":            {spoil(func(d *Delivery) { d.Type = "order.closed.v+1" }), TypeUnknown},
		"an event of ours":       {spoil(func(d *Delivery) { d.Type = TypeCouponLocked }), TypeUnknown},
		"newer version":          {spoil(func(d *Delivery) { d.Type = "order.closed.v2" }), SchemaUnknown},
		"not JSON by its word":   {spoil(func(d *Delivery) { d.ContentType = "application/x-protobuf" }), FieldInvalid},
		"batch":                  {spoil(func(d *Delivery) { d.ContentType = "application/cloudevents-batch+json" }), FieldInvalid},
		"control in correlation": {spoil(func(d *Delivery) { d.CorrelationID = "a\nb" }), FieldInvalid},
		"no time":                {spoil(func(d *Delivery) { d.Timestamp, d.Body = time.Time{}, []byte(`{"orderId":"o1"}`) }), TimeMissing},
		"time before 1970":       {spoil(func(d *Delivery) { d.Timestamp = time.Unix(-1, 0) }), TimeInvalid},
		"occurredAt, no zone": {spoil(func(d *Delivery) {
			d.Timestamp, d.Body = time.Time{}, []byte(`{"occurredAt":"2026-03-01T12:00:00"}`)
		}), TimeInvalid},
		"time header, no zone": {spoil(func(d *Delivery) {
			d.Headers = map[string]string{"cloudEvents:time": "2026-03-01T12:00:00"}
		}), TimeInvalid},
		"newer CloudEvents, header": {spoil(func(d *Delivery) {
			d.Headers = map[string]string{"cloudEvents_specversion": "2.0"}
		}), SchemaUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(tc.delivery)
			if got := reasonOf(t, err); got != tc.want {
				t.Errorf("got %s, want %s (%v)", got, tc.want, err)
			}
		})
	}
}

func TestParseStructuredReasons(t *testing.T) {
	const head = `"specversion":"1.0","id":"m1","type":"order.closed.v1","time":"2026-03-01T12:00:00Z"`
	for name, tc := range map[string]struct {
		delivery Delivery
		want     Reason
	}{
		"no specversion": {structured(`{"id":"m1","type":"order.closed.v1","data":{}}`), FieldMissing},
		"newer":          {structured(`{"specversion":"2.0","id":"m1","type":"order.closed.v1","data":{}}`), SchemaUnknown},
		"no id":          {structured(`{"specversion":"1.0","type":"order.closed.v1","data":{}}`), IDMissing},
		"number as id":   {structured(`{"specversion":"1.0","id":7,"type":"order.closed.v1","data":{}}`), FieldInvalid},
		"no data":        {structured(`{` + head + `}`), FieldMissing},
		"null data":      {structured(`{` + head + `,"data":null}`), FieldInvalid},
		"text data":      {structured(`{` + head + `,"data":"x"}`), FieldInvalid},
		"data twice":     {structured(`{` + head + `,"data":{},"data_base64":"e30="}`), FieldInvalid},
		"bad base64":     {structured(`{` + head + `,"data_base64":"%"}`), FieldInvalid},
		"base64 of junk": {structured(`{` + head + `,"data_base64":"eA=="}`), BadJSON},
		"other content":  {structured(`{` + head + `,"datacontenttype":"text/xml","data":{}}`), FieldInvalid},
		"a list":         {structured(`[]`), FieldInvalid},
		"time, no zone":  {structured(`{"specversion":"1.0","id":"m1","type":"order.closed.v1","time":"2026-03-01T12:00:00","data":{}}`), TimeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(tc.delivery)
			if got := reasonOf(t, err); got != tc.want {
				t.Errorf("got %s, want %s (%v)", got, tc.want, err)
			}
		})
	}
}

// reasonOf is the reason of an error of this package, or "" for none.
func reasonOf(t *testing.T, err error) Reason {
	t.Helper()
	if err == nil {
		return ""
	}
	var fault *Malformed
	if !errors.As(err, &fault) {
		t.Fatalf("%T is no *Malformed: %v", err, err)
	}
	return fault.Reason
}

func TestParseTakesWhatTheLimitsAllow(t *testing.T) {
	d := plain()
	d.MessageID = strings.Repeat("ü", MaxID)
	d.Body = []byte(`{"orderId":"o1","reason":"x","pad":"` + strings.Repeat("x", MaxBody-38) + `"}`)
	if len(d.Body) != MaxBody {
		t.Fatalf("the body has %d bytes, want exactly %d", len(d.Body), MaxBody)
	}
	if _, err := Parse(d); err != nil {
		t.Errorf("largest body: %v", err)
	}
	d.Body = []byte(`{"x":` + strings.Repeat("[", MaxDepth-1) + strings.Repeat("]", MaxDepth-1) + `}`)
	if _, err := Parse(d); err != nil {
		t.Errorf("deepest body: %v", err)
	}
}

func TestParseTime(t *testing.T) {
	early := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		header    string
		timestamp time.Time
		want      time.Time
	}{
		"header first":               {"2026-03-01T12:00:00.1234567Z", noon.Add(time.Hour), noon.Add(123456 * time.Microsecond)},
		"then the AMQP timestamp":    {"", noon.In(time.FixedZone("", 3600)), noon},
		"then the data's occurredAt": {"", time.Time{}, early},
	} {
		t.Run(name, func(t *testing.T) {
			d := plain()
			d.Timestamp = tc.timestamp
			if tc.header != "" {
				d.Headers = map[string]string{"cloudEvents:time": tc.header}
			}
			e, err := Parse(d)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, e.Time); diff != "" || e.Time.Location() != time.UTC {
				t.Errorf("time in %s (-want +got):\n%s", e.Time.Location(), diff)
			}
			fact, err := DecodeOrderClosed(e)
			if err != nil {
				t.Fatal(err)
			}
			if !fact.OccurredAt.Equal(early) {
				t.Errorf("the data's occurredAt must win: got %s", fact.OccurredAt)
			}
		})
	}
}

func TestParseDropsBrokenTraceParent(t *testing.T) {
	const good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for text, want := range map[string]string{
		good: good, strings.ToUpper(good): "", good[:54]: "", "ff" + good[2:]: "",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": "",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01": "",
		"00-4bf92f3577b34da6a3ce929d0e0e4736+00f067aa0ba902b7-01": "",
	} {
		d := plain()
		d.Headers = map[string]string{"traceparent": text}
		e, err := Parse(d)
		if err != nil {
			t.Fatal(err)
		}
		if e.TraceParent != want {
			t.Errorf("%q: got %q, want %q", text, e.TraceParent, want)
		}
	}
}
