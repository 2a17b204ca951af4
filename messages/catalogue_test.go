package messages

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestContracts(t *testing.T) {
	count := map[Kind]int{}
	types, names := map[string]bool{}, map[string]bool{}
	for _, c := range Contracts() {
		count[c.Kind]++
		if types[c.Type] || names[c.Name] {
			t.Errorf("%s (%s) is listed twice", c.Type, c.Name)
		}
		types[c.Type], names[c.Name] = true, true
		if (c.Queue != "") != c.Kind.Incoming() {
			t.Errorf("%s has the queue %q, incoming %t", c.Type, c.Queue, c.Kind.Incoming())
		}
		if _, ok := decoders[c.Type]; ok != c.Kind.Incoming() {
			t.Errorf("%s has a Decode function: %t, incoming %t", c.Type, ok, c.Kind.Incoming())
		}
		if messageType, ok := TypeOf(c.Name); !ok || messageType != c.Type {
			t.Errorf("TypeOf(%s): got %q, %t", c.Name, messageType, ok)
		}
		if name, ok := NameOf(c.Type); !ok || name != c.Name {
			t.Errorf("NameOf(%s): got %q, %t", c.Type, name, ok)
		}
	}
	want := map[Kind]int{KindFact: 4, KindTimer: 1, KindCommand: 11, KindEvent: 18, KindReply: 1}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("messages by kind (-want +got):\n%s", diff)
	}
	for _, m := range outgoing {
		if !types[m.MessageType()] {
			t.Errorf("%T has the type %q, which is not listed", m, m.MessageType())
		}
	}
}

func TestContractsCannotBeChanged(t *testing.T) {
	Contracts()[0].Type = "spoiled"
	if got := Contracts()[0].Type; got != TypeOrderPlaced {
		t.Errorf("got %q, want %q", got, TypeOrderPlaced)
	}
}

func TestUnknownNamesAreNotFound(t *testing.T) {
	if got, ok := TypeOf("CouponEaten"); ok {
		t.Errorf("TypeOf: got %q, want nothing", got)
	}
	if got, ok := NameOf("coupon.eaten.v1"); ok {
		t.Errorf("NameOf: got %q, want nothing", got)
	}
}

// TestPublicCode has every refusal of a coupon, in the order of precedence, and
// of a claim.
func TestPublicCode(t *testing.T) {
	want := map[string]string{}
	for _, hidden := range []string{
		"UNKNOWN_COUPON", "IDEMPOTENCY_MISMATCH", "TOKEN_MISMATCH", "VOIDED", "REFUNDED", "EXPIRED",
		"ALREADY_LOCKED", "ALREADY_USED", "NOT_OWNER", "TEMPLATE_OFFLINE", "NOT_STARTED",
		"USE_LIMIT_REACHED", "BUDGET_EXHAUSTED", "STACKING_ALL", "LEASE_GONE", "ILLEGAL_STATE",
		"ORDER_ALREADY_CLOSED", "IN_USE", "EXISTING_REDEMPTION", "REJECTED", "RETURNED", "TIME_OUT_OF_RANGE",
		"UNKNOWN_ORDER",
	} {
		want[hidden] = PublicCode("UNKNOWN_COUPON")
	}
	want["VERSION_CONFLICT"], want["RETRYABLE_ERROR"], want["RENEW_CAP"] = PublicTryAgain, PublicTryAgain, PublicLimitReached
	if diff := cmp.Diff(want, publicCodes); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	for _, other := range []string{"", "A_CODE_OF_TOMORROW", "OK", "ILLEGAL_STATE:USED", "REJECTED:VOIDED"} {
		if got := PublicCode(other); got != PublicNotAvailable {
			t.Errorf("PublicCode(%q): got %s, want %s", other, got, PublicNotAvailable)
		}
	}
}

func TestPublicCodeIgnoresWhatFollowsAColon(t *testing.T) {
	for code, want := range map[string]string{
		"RENEW_CAP:2026-03-01": PublicLimitReached, "VERSION_CONFLICT:4": PublicTryAgain, ":RENEW_CAP": PublicNotAvailable,
	} {
		if got := PublicCode(code); got != want {
			t.Errorf("PublicCode(%q): got %s, want %s", code, got, want)
		}
	}
}

func TestPublicClaimReason(t *testing.T) {
	want := map[string]string{
		"QUOTA_EXHAUSTED": "SOLD_OUT", "LIMIT_REACHED": "LIMIT_REACHED", "DAILY_LIMIT_REACHED": "LIMIT_REACHED",
		"IDENTITY_REQUIRED": "SIGN_IN_REQUIRED", "TEMPLATE_PAUSED": "NOT_AVAILABLE", "TEMPLATE_OFFLINE": "NOT_AVAILABLE",
		"UNKNOWN_TEMPLATE": "NOT_AVAILABLE", "IDEMPOTENCY_MISMATCH": "NOT_AVAILABLE", "NOT_STARTED": "NOT_VALID_NOW",
		"EXPIRED": "NOT_VALID_NOW", "RETRYABLE_ERROR": "TRY_AGAIN",
	}
	for code, public := range want {
		if got := PublicClaimReason(code); got != public {
			t.Errorf("%s: got %s, want %s", code, got, public)
		}
	}
	if len(publicClaimReasons) != len(want) {
		t.Errorf("the table has %d codes, this test %d", len(publicClaimReasons), len(want))
	}
	if got := PublicClaimReason("A_CODE_OF_TOMORROW"); got != PublicNotAvailable {
		t.Errorf("got %s, want %s", got, PublicNotAvailable)
	}
}
