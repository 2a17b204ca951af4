package messages

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// releaseData is a command with one member more, for tests to spoil.
func releaseData(more string) string {
	return `{"idempotencyKey":"k1","code":"C1","leaseToken":"t1"` + more + `}`
}

func TestCommandsSayWhereTheyWantTheirAnswer(t *testing.T) {
	parse := func(queue string) (Envelope, error) {
		return Parse(Delivery{
			Body: []byte(releaseData("")), MessageID: "m1", Type: TypeReleaseLease, Timestamp: noon, ReplyTo: queue,
		})
	}
	for _, queue := range []string{
		"", "checkout-replies", "couponlease-replies", "coupon.replies", strings.Repeat("q", 255),
		"amq.rabbitmq.reply-to", "amq.rabbitmq.reply-to.g1h2AA5yZXBseUAyNzQ0MDY0OQAAC", "amq.gen-JzTY20BRgKO-HjmUJj0wLg",
	} {
		if e, err := parse(queue); err != nil || e.ReplyTo != queue {
			t.Errorf("%q: got %q, %v", queue, e.ReplyTo, err)
		}
	}
	for _, queue := range []string{
		"coupon-commands", "coupon-order-placed", "coupon-dead", "coupon-", "coupon.delay-level-03",
		"amq.rabbitmq.trace", "amq.rabbitmq.reply-to2", "amq.", "amq.genuine", strings.Repeat("q", 256),
		strings.Repeat("ü", 128), "a\nb", " ", "\xff",
	} {
		if _, err := parse(queue); reasonOf(t, err) != FieldInvalid {
			t.Errorf("%q: got %v, want %s", queue, err, FieldInvalid)
		}
	}
}

func TestFactsIgnoreReplyTo(t *testing.T) {
	for _, queue := range []string{"shop-replies", "coupon-commands", "a\nb"} {
		d := plain()
		d.ReplyTo = queue
		if e, err := Parse(d); err != nil || e.ReplyTo != "" {
			t.Errorf("%q: got %q, %v, want no reply-to", queue, e.ReplyTo, err)
		}
	}
}

func TestEveryWorkQueueIsRefusedAsReplyTo(t *testing.T) {
	for _, contract := range Contracts() {
		if contract.Queue != "" && checkReplyTo(contract.Queue) == nil {
			t.Errorf("%s would be written to", contract.Queue)
		}
	}
}

func TestContentHash(t *testing.T) {
	hash := func(messageType, data string) [32]byte { return envelope(t, messageType, data).ContentHash() }
	reference := hash(TypeReleaseLease, releaseData(""))
	for _, same := range []string{
		strings.Replace(releaseData(""), `"k1"`, `"k2"`, 1),
		strings.Replace(releaseData(""), `"idempotencyKey":"k1",`, "", 1),
		releaseData(`,"occurredAt":"2026-03-01T12:00:00Z"`), releaseData(`,"occurredAt":null`),
		`{"leaseToken" : "t1", "occurredAt":"x", "code":"\u00431", "idempotencyKey":7}`,
	} {
		if hash(TypeReleaseLease, same) != reference {
			t.Errorf("%s: another content, want the same", same)
		}
	}
	for _, other := range []string{
		strings.Replace(releaseData(""), `"t1"`, `"t2"`, 1), releaseData(`,"reason":"x"`), releaseData(`,"reason":null`),
		releaseData(`,"inner":{"idempotencyKey":"k1"}`), `{}`,
	} {
		if hash(TypeReleaseLease, other) == reference {
			t.Errorf("%s: the same content, want another", other)
		}
	}
	if hash(TypeReleaseLease, releaseData(`,"inner":{"occurredAt":1}`)) == hash(TypeReleaseLease, releaseData(`,"inner":{"occurredAt":2}`)) {
		t.Error("a member further inside makes no difference")
	}
	if hash(TypeRenewLease, releaseData("")) == reference {
		t.Error("the type makes no difference")
	}
}

func TestContentHashIsHashWithoutKeyAndTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := anyObject(2).Draw(t, "data")
		e, err := Parse(Delivery{Body: []byte(value.write(t)), MessageID: "m1", Type: TypeVoidCoupon, Timestamp: noon})
		if err != nil {
			t.Fatal(err)
		}
		if e.ContentHash() != e.Hash {
			t.Fatalf("%s: data without key and time has another content hash", e.Data)
		}
	})
}

func TestContentHashOfAnEnvelopeThatWasNotParsed(t *testing.T) {
	parsed := envelope(t, TypeReleaseLease, releaseData(""))
	made := Envelope{Type: TypeReleaseLease, Data: []byte(releaseData(""))}
	if made.ContentHash() != parsed.ContentHash() {
		t.Error("the same data by hand has another content hash")
	}
	broken, other := Envelope{Type: TypeReleaseLease, Data: []byte(`{`)}, Envelope{Type: TypeReleaseLease, Data: []byte(`[`)}
	if broken.ContentHash() == other.ContentHash() {
		t.Error("different data that is no JSON has the same content hash")
	}
}

func TestLeasesOfCommandsHaveAnEnd(t *testing.T) {
	for messageType, data := range map[string]string{
		TypeLockCoupon:      `{"idempotencyKey":"k","code":"C1","orderId":"q1","leaseSeconds":%s}`,
		TypeRedeemRequested: `{"requestId":"r1","code":"C1","leaseSeconds":%s}`,
		TypeSwapCoupons:     `{"idempotencyKey":"k","orderId":"o1","drop":["C1"],"leaseSeconds":%s}`,
	} {
		if _, err := decoders[messageType](envelope(t, messageType, fmt.Sprintf(data, "60"))); err != nil {
			t.Errorf("%s for 60 s: %v", messageType, err)
		}
		if _, err := decoders[messageType](envelope(t, messageType, fmt.Sprintf(data, "null"))); reasonOf(t, err) != FieldInvalid {
			t.Errorf("%s without end: got %v, want %s", messageType, err, FieldInvalid)
		}
	}
	renewed, err := DecodeRenewLease(envelope(t, TypeRenewLease, releaseData(`,"leaseSeconds":null`)))
	if err != nil || !renewed.Lease.IsOpen() {
		t.Errorf("renewed without end: got %s, %v", renewed.Lease, err)
	}
}

func TestDecodeLeaseVersion(t *testing.T) {
	for more, want := range map[string]int64{"": 0, `,"leaseVersion":null`: 0, `,"leaseVersion":7`: 7} {
		c, err := DecodeReleaseLease(envelope(t, TypeReleaseLease, releaseData(more)))
		if err != nil || c.LeaseVersion != want {
			t.Errorf("%q: got %d, %v, want %d", more, c.LeaseVersion, err, want)
		}
	}
	for _, more := range []string{`,"leaseVersion":0`, `,"leaseVersion":-1`, `,"leaseVersion":"2"`, `,"leaseVersion":9007199254740992`} {
		if _, err := DecodeReleaseLease(envelope(t, TypeReleaseLease, releaseData(more))); reasonOf(t, err) != FieldInvalid {
			t.Errorf("%s: got %v, want %s", more, err, FieldInvalid)
		}
	}
}

func TestDecodeSwapCoupons(t *testing.T) {
	swap := func(more string) (SwapCoupons, error) {
		return DecodeSwapCoupons(envelope(t, TypeSwapCoupons, `{"idempotencyKey":"k","orderId":"o1"`+more+`}`))
	}
	full := func(name, item string) string {
		return `,"` + name + `":[` + strings.Repeat(item+",", MaxSwap-1) + item + `]`
	}
	for more, want := range map[string]SwapCoupons{
		`,"drop":["C1"],"add":null`: {Drop: []string{"C1"}},
		`,"add":[{"code":"C2","discount":{"amount":5,"currency":"EUR"}}],"drop":[]`: {
			Add: []SwapItem{{Code: "C2", Discount: &Money{Amount: 5, Currency: "EUR"}}},
		},
	} {
		want.OrderID, want.CommandHead = "o1", CommandHead{IdempotencyKey: "k", OccurredAt: noon}
		got, err := swap(more)
		if err != nil {
			t.Errorf("%s: %v", more, err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(LeaseTerm{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", more, diff)
		}
	}
	if _, err := swap(full("drop", `"C1"`) + full("add", `{"code":"C2"}`)); err != nil {
		t.Errorf("the longest lists: %v", err)
	}
	for name, more := range map[string]string{
		"nothing": "", "empty lists": `,"drop":[],"add":[]`, "null lists": `,"drop":null,"add":null`,
		"too many dropped": strings.Replace(full("drop", `"C1"`), "[", `["C0",`, 1),
		"too many added":   strings.Replace(full("add", `{"code":"C2"}`), "[", `[{"code":"C0"},`, 1),
		"no list":          `,"drop":"C1"`, "no text": `,"drop":["C1",7]`, "no object": `,"add":["C1"]`,
	} {
		if _, err := swap(more); reasonOf(t, err) != FieldInvalid {
			t.Errorf("%s: got %v, want %s", name, err, FieldInvalid)
		}
	}
}

func TestRedeemNumberFitsWhereAnOrderDoes(t *testing.T) {
	longest := strings.Repeat("ü", MaxRequestID)
	asked, err := DecodeRedeemRequested(envelope(t, TypeRedeemRequested, `{"requestId":"`+longest+`","code":"C1"}`))
	if err != nil {
		t.Fatal(err)
	}
	number := RedeemNumber(asked.RequestID)
	if want := "RD" + longest; number != want {
		t.Errorf("got %q, want %q", number, want)
	}
	data := `{"idempotencyKey":"k","code":"C1","leaseToken":"t","orderId":"` + number + `"}`
	if _, err := DecodeRedeemCoupon(envelope(t, TypeRedeemCoupon, data)); err != nil {
		t.Errorf("the confirmation of the longest request: %v", err)
	}
	_, err = DecodeRedeemRequested(envelope(t, TypeRedeemRequested, `{"requestId":"`+longest+`x","code":"C1"}`))
	if reasonOf(t, err) != FieldInvalid || !strings.Contains(err.Error(), "1 to 190 characters") {
		t.Errorf("a longer request: got %v", err)
	}
}

func TestReplySaysWhetherTheCommandWasAccepted(t *testing.T) {
	for outcome, want := range map[string]bool{
		"OK": true, "DUPLICATE": true, "EXISTING_REDEMPTION": true,
		"RETURN:FULL": true, "RETIRE:FULL": true, "KEEP:PARTIAL": true, "RETURN": false, "RETURNED": false,
		"": false, "ALREADY_USED": false, "IDEMPOTENCY_MISMATCH": false, "ILLEGAL_STATE:USED": false, "REJECTED": false,
	} {
		reply := CommandReply{Command: TypeRedeemCoupon, Outcome: outcome, LeaseToken: secret}
		if got := reply.Accepted(); got != want {
			t.Errorf("%q: got %t, want %t", outcome, got, want)
		}
		var refused *Refused
		if got := errors.As(reply.Err(), &refused); got == want || got && refused.Outcome != outcome {
			t.Errorf("%q as an error: got %v", outcome, reply.Err())
		} else if got && reply.Err().Error() != "coupon.redeem.v1 refused: "+outcome {
			t.Errorf("got %q", reply.Err())
		}
	}
}

func TestWithLeaseToken(t *testing.T) {
	reply := CommandReply{Change: Change{CouponID: "c1", OccurredAt: noon}, Command: TypeLockCoupon, Outcome: OutcomeOK, State: "LOCKED"}
	bare, _, err := Encode("m1", "", reply)
	if err != nil {
		t.Fatal(err)
	}
	reply.LeaseToken = `odd"but\fair`
	want, _, err := Encode("m1", "", reply)
	if err != nil {
		t.Fatal(err)
	}
	before := string(bare)
	got, err := WithLeaseToken(bare, reply.LeaseToken)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("body (-encoded +put in):\n%s", diff)
	}
	if string(bare) != before {
		t.Error("the stored body was changed")
	}
	for body, want := range map[string]string{
		`{}`:                `{"leaseToken":"t"}`,
		"\n{ \"a\": {} }\n": "\n{ \"a\": {} ,\"leaseToken\":\"t\"}\n",
	} {
		if got, err := WithLeaseToken([]byte(body), "t"); err != nil || string(got) != want || !json.Valid(got) {
			t.Errorf("%s: got %s, %v, want %s", body, got, err, want)
		}
	}
}

func TestWithLeaseTokenRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		body  string
		token Token
	}{
		"no JSON": {`{`, secret}, "a list": {`[]`, secret}, "nothing": {``, secret}, "no token": {`{}`, ""},
		"a token already": {`{"leaseToken":"` + secret + `"}`, secret}, "null for one": {`{"leaseToken":null}`, secret},
		"a long token": {`{}`, Token(strings.Repeat(secret, 10))}, "a control in it": {`{}`, secret + "\n"},
		"a body too long": {`{"a":"` + strings.Repeat("a", MaxBody-12) + `"}`, secret},
	} {
		got, err := WithLeaseToken([]byte(tc.body), tc.token)
		if err == nil || got != nil {
			t.Errorf("%s: got %d bytes, %v, want an error", name, len(got), err)
		} else if strings.Contains(err.Error(), secret[:6]) {
			t.Errorf("%s: the error shows the token: %v", name, err)
		}
	}
}

func BenchmarkWithLeaseToken(b *testing.B) {
	body, _, err := Encode("m1", "", CommandReply{
		Change:  Change{CouponID: "spring-7f3k9", OrderID: "quote-55", StateVersion: 2, OccurredAt: noon},
		Command: TypeLockCoupon, IdempotencyKey: "0198c0de-0000-7000-8000-000000000001", Outcome: OutcomeOK, State: "LOCKED",
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := WithLeaseToken(body, secret); err != nil {
			b.Fatal(err)
		}
	}
}

// TestRedeemNumbersAreKeysOfTillsAlone: nobody else can take the key of a till's
// request.
func TestRedeemNumbersAreKeysOfTillsAlone(t *testing.T) {
	_, err := DecodeLockCoupon(envelope(t, TypeLockCoupon, `{"idempotencyKey":"RD1001","code":"C","orderId":"Q"}`))
	var malformed *Malformed
	if !errors.As(err, &malformed) || malformed.Reason != FieldInvalid || !strings.Contains(malformed.Detail, "RD") {
		t.Errorf("got %v", err)
	}
	if _, err := DecodeLockCoupon(envelope(t, TypeLockCoupon, `{"idempotencyKey":"rd1001","code":"C","orderId":"Q"}`)); err != nil {
		t.Errorf("another key: %v", err)
	}
}
