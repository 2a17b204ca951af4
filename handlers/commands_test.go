package handlers

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
	"couponlease/internal/outbox"
	"couponlease/internal/simulate"
	"couponlease/messages"
)

func TestCommandsBecomeRequests(t *testing.T) {
	token := coupon.HashToken("secret-token")
	const head = `"idempotencyKey":"K","occurredAt":"2026-03-01T09:00:00Z"`
	for _, test := range []struct {
		name, messageType, body string
		want                    coupon.Fact
		key, actor              string
	}{
		{"lock", messages.TypeLockCoupon, `{` + head + `,"code":" C1 ","orderId":"Q","customerId":"u1","leaseSeconds":30}`,
			coupon.LockCoupon{Coupon: "c1", Order: "Q", Customer: "u1", Lease: 30 * time.Second}, "K", "shop"},
		{"till", messages.TypeRedeemRequested, `{"requestId":"7","code":"C1","occurredAt":"2026-03-01T09:00:00Z"}`,
			coupon.RedeemRequested{Coupon: "c1", Request: "7"}, "RD7", "shop"},
		{"renew", messages.TypeRenewLease, `{` + head + `,"code":"C1","leaseToken":"secret-token","leaseVersion":3,"leaseSeconds":null}`,
			coupon.RenewLease{Coupon: "c1", Token: token, Version: 3, OpenEnded: true}, "K", "shop"},
		{"release", messages.TypeReleaseLease, `{` + head + `,"code":"C1","leaseToken":"secret-token","reason":"left"}`,
			coupon.ReleaseLease{Coupon: "c1", Token: token, Reason: "left"}, "K", "shop"},
		{"redeem", messages.TypeRedeemCoupon, `{` + head + `,"code":"C1","orderId":"A","leaseToken":"secret-token","leaseVersion":2,"paymentId":"p"}`,
			coupon.RedeemCoupon{Coupon: "c1", Order: "A", Token: token, Version: 2, Payment: "p"}, "K", "shop"},
		{"swap", messages.TypeSwapCoupons, `{` + head + `,"orderId":"A","drop":["C1"],"leaseSeconds":60,
			"add":[{"code":"C2","discount":{"amount":5,"currency":"EUR"}}]}`,
			coupon.SwapCoupons{Order: "A", Drop: []string{"c1"}, Lease: time.Minute,
				Add: []coupon.Wanted{{Coupon: "c2", Discount: 5}}}, "K", "shop"},
		{"void", messages.TypeVoidCoupon, `{` + head + `,"code":"C1","force":true,"reason":"leaked","actor":"ops"}`,
			coupon.VoidCoupon{Coupon: "c1", Force: true, Reason: "leaked"}, "K", "ops"},
		{"reverse", messages.TypeReverseChange, `{` + head + `,"code":"C1","operationId":"op","expectedVersion":4,"reason":"wrong","actor":"ops"}`,
			coupon.ReverseChange{Coupon: "c1", Operation: "op", ExpectedVersion: 4, Reason: "wrong"}, "K", "ops"},
		{"return", messages.TypeReturnCoupon, `{` + head + `,"code":"C1","orderId":"A","refundId":"r","reason":"agreed","actor":"ops"}`,
			coupon.ReturnCoupon{Coupon: "c1", Order: "A", Refund: "r", Reason: "agreed"}, "K", "ops"},
		{"claim", messages.TypeClaimCoupon, `{` + head + `,"templateId":"T","batchId":"B","customerId":"u1"}`,
			coupon.ClaimCoupon{Template: "T", Batch: "B", Person: "u1"}, "K", "shop"},
	} {
		t.Run(test.name, func(t *testing.T) {
			envelope := parseCommand(t, test.messageType, test.body)
			requests, err := Table()[test.messageType](envelope)
			if err != nil {
				t.Fatal(err)
			}
			want := []coupon.Request{{
				ID: "m-1", Hash: envelope.ContentHash(), At: at.Add(-time.Hour), Actor: test.actor, Fact: test.want,
				Key: test.key, Reply: &coupon.ReplyTo{Queue: "checkout", Correlation: "c-1"},
			}}
			if test.actor == "ops" { // a person, whose commands are in the audit log as they were given
				want[0].Audit = audited(t, test.body)
			}
			if diff := cmp.Diff(want, requests); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// audited is what the audit log gets of a person's command.
func audited(t *testing.T, body string) *coupon.Audit {
	t.Helper()
	var given struct{ Reason string }
	if err := json.Unmarshal([]byte(body), &given); err != nil {
		t.Fatal(err)
	}
	arguments := strings.Replace(body, `"occurredAt":"2026-03-01T09:00:00Z",`, "", 1)
	return &coupon.Audit{Reason: given.Reason, Arguments: []byte(arguments)}
}

func parseCommand(t *testing.T, messageType, body string) messages.Envelope {
	t.Helper()
	envelope, err := messages.Parse(messages.Delivery{
		Body: []byte(body), ContentType: "application/json", MessageID: "m-1", Type: messageType, Timestamp: at,
		ReplyTo: "checkout", CorrelationID: "c-1",
		Headers: map[string]string{"cloudEvents:source": "shop", "cloudEvents:specversion": "1.0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return envelope
}

// Without a queue to answer to, nobody is answered; the command is carried out.
func TestCommandWithoutReplyTo(t *testing.T) {
	requests, err := LockCoupon(parse(t, messages.TypeLockCoupon, `{"idempotencyKey":"K","code":"C1","orderId":"Q"}`))
	if err != nil || len(requests) != 1 || requests[0].Reply != nil || !requests[0].At.Equal(at) {
		t.Errorf("got %+v, %v", requests, err)
	}
}

func TestWhatIsWrongWithACommandIsSaid(t *testing.T) {
	for messageType, translate := range Table() {
		if _, err := translate(messages.Envelope{Type: messageType, Data: []byte(`{}`)}); err == nil {
			t.Errorf("an empty %s was taken", messageType)
		}
	}
}

// asked runs commands on a coupon and gives the replies of each.
func asked(t *testing.T, facts ...coupon.Fact) []*coupon.Reply {
	t.Helper()
	w := newWorld(t)
	var replies []*coupon.Reply
	for i, fact := range facts {
		request := coupon.Request{
			ID: "m", Key: string(rune('a' + i)), At: w.now, Fact: fact, Trace: trace,
			Reply: &coupon.ReplyTo{Queue: "checkout", Correlation: "c-1"},
		}
		err := w.ledger.Apply(t.Context(), []coupon.Request{request}, func(world *coupon.World) {
			coupon.Decide(world, &request)
			replies = append(replies, world.Seal().Replies...)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return replies
}

// The answer to a lock carries a seal where the token belongs; other answers have
// neither.
func TestRepliesHoldASealAndNoToken(t *testing.T) {
	secret := simulate.TokenOf("events", "Q", "c1", 1)
	replies := asked(t,
		coupon.LockCoupon{Coupon: "c1", Order: "Q"},
		coupon.LockCoupon{Coupon: "c1", Order: "R"},
		coupon.RenewLease{Coupon: "c1", Token: coupon.HashToken(secret)},
		coupon.RedeemRequested{Coupon: "c1", Request: "7"},
		coupon.SwapCoupons{Order: "A", Add: []coupon.Wanted{{Coupon: "c1"}}},
	)
	var told []messages.CommandReply
	for i, reply := range replies {
		m, err := ReplyMessage(reply)
		if err != nil {
			t.Fatal(err)
		}
		if m.Exchange != "" || m.Key != "checkout" || m.CorrelationID != "c-1" || m.Mandatory || m.ID != reply.ID ||
			m.Type != messages.TypeCommandReply || m.Headers["traceparent"] != trace {
			t.Errorf("reply %d goes out as %+v", i, m)
		}
		if (m.Seal != nil) != (i == 0) {
			t.Errorf("reply %d has the seal %+v", i, m.Seal)
		}
		if bytes.Contains(m.Body, []byte(secret)) {
			t.Errorf("reply %d holds the token", i)
		}
		if _, err := outbox.EncodeRow([]outbox.Message{m}); err != nil {
			t.Error(err)
		}
		var body messages.CommandReply
		if err := json.Unmarshal(m.Body, &body); err != nil {
			t.Fatal(err)
		}
		told = append(told, body)
	}
	hash := coupon.HashToken(secret)
	m, err := ReplyMessage(replies[0])
	if err != nil || m.Seal.Lease != replies[0].Answer.LeaseID || m.Seal.Hash != hex.EncodeToString(hash[:]) {
		t.Errorf("seal %+v, %v", m.Seal, err)
	}
	type row struct{ command, outcome, public, order, redeemNo, state string }
	want := []row{
		{messages.TypeLockCoupon, "OK", "", "Q", "", "LOCKED"},
		{messages.TypeLockCoupon, "ALREADY_LOCKED", "NOT_AVAILABLE", "R", "", ""},
		{messages.TypeRenewLease, "OK", "", "Q", "", "LOCKED"},
		{messages.TypeRedeemRequested, "ALREADY_LOCKED", "NOT_AVAILABLE", "RD7", "RD7", ""},
		{messages.TypeSwapCoupons, "REJECTED:UNKNOWN_ORDER", "NOT_AVAILABLE", "A", "", ""},
	}
	for i, reply := range told {
		got := row{reply.Command, reply.Outcome, reply.PublicCode, reply.OrderID, reply.RedeemNo, reply.State}
		if i >= len(want) || got != want[i] {
			t.Errorf("reply %d: %+v", i, got)
		}
	}
	if told[0].StateVersion != 2 || told[0].Deadline.IsZero() || told[2].StateVersion != 3 {
		t.Errorf("answers %+v and %+v", told[0], told[2])
	}
}

// Answers share the outbox rows of their transaction.
func TestOutboxHasTheReplies(t *testing.T) {
	replies := asked(t, coupon.LockCoupon{Coupon: "c9", Order: "Q"}, coupon.SwapCoupons{Order: "A", Drop: []string{"c1"}})
	rows, err := Outbox(&coupon.Changes{Replies: replies}, 4)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, row := range rows {
		count += row.Messages
	}
	if count != len(replies) || count != 2 {
		t.Errorf("%d messages for %d replies", count, len(replies))
	}
}

// The contract and the core name a till's redemption alike.
func TestRedeemNumbersAgree(t *testing.T) {
	if promised, kept := messages.RedeemNumber("1001"), coupon.RedeemNumber("1001"); promised != kept {
		t.Errorf("the contract says %s, the core %s", promised, kept)
	}
}
