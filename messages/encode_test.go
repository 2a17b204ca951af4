package messages

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func lockedEvent() CouponLocked {
	return CouponLocked{
		Change: Change{
			CouponID: "c1", OrderID: "o1", StateVersion: 2, OperationID: "op1", LeaseID: "l1", CausationID: "m1",
			OccurredAt: noon.Add(123456 * time.Microsecond),
		},
		State: "LOCKED", Purpose: "ORDER", Deadline: noon.Add(15 * time.Minute),
	}
}

func TestEncodeWritesBinaryMode(t *testing.T) {
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	body, properties, err := Encode("e1", trace, lockedEvent())
	if err != nil {
		t.Fatal(err)
	}
	const wantBody = `{"couponId":"c1","orderId":"o1","stateVersion":2,"operationId":"op1","leaseId":"l1","causationId":"m1",` +
		`"occurredAt":"2026-03-01T12:00:00.123456Z","state":"LOCKED","purpose":"ORDER","deadline":"2026-03-01T12:15:00Z"}`
	if diff := cmp.Diff(wantBody, string(body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	want := Properties{
		MessageID: "e1", Type: TypeCouponLocked, Source: "couponlease", Subject: "c1",
		Timestamp: noon.Add(123456 * time.Microsecond), ContentType: "application/json", TraceParent: trace,
	}
	if diff := cmp.Diff(want, properties); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
	wantHeaders := map[string]string{
		"cloudEvents:specversion": "1.0", "cloudEvents:id": "e1", "cloudEvents:type": TypeCouponLocked,
		"cloudEvents:source": "couponlease", "cloudEvents:subject": "c1",
		"cloudEvents:time": "2026-03-01T12:00:00.123456Z", "cloudEvents:datacontenttype": "application/json",
		"traceparent": trace,
	}
	if diff := cmp.Diff(wantHeaders, properties.Headers()); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

func TestEncodedMessagesCanBeParsed(t *testing.T) {
	body, properties, err := Encode("e1", "", lockedEvent())
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseOutgoing(properties.Delivery(body))
	if err != nil {
		t.Fatal(err)
	}
	want := Envelope{
		ID: "e1", Type: TypeCouponLocked, Version: 1, Source: Source, Subject: "c1",
		Time: noon.Add(123456 * time.Microsecond), Data: body,
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Envelope{}), cmpopts.IgnoreFields(Envelope{}, "Hash")); diff != "" {
		t.Errorf("envelope (-want +got):\n%s", diff)
	}
	if _, err := Parse(properties.Delivery(body)); reasonOf(t, err) != TypeUnknown {
		t.Errorf("an event came in: got %v, want %s", err, TypeUnknown)
	}
}

func TestEncodeSubject(t *testing.T) {
	for want, m := range map[string]Message{
		"c1": lockedEvent(),
		"o1": CouponLockRejected{Change: Change{OrderID: "o1"}},
		"o2": OrderPlaced{OrderID: "o2"},
		"":   LeaseExpired{Leases: []LeaseDue{{CouponID: "c1", Deadline: noon}}},
	} {
		_, properties, err := Encode("e1", "", m)
		if err != nil {
			t.Fatal(err)
		}
		if properties.Subject != want {
			t.Errorf("%T: got %q, want %q", m, properties.Subject, want)
		}
		if _, ok := properties.Headers()["cloudEvents:subject"]; ok != (want != "") {
			t.Errorf("%T: subject header present: %t, want %t", m, ok, want != "")
		}
	}
}

func TestEncodeWithoutTimeLeavesItToTheSender(t *testing.T) {
	body, properties, err := Encode("m1", "", OrderClosed{OrderID: "o1", Reason: "cancelled"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(properties.Delivery(body)); reasonOf(t, err) != TimeMissing {
		t.Errorf("no time at all: got %v, want %s", err, TimeMissing)
	}
	properties.Timestamp = noon
	if e, err := Parse(properties.Delivery(body)); err != nil || !e.Time.Equal(noon) {
		t.Errorf("the sender's time: got %s, %v", e.Time, err)
	}
}

func TestEncodeFaults(t *testing.T) {
	late := lockedEvent()
	late.OccurredAt = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, _, err := Encode("e1", "", late); err == nil || !strings.Contains(err.Error(), TypeCouponLocked) {
		t.Errorf("a time without an RFC 3339 form: got %v, want an error with the type", err)
	}
	large := ReviewOpened{Reason: strings.Repeat("x", MaxBody)}
	if _, _, err := Encode("e1", "", large); err == nil {
		t.Error("an event over the limit was encoded")
	}
}

func TestLongestTimerFits(t *testing.T) {
	// U+2028 has, with <, > and &, the longest JSON form that Encode gives to a
	// character that an id may hold.
	id := strings.Repeat("\u2028", MaxID-1) + "x"
	due := LeaseDue{
		LeaseID: strings.Repeat("f", 36), CouponID: id, OrderID: id, TokenHash: strings.Repeat("a", 64),
		Version: MaxNumber, Deadline: noon.Add(123456 * time.Microsecond),
	}
	var timer LeaseExpired
	for range MaxLeasesPerTimer {
		timer.Leases = append(timer.Leases, due)
	}
	body, properties, err := Encode("t1", "", timer)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Parse(properties.Delivery(body))
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeLeaseExpired(e)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(timer, got); diff != "" {
		t.Errorf("timer (-want +got):\n%s", diff)
	}
	body, properties, err = Encode("t1", "", LeaseExpired{Leases: make([]LeaseDue, MaxLeasesPerTimer+1)})
	if err != nil {
		t.Fatal(err)
	}
	if e, err = Parse(withTime(properties.Delivery(body))); err != nil {
		t.Fatal(err)
	}
	if _, err = DecodeLeaseExpired(e); reasonOf(t, err) != FieldInvalid {
		t.Errorf("one lease too many: got %v, want %s", err, FieldInvalid)
	}
}

func withTime(d Delivery) Delivery {
	d.Headers["cloudEvents:time"] = "2026-03-01T12:00:00Z"
	return d
}

// TestEventsHoldNoToken looks at every field of everything that goes out, but for
// the reply, which goes to the asker alone.
func TestEventsHoldNoToken(t *testing.T) {
	var look func(t *testing.T, at string, goType reflect.Type)
	look = func(t *testing.T, at string, goType reflect.Type) {
		switch goType.Kind() {
		case reflect.Slice, reflect.Pointer:
			look(t, at, goType.Elem())
		case reflect.Struct:
			for i := range goType.NumField() {
				field := goType.Field(i)
				if strings.Contains(strings.ToLower(field.Name), "token") && field.Name != "TokenHash" {
					t.Errorf("%s.%s goes out", at, field.Name)
				}
				look(t, at+"."+field.Name, field.Type)
			}
		}
		if goType == reflect.TypeFor[Token]() {
			t.Errorf("%s is a token that goes out", at)
		}
	}
	for _, m := range append([]Message{LeaseExpired{}}, outgoing...) {
		if m.MessageType() == TypeCommandReply {
			continue
		}
		look(t, reflect.TypeOf(m).Name(), reflect.TypeOf(m))
	}
}

func TestEveryEventCarriesTheChange(t *testing.T) {
	for _, m := range outgoing {
		field, ok := reflect.TypeOf(m).FieldByName("Change")
		if !ok || !field.Anonymous || field.Type != reflect.TypeFor[Change]() {
			t.Errorf("%T does not embed Change", m)
		}
	}
}

func TestMalformedIsAnError(t *testing.T) {
	err := error(&Malformed{Reason: FieldInvalid, Path: "$.payable", Detail: "must be an object"})
	if got, want := err.Error(), "FIELD_INVALID $.payable: must be an object"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (&Malformed{Reason: EmptyBody}).Error(), "EMPTY_BODY"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var fault *Malformed
	if !errors.As(err, &fault) {
		t.Error("errors.As does not find a *Malformed")
	}
}
