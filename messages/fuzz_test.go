package messages

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// FuzzParse: whatever comes in, reading it ends in a message or a *Malformed,
// and what is read again gives the same hash.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatalf("no samples in testdata (%v); run: go run ./internal/contracts", err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body, "application/json", "m1", TypeOrderPlaced, "", int64(1))
		f.Add(body, "application/cloudevents+json", "", "", "2026-03-01T12:00:00Z", int64(0))
	}
	f.Add([]byte(`{"a":"\ud83d\ude00"}`), "", "m\x00", "order.placed.v9", "x", int64(-1))
	f.Fuzz(func(t *testing.T, body []byte, contentType, id, messageType, when string, seconds int64) {
		d := Delivery{
			Body: body, ContentType: contentType, MessageID: id, Type: messageType,
			Timestamp: time.Unix(seconds, 0), Headers: map[string]string{"cloudEvents:time": when},
		}
		e, err := Parse(d)
		if err != nil {
			mustBeMalformed(t, err)
			return
		}
		if !json.Valid(body) || !json.Valid(e.Data) {
			t.Fatalf("took what is no JSON: %q", body)
		}
		for _, decode := range decoders {
			if _, err := decode(e); err != nil {
				mustBeMalformed(t, err)
			}
		}
		again, err := Parse(Delivery{Body: e.Data, MessageID: e.ID, Type: e.Type, Timestamp: e.Time})
		if err != nil || again.Hash != e.Hash {
			t.Fatalf("the data read again: %v, same hash: %t", err, again.Hash == e.Hash)
		}
	})
}

func mustBeMalformed(t *testing.T, err error) {
	t.Helper()
	var fault *Malformed
	if !errors.As(err, &fault) || fault.Reason == "" {
		t.Fatalf("%T is no *Malformed with a reason: %v", err, err)
	}
}

// decoders has the Decode function of every message that comes in.
var decoders = map[string]func(Envelope) (Message, error){
	TypeOrderPlaced:      decoder(DecodeOrderPlaced),
	TypePaymentSucceeded: decoder(DecodePaymentSucceeded),
	TypeOrderClosed:      decoder(DecodeOrderClosed),
	TypeRefundApproved:   decoder(DecodeRefundApproved),
	TypeLeaseExpired:     decoder(DecodeLeaseExpired),
	TypeLockCoupon:       decoder(DecodeLockCoupon),
	TypeRenewLease:       decoder(DecodeRenewLease),
	TypeReleaseLease:     decoder(DecodeReleaseLease),
	TypeRedeemCoupon:     decoder(DecodeRedeemCoupon),
	TypeRedeemRequested:  decoder(DecodeRedeemRequested),
	TypeSwapCoupons:      decoder(DecodeSwapCoupons),
	TypeReturnCoupon:     decoder(DecodeReturnCoupon),
	TypeVoidCoupon:       decoder(DecodeVoidCoupon),
	TypeReverseChange:    decoder(DecodeReverseChange),
	TypeClaimCoupon:      decoder(DecodeClaimCoupon),
	TypeIssueCoupons:     decoder(DecodeIssueCoupons),
}

func decoder[M Message](decode func(Envelope) (M, error)) func(Envelope) (Message, error) {
	return func(e Envelope) (Message, error) { return decode(e) }
}
