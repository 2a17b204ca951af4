package messages

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func envelope(t *testing.T, messageType, data string) Envelope {
	t.Helper()
	e, err := Parse(Delivery{Body: []byte(data), MessageID: "m1", Type: messageType, Timestamp: noon})
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	return e
}

func order(more string) string {
	return `{"orderId":"o1","customerId":"u1","coupons":[{"code":"C1"}],"payable":{"amount":0,"currency":"EUR"}` + more + `}`
}

func TestDecodeOrderPlacedFaults(t *testing.T) {
	coupons := func(list string) string {
		return strings.Replace(order(""), `[{"code":"C1"}]`, list, 1)
	}
	long := strings.Repeat("x", MaxID+1)
	for name, tc := range map[string]struct {
		data string
		want Malformed
	}{
		"no order":             {strings.Replace(order(""), `"orderId":"o1",`, "", 1), Malformed{FieldMissing, "$.orderId", ""}},
		"null customer":        {strings.Replace(order(""), `"u1"`, "null", 1), Malformed{FieldMissing, "$.customerId", ""}},
		"no coupons member":    {strings.Replace(order(""), `"coupons":[{"code":"C1"}],`, "", 1), Malformed{FieldMissing, "$.coupons", ""}},
		"member in other case": {strings.Replace(order(""), `orderId`, "OrderId", 1), Malformed{FieldMissing, "$.orderId", ""}},
		"coupons no list":      {coupons(`{}`), Malformed{FieldInvalid, "$.coupons", "must be an array"}},
		"coupon no object":     {coupons(`[{"code":"C1"},"C2"]`), Malformed{FieldInvalid, "$.coupons[1]", "must be an object"}},
		"coupon without code":  {coupons(`[{"code":"C1"},{}]`), Malformed{FieldMissing, "$.coupons[1].code", ""}},
		"too many coupons":     {coupons(`[` + strings.Repeat(`{"code":"C"},`, MaxCoupons) + `{"code":"C"}]`), Malformed{FieldInvalid, "$.coupons", "must have 0 to 64 elements"}},
		"discount below 0":     {coupons(`[{"code":"C1","discount":{"amount":-1,"currency":"EUR"}}]`), Malformed{FieldInvalid, "$.coupons[0].discount.amount", "must be an integer from 0 to 1000000000000000"}},
		"payable below 0":      {strings.Replace(order(""), `:0,`, ":-1,", 1), Malformed{FieldInvalid, "$.payable.amount", "must be an integer from 0 to 1000000000000000"}},
		"payable too much":     {strings.Replace(order(""), `:0,`, ":1000000000000001,", 1), Malformed{FieldInvalid, "$.payable.amount", "must be an integer from 0 to 1000000000000000"}},
		"payable a fraction":   {strings.Replace(order(""), `:0,`, ":19.99,", 1), Malformed{FieldInvalid, "$.payable.amount", "must be an integer from 0 to 1000000000000000"}},
		"payable in words":     {strings.Replace(order(""), `:0,`, `:"0",`, 1), Malformed{FieldInvalid, "$.payable.amount", "must be an integer"}},
		"currency in words":    {strings.Replace(order(""), `"EUR"`, `"euro"`, 1), Malformed{FieldInvalid, "$.payable.currency", "must be an ISO 4217 code of three capital letters"}},
		"no currency":          {strings.Replace(order(""), `,"currency":"EUR"`, "", 1), Malformed{FieldMissing, "$.payable.currency", ""}},
		"lease of 0":           {order(`,"leaseSeconds":0`), Malformed{FieldInvalid, "$.leaseSeconds", "must be an integer from 1 to 34560000"}},
		"lease over 400 days":  {order(`,"leaseSeconds":34560001`), Malformed{FieldInvalid, "$.leaseSeconds", "must be an integer from 1 to 34560000"}},
		"lease as text":        {order(`,"leaseSeconds":"900"`), Malformed{FieldInvalid, "$.leaseSeconds", "must be an integer"}},
		"revision below 0":     {order(`,"revision":-1`), Malformed{FieldInvalid, "$.revision", "must be an integer from 0 to 9007199254740991"}},
		"long quote":           {order(`,"quoteId":"` + long + `"`), Malformed{FieldInvalid, "$.quoteId", "must have 1 to 200 characters, none of them a control character"}},
		"empty supersedes":     {order(`,"supersedes":""`), Malformed{FieldInvalid, "$.supersedes", "must have 1 to 200 characters, none of them a control character"}},
		"control in parent":    {order(`,"parentOrderId":"a\tb"`), Malformed{FieldInvalid, "$.parentOrderId", "must have 1 to 200 characters, none of them a control character"}},
		"time without zone":    {order(`,"occurredAt":"2026-03-01T12:00:00"`), Malformed{TimeInvalid, "$.occurredAt", "must be " + timeExpected}},
		"time as a number":     {order(`,"occurredAt":1772366400`), Malformed{TimeInvalid, "$.occurredAt", "must be a string: " + timeExpected}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := DecodeOrderPlaced(envelope(t, TypeOrderPlaced, tc.data))
			var got *Malformed
			if !errors.As(err, &got) {
				t.Fatalf("got %v, want a *Malformed", err)
			}
			if diff := cmp.Diff(tc.want, *got); diff != "" {
				t.Errorf("fault (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodePathsAreRelativeToTheData(t *testing.T) {
	e, err := Parse(structured(`{"specversion":"1.0","id":"m1","type":"order.placed.v1","time":"2026-03-01T12:00:00Z",` +
		`"data":{"orderId":"o1","customerId":"u1","coupons":[{"code":"C1"},{"code":7}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = DecodeOrderPlaced(e)
	var fault *Malformed
	if !errors.As(err, &fault) || fault.Path != "$.coupons[1].code" {
		t.Errorf("got %v, want the path $.coupons[1].code", err)
	}
}

func TestDecodeLeaseTerm(t *testing.T) {
	for more, want := range map[string]LeaseTerm{
		"":                     {},
		`,"leaseSeconds":null`: OpenLease(),
		`,"leaseSeconds":900`:  LeaseFor(900),
	} {
		got, err := DecodeOrderPlaced(envelope(t, TypeOrderPlaced, order(more)))
		if err != nil {
			t.Fatal(err)
		}
		if got.Lease != want {
			t.Errorf("%q: got %s, want %s", more, got.Lease, want)
		}
	}
	if seconds, ok := LeaseFor(900).Seconds(); !ok || seconds != 900 {
		t.Errorf("got %d, %t, want 900, true", seconds, ok)
	}
	for _, term := range []LeaseTerm{{}, OpenLease(), LeaseFor(-5)} {
		if seconds, ok := term.Seconds(); ok || seconds != 0 {
			t.Errorf("%s: got %d, %t, want 0, false", term, seconds, ok)
		}
	}
}

func TestDecodeToleratesUnknownAndNullMembers(t *testing.T) {
	more := `,"quoteId":null,"supersedes":null,"parentOrderId":null,"revision":null,"occurredAt":null,"giftWrap":{"paper":[1,2]}`
	got, err := DecodeOrderPlaced(envelope(t, TypeOrderPlaced, order(more)))
	if err != nil {
		t.Fatal(err)
	}
	want := OrderPlaced{
		OrderID: "o1", CustomerID: "u1", Coupons: []CouponRef{{Code: "C1"}},
		Payable: Money{Currency: "EUR"}, OccurredAt: noon,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(LeaseTerm{})); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestDecodePaymentAmountAndDiscounted(t *testing.T) {
	payment := func(amount, more string) string {
		return `{"orderId":"o1","paymentId":"p1","amount":{"amount":` + amount + `,"currency":"EUR"}` + more + `}`
	}
	for more, want := range map[string]bool{"": true, `,"discounted":null`: true, `,"discounted":true`: true, `,"discounted":false`: false} {
		p, err := DecodePaymentSucceeded(envelope(t, TypePaymentSucceeded, payment("1", more)))
		if err != nil {
			t.Fatal(err)
		}
		if p.IsDiscounted() != want {
			t.Errorf("%q: got %t, want %t", more, p.IsDiscounted(), want)
		}
	}
	_, err := DecodePaymentSucceeded(envelope(t, TypePaymentSucceeded, payment("0", "")))
	if got := reasonOf(t, err); got != FieldInvalid {
		t.Errorf("a payment of nothing: got %v, want %s", err, FieldInvalid)
	}
	_, err = DecodePaymentSucceeded(envelope(t, TypePaymentSucceeded, payment("1", `,"discounted":"no"`)))
	if got := reasonOf(t, err); got != FieldInvalid {
		t.Errorf("discounted as text: got %v, want %s", err, FieldInvalid)
	}
}

func TestDecodeRefusesAnotherType(t *testing.T) {
	_, err := DecodeOrderPlaced(envelope(t, TypeOrderClosed, closedData))
	if got := reasonOf(t, err); got != TypeUnknown {
		t.Errorf("got %v, want %s", err, TypeUnknown)
	}
}

func TestDecodeReadsTheDataThatTheEnvelopeHasNow(t *testing.T) {
	e := envelope(t, TypeOrderClosed, closedData)
	e.Data = []byte(strings.Replace(closedData, "cancelled", "timeout", 1))
	edited, err := DecodeOrderClosed(e)
	if err != nil {
		t.Fatal(err)
	}
	if edited.Reason != "timeout" {
		t.Errorf("got %q, want the edited reason", edited.Reason)
	}
	handMade, err := DecodeOrderClosed(Envelope{Type: TypeOrderClosed, Data: []byte(closedData)})
	if err != nil || handMade.Reason != "cancelled" {
		t.Errorf("an envelope without a parsed document: got %+v, %v", handMade, err)
	}
	e.Data = []byte(`[]`)
	if _, err := DecodeOrderClosed(e); reasonOf(t, err) != FieldInvalid {
		t.Errorf("data that is a list: got %v, want %s", err, FieldInvalid)
	}
}
