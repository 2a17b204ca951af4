package messages

import (
	"testing"
	"time"
)

const orderBody = `{"orderId":"o-100200300","customerId":"u-778899","coupons":[{"code":"SPRING-7F3K9","leaseToken":"3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","discount":{"amount":500,"currency":"EUR"}}],` +
	`"payable":{"amount":1999,"currency":"EUR"},"leaseSeconds":900,"quoteId":"q-1","occurredAt":"2026-03-01T00:00:00.123456Z"}`

func orderDelivery() Delivery {
	return Delivery{
		Body: []byte(orderBody), ContentType: "application/json", MessageID: "0198c0de-0000-7000-8000-000000000001",
		Type: TypeOrderPlaced, Timestamp: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
	}
}

func BenchmarkParseOrderPlaced(b *testing.B) {
	d := orderDelivery()
	b.ReportAllocs()
	b.SetBytes(int64(len(d.Body)))
	for b.Loop() {
		e, err := Parse(d)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := DecodeOrderPlaced(e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeCouponLocked(b *testing.B) {
	at := time.Date(2026, 3, 1, 0, 0, 0, 123456000, time.UTC)
	event := CouponLocked{
		Change: Change{
			CouponID: "spring-7f3k9", OrderID: "o-100200300", StateVersion: 2,
			OperationID: "0198c0de-0000-7000-8000-000000000002", LeaseID: "0198c0de-0000-7000-8000-000000000003",
			CausationID: "0198c0de-0000-7000-8000-000000000001", OccurredAt: at,
		},
		State: "LOCKED", Purpose: "ORDER", Deadline: at.Add(15 * time.Minute),
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Encode("0198c0de-0000-7000-8000-000000000004", "", event); err != nil {
			b.Fatal(err)
		}
	}
}
