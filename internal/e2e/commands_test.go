package e2e

import (
	"syscall"
	"testing"
	"time"

	"couponlease/internal/coupon"
	"couponlease/internal/fleet"
	"couponlease/internal/testkit"
	"couponlease/messages"
)

// A checkout holds a coupon while the buyer decides, places the order with the token
// of the quote, and pays. Whoever shows an old or a guessed token changes nothing.
func TestCheckoutHoldsACouponFromQuoteToPayment(t *testing.T) {
	space := fleet.NewSpace(t)
	space.Import(t, []string{"C1", "C2"})
	fleet.Start(t, fleet.Binary(t), space)
	a := directAsker(t, space)

	lock := a.want("OK", messages.TypeLockCoupon, fields{"idempotencyKey": "k1", "code": "c1", "orderId": "Q1"})
	if len(lock.LeaseToken) < 43 || lock.StateVersion != 2 || lock.LeaseID == "" || lock.Deadline.IsZero() {
		t.Fatalf("answered %+v, token of %d characters", lock, len(lock.LeaseToken))
	}
	token := string(lock.LeaseToken)
	again := a.want("OK", messages.TypeLockCoupon, fields{"idempotencyKey": "k1", "code": "c1", "orderId": "Q1"})
	if again.LeaseToken != lock.LeaseToken || again.StateVersion != 2 {
		t.Errorf("asked again: %+v", again)
	}
	a.want("IDEMPOTENCY_MISMATCH", messages.TypeLockCoupon, fields{"idempotencyKey": "k1", "code": "c1", "orderId": "Q2"})
	refused := a.want("ALREADY_LOCKED", messages.TypeLockCoupon, fields{"idempotencyKey": "k2", "code": "c1", "orderId": "Q2"})
	if refused.PublicCode != messages.PublicNotAvailable || refused.LeaseToken != "" {
		t.Errorf("refused with %+v", refused)
	}
	renewed := a.want("OK", messages.TypeRenewLease, fields{
		"idempotencyKey": "k3", "code": "c1", "leaseToken": token, "leaseVersion": 2, "leaseSeconds": 300,
	})
	if renewed.StateVersion != 3 || renewed.LeaseID != lock.LeaseID || !renewed.Deadline.After(lock.Deadline) {
		t.Errorf("renewed to %+v", renewed)
	}
	a.want("VERSION_CONFLICT", messages.TypeReleaseLease, fields{
		"idempotencyKey": "k4", "code": "c1", "leaseToken": token, "leaseVersion": 2,
	})
	a.want("TOKEN_MISMATCH", messages.TypeReleaseLease, fields{"idempotencyKey": "k5", "code": "c1", "leaseToken": "guessed"})

	at := time.Now().UTC().Format(time.RFC3339)
	a.fact(messages.TypeOrderPlaced, "placed-A", fields{
		"orderId": "A", "customerId": "u1", "coupons": []fields{{"code": "c1", "leaseToken": token}},
		"payable": fields{"amount": 100, "currency": "EUR"}, "occurredAt": at,
	})
	a.fact(messages.TypePaymentSucceeded, "paid-A", fields{
		"orderId": "A", "paymentId": "p", "amount": fields{"amount": 100, "currency": "EUR"}, "occurredAt": at,
	})
	waitForState(t, space, "c1", coupon.Used)
	a.want("LEASE_GONE", messages.TypeReleaseLease, fields{"idempotencyKey": "k6", "code": "c1", "leaseToken": token})
	ledger(t, space, "c1", coupon.Issue, coupon.Lock, coupon.Renew, coupon.Renew, coupon.Redeem)
	space.Check(t)
}

// fact publishes a fact of the order or the payment service.
func (a *asker) fact(messageType, id string, data fields) {
	a.t.Helper()
	a.publish("commerce", publishing(a.t, messageType, id, data))
}

// Two tills scan one coupon at the same time: one wins. It confirms; the flow of
// either is found by its request id.
func TestCounterFlow(t *testing.T) {
	space := fleet.NewSpace(t)
	space.Import(t, []string{"C1", "C2", "C3"})
	fleet.Start(t, fleet.Binary(t), space, "--sweep-interval", "1s", "--sweep-grace", "0s")
	one, two := directAsker(t, space), directAsker(t, space)

	scans := map[*asker]string{}
	for till, request := range map[*asker]string{one: "1001", two: "1002"} {
		scans[till] = till.send(messages.TypeRedeemRequested, fields{"requestId": request, "code": "c1"})
	}
	replies := map[string]messages.CommandReply{}
	for till, id := range scans {
		reply := till.answer(id)
		replies[reply.Outcome] = reply
	}
	won, lost := replies["OK"], replies["ALREADY_LOCKED"]
	if won.RedeemNo == "" || lost.RedeemNo == "" || won.LeaseToken == "" || lost.LeaseToken != "" {
		t.Fatalf("answers %+v", replies)
	}
	one.want("OK", messages.TypeRedeemCoupon, fields{
		"idempotencyKey": "confirm", "code": "c1", "orderId": won.RedeemNo, "leaseToken": string(won.LeaseToken),
		"paymentId": "receipt-7",
	})
	flow(t, space, won.RedeemNo, coupon.FlowProcessing, coupon.FlowSuccess)
	flow(t, space, lost.RedeemNo, coupon.FlowProcessing, coupon.FlowRejected)
	repeated := two.ask(messages.TypeRedeemRequested, fields{"requestId": won.RedeemNo[len("RD"):], "code": "c1"})
	if repeated.Outcome != "OK" || repeated.LeaseToken != won.LeaseToken || repeated.StateVersion != won.StateVersion {
		t.Errorf("a repeated request was answered %+v", repeated)
	}
	ledger(t, space, "c1", coupon.Issue, coupon.Lock, coupon.Redeem)

	failed := one.want("OK", messages.TypeRedeemRequested, fields{"requestId": "1003", "code": "c2"})
	one.want("OK", messages.TypeReleaseLease, fields{
		"idempotencyKey": "fail", "code": "c2", "leaseToken": string(failed.LeaseToken), "reason": "kitchen_closed",
	})
	flow(t, space, "RD1003", coupon.FlowProcessing, coupon.FlowReleased)
	ledger(t, space, "c2", coupon.Issue, coupon.Lock, coupon.Release)

	one.want("OK", messages.TypeRedeemRequested, fields{"requestId": "1004", "code": "c3", "leaseSeconds": 1})
	waitForState(t, space, "c3", coupon.Available) // silence
	flow(t, space, "RD1004", coupon.FlowProcessing, coupon.FlowReleased)
	space.Check(t)
}

// The process that committed a command dies before its answer is published. The next
// one publishes it, token and all; and a repeated command gets the same answer again.
func TestAnswersSurviveACrash(t *testing.T) {
	space := fleet.NewSpace(t)
	space.Import(t, []string{"C1"})
	binary := fleet.Binary(t)
	mute := fleet.Start(t, binary, space, "--relay", "off")
	a := queueAsker(t, space, "reply.checkout")
	command := fields{"idempotencyKey": "k1", "code": "c1", "orderId": "Q1"}
	first := a.send(messages.TypeLockCoupon, command)
	testkit.Eventually(t, time.Minute, "the command is committed", func() (bool, string) {
		answer, err := space.Store.Answer(t.Context(), "k1")
		return answer != nil, errorText(err)
	})
	mute.Signal(t, syscall.SIGKILL)
	mute.Wait(t, time.Minute)

	fleet.Start(t, binary, space)
	reply := a.answer(first)
	if reply.Outcome != "OK" || reply.LeaseToken == "" {
		t.Fatalf("answered %+v", reply)
	}
	again := directAsker(t, space).ask(messages.TypeLockCoupon, command)
	if again.LeaseToken != reply.LeaseToken || again.StateVersion != reply.StateVersion || again.LeaseID != reply.LeaseID {
		t.Errorf("asked again: %+v, first %+v", again, reply)
	}
	a.want("OK", messages.TypeReleaseLease, fields{"idempotencyKey": "k2", "code": "c1", "leaseToken": string(reply.LeaseToken)})
	ledger(t, space, "c1", coupon.Issue, coupon.Lock, coupon.Release)
	space.CheckNoDeadLetters(t)
	space.Check(t)
}

// An operator withdraws, and takes back, by messages; an order swaps its coupons.
func TestOperatorAndOrderCommands(t *testing.T) {
	space := fleet.NewSpace(t)
	space.Import(t, []string{"C1", "C2", "C3"})
	sink := fleet.Listen(t, space)
	fleet.Start(t, fleet.Binary(t), space)
	a := directAsker(t, space)
	by := func(key string, data fields) fields {
		data["idempotencyKey"], data["reason"], data["actor"] = key, "leaked", "ops"
		return data
	}
	a.want("OK", messages.TypeLockCoupon, fields{"idempotencyKey": "k1", "code": "c1", "orderId": "Q1"})
	a.want("IN_USE", messages.TypeVoidCoupon, by("k2", fields{"code": "c1"}))
	void := a.want("OK", messages.TypeVoidCoupon, by("k3", fields{"code": "c1", "force": true}))
	a.want("VERSION_CONFLICT", messages.TypeReverseChange, by("k4", fields{
		"code": "c1", "operationId": "01980000-0000-7000-8000-000000000000",
	}))
	a.want("OK", messages.TypeReverseChange, by("k5", fields{"code": "c1", "operationId": void.OperationID}))
	a.want("ILLEGAL_STATE:AVAILABLE", messages.TypeReverseChange, by("k6", fields{
		"code": "c1", "operationId": void.OperationID,
	}))
	a.fact(messages.TypeOrderPlaced, "placed-A", fields{
		"orderId": "A", "customerId": "u1", "coupons": []fields{{"code": "c1"}},
		"payable": fields{"amount": 100, "currency": "EUR"}, "occurredAt": time.Now().UTC().Format(time.RFC3339),
	})
	waitForState(t, space, "c1", coupon.Locked)
	swap := func(key string, add ...fields) fields {
		return fields{"idempotencyKey": key, "orderId": "A", "drop": []string{"c1"}, "add": add}
	}
	refused := a.want("REJECTED", messages.TypeSwapCoupons, swap("k7", fields{"code": "c2"}, fields{"code": "nobody"}))
	if len(refused.Refusals) != 1 || refused.Refusals[0].Code != "UNKNOWN_COUPON" {
		t.Errorf("refusals %+v", refused.Refusals)
	}
	a.want("OK", messages.TypeSwapCoupons, swap("k8", fields{"code": "c2"}))
	a.fact(messages.TypePaymentSucceeded, "paid-A", fields{
		"orderId": "A", "paymentId": "p", "amount": fields{"amount": 100, "currency": "EUR"},
		"occurredAt": time.Now().UTC().Format(time.RFC3339),
	})
	waitForState(t, space, "c2", coupon.Used)
	decision := a.ask(messages.TypeReturnCoupon, by("k9", fields{"code": "c2", "orderId": "A", "refundId": "r1"}))
	if decision.Outcome != "RETURN:FULL" || decision.State != string(coupon.Available) {
		t.Errorf("a return was answered %+v", decision)
	}
	ledger(t, space, "c1", coupon.Issue, coupon.Lock, coupon.Withdraw, coupon.Reverse, coupon.Lock, coupon.Release)
	ledger(t, space, "c2", coupon.Issue, coupon.Lock, coupon.Redeem, coupon.Return)
	history, _, err := space.Store.History(t.Context(), "c1")
	if err != nil || history.Operations[2].Actor != "ops" || history.Operations[2].Reason != "leaked" {
		t.Errorf("the ledger says %+v (%v)", history.Operations[2], err)
	}
	space.CheckEvents(t, sink)
	space.CheckNoDeadLetters(t)
	space.Check(t)
}
