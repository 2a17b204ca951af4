package ledgertest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

// command gives a command under a key; the hash is that of its content.
func (b *bench) command(key string, fact coupon.Command) coupon.Request {
	r := b.request("message of "+key, fact)
	r.Key, r.Hash = key, contentHash(fact)
	return r
}

// contentHash is that of what a fact says; what it points to would be printed as an address.
func contentHash(fact coupon.Fact) [sha256.Size]byte {
	content, err := json.Marshal(fact)
	if err != nil {
		panic(fmt.Sprintf("%T: %v", fact, err))
	}
	return sha256.Sum256(fmt.Appendf(content, "%T", fact))
}

// order runs one command and gives its outcome, whose code must be as wanted.
func (b *bench) order(t testing.TB, want coupon.Code, key string, fact coupon.Command) coupon.Outcome {
	t.Helper()
	outcomes, err := b.apply(context.Background(), b.command(key, fact))
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	if outcomes[0].Code != want {
		t.Fatalf("%s: answered %+v, want %s", key, outcomes[0], want)
	}
	return outcomes[0]
}

// kept compares the answer that the ledger keeps under a key.
func (b *bench) kept(t testing.TB, key string, want *coupon.Answer) {
	t.Helper()
	got, err := b.ledger.Answer(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer kept under %s (-want +got):\n%s", key, diff)
	}
}

// token is the hash of the token of a coupon's lease.
func (b *bench) token(t testing.TB, id string) coupon.TokenHash {
	t.Helper()
	row := b.row(t, id)
	if row.Lease == nil {
		t.Fatalf("coupon %s is %s", id, row.State)
	}
	return row.Lease.TokenHash
}

// answers: a key has one answer, whoever asks again and when.
func answers(t *testing.T, b *bench) {
	b.issue(t, 2, unlimited())
	lock := b.command("k", coupon.LockCoupon{Coupon: "c1", Order: "A", Customer: "u1"})
	outcomes, err := b.apply(context.Background(), lock, lock)
	if err != nil {
		t.Fatal(err)
	}
	first := outcomes[0].Answer
	if outcomes[0].Code != coupon.OK || first.Token == nil || first.Version != 2 || first.State != coupon.Locked {
		t.Fatalf("answered %+v", outcomes[0])
	}
	b.kept(t, "k", first)
	b.pass(time.Second)
	again, err := b.apply(context.Background(), lock)
	if err != nil {
		t.Fatal(err)
	}
	want := coupon.Outcome{Status: coupon.Repeated, Code: coupon.Duplicate, First: coupon.OK, Answer: first}
	for when, got := range map[string]coupon.Outcome{"in the same batch": outcomes[1], "later": again[0]} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("again %s (-want +got):\n%s", when, diff)
		}
	}
	b.order(t, coupon.IdempotencyMismatch, "k", coupon.LockCoupon{Coupon: "c2", Order: "A"})
	b.order(t, coupon.IdempotencyMismatch, "k", coupon.VoidCoupon{Coupon: "c1", Force: true})
	b.kept(t, "k", first)
	b.kept(t, "another", nil)
	b.want(t, "c1", coupon.Locked, 2)
	b.want(t, "c2", coupon.Available, 1)
}

// refusals are kept: a command refused once stays refused, whatever happened since.
func refusals(t *testing.T, b *bench) {
	b.issue(t, 1, unlimited())
	b.order(t, coupon.OK, "k1", coupon.LockCoupon{Coupon: "c1", Order: "A"})
	lock := coupon.LockCoupon{Coupon: "c1", Order: "B"}
	refused := b.order(t, coupon.AlreadyLocked, "k2", lock)
	b.kept(t, "k2", refused.Answer)
	b.order(t, coupon.UnknownCoupon, "k3", coupon.ReleaseLease{Coupon: "nobody"})
	token := b.token(t, "c1")
	b.order(t, coupon.TokenMismatch, "k4", coupon.ReleaseLease{Coupon: "c1", Token: coupon.HashToken("guessed")})
	b.order(t, coupon.VersionConflict, "k5", coupon.RenewLease{Coupon: "c1", Token: token, Version: 1})
	b.order(t, coupon.AlreadyLocked, "k6", coupon.RedeemCoupon{Coupon: "c1", Order: "B", Token: token})
	b.want(t, "c1", coupon.Locked, 2)
	b.order(t, coupon.OK, "k7", coupon.RenewLease{Coupon: "c1", Token: token, Version: 2, Lease: time.Hour})
	b.order(t, coupon.OK, "k8", coupon.ReleaseLease{Coupon: "c1", Token: token, Version: 3})
	b.order(t, coupon.LeaseGone, "k9", coupon.ReleaseLease{Coupon: "c1", Token: token})
	if again := b.order(t, coupon.Duplicate, "k2", lock); again.First != coupon.AlreadyLocked {
		t.Errorf("the first answer was %s", again.First)
	}
	b.want(t, "c1", coupon.Available, 4)
}

// flows of a till begin once and end once, and are found by the request.
func flows(t *testing.T, b *bench) {
	b.issue(t, 2, unlimited())
	request := func(id, code string) coupon.RedeemRequested {
		return coupon.RedeemRequested{Coupon: code, Request: id, Customer: "u1"}
	}
	ask := func(want coupon.Code, id, code string) coupon.Outcome {
		t.Helper()
		return b.order(t, want, coupon.RedeemNumber(id), request(id, code))
	}
	ask(coupon.OK, "paid", "c1")
	redeem := coupon.RedeemCoupon{
		Coupon: "c1", Order: coupon.RedeemNumber("paid"), Token: b.token(t, "c1"), Payment: "receipt",
	}
	b.pass(time.Second)
	redeemed := b.order(t, coupon.OK, "confirm", redeem)
	b.order(t, coupon.ExistingRedemption, "confirm again", redeem)
	ask(coupon.AlreadyUsed, "late", "c1")
	if again := ask(coupon.Duplicate, "paid", "c1"); again.First != coupon.OK {
		t.Errorf("the first answer was %s", again.First)
	}
	ask(coupon.OK, "failed", "c2")
	b.order(t, coupon.OK, "give up", coupon.ReleaseLease{Coupon: "c2", Token: b.token(t, "c2"), Reason: "declined"})
	ask(coupon.OK, "silent", "c2")
	b.pass(time.Hour)
	lease := b.row(t, "c2").Lease
	b.ask(t, coupon.Released, "timer", coupon.LeaseDue{
		Coupon: "c2", Order: lease.Order, LeaseID: lease.ID, TokenHash: lease.TokenHash, Version: lease.Version,
	})
	ask(coupon.OK, "withdrawn", "c2")
	b.order(t, coupon.InUse, "void", coupon.VoidCoupon{Coupon: "c2"})
	ask(coupon.IdempotencyMismatch, "withdrawn", "c1")
	b.order(t, coupon.OK, "force", coupon.VoidCoupon{Coupon: "c2", Force: true, Reason: "fraud"})
	for id, want := range map[string][]string{
		"paid":      {"PROCESSING c1", "SUCCESS c1 receipt"},
		"late":      {"PROCESSING c1", "REJECTED c1 ALREADY_USED"},
		"failed":    {"PROCESSING c2", "RELEASED c2 declined"},
		"silent":    {"PROCESSING c2", "RELEASED c2 LEASE_EXPIRED"},
		"withdrawn": {"PROCESSING c2", "RELEASED c2 fraud"},
		"unheard":   nil,
	} {
		if diff := cmp.Diff(want, b.steps(t, id)); diff != "" {
			t.Errorf("request %s (-want +got):\n%s", id, diff)
		}
	}
	if row := b.want(t, "c1", coupon.Used, 3); row.Redemption.OperationID != redeemed.Answer.Operation {
		t.Errorf("redeemed by %s, answered %s", row.Redemption.OperationID, redeemed.Answer.Operation)
	}
	b.want(t, "c2", coupon.Void, 7)
}

// steps tells the flow of a till's request.
func (b *bench) steps(t testing.TB, request string) (told []string) {
	t.Helper()
	rows, err := b.ledger.Flow(context.Background(), coupon.RedeemNumber(request))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if row.Request != request {
			t.Errorf("a step of %s is found by %s", row.Request, request)
		}
		text := fmt.Sprint(row.Step, " ", row.Coupon)
		for _, why := range []string{string(row.Code), row.Reason, row.Payment} {
			if why != "" {
				text += " " + why
			}
		}
		told = append(told, text)
	}
	return told
}

// reversals take back what the latest ledger row did, and bring the redemption back
// that a withdrawal had ended.
func reversals(t *testing.T, b *bench) {
	rules := policy.Default()
	rules.Version, rules.Full = 77, policy.Void
	b.ask(t, coupon.Created, "", coupon.DefinePolicy{Policy: rules})
	template := unlimited()
	template.PolicyVersion, template.Budget = rules.Version, 10
	b.issue(t, 2, template)
	b.ask(t, coupon.OK, "A/placed", placed("A", "c1"))
	b.ask(t, coupon.Redeemed, "A/paid", paid("A"))
	used := b.want(t, "c1", coupon.Used, 3).Redemption
	b.ask(t, "VOID:FULL", "A/refund", coupon.RefundApproved{Order: "A", Refund: "r", Amount: 100, Currency: "EUR"})
	b.want(t, "c1", coupon.Void, 4)
	b.order(t, coupon.VersionConflict, "k1", coupon.ReverseChange{Coupon: "c1", ExpectedVersion: 3})
	b.order(t, coupon.OK, "k2", coupon.ReverseChange{Coupon: "c1", Reason: "mistaken"})
	if diff := cmp.Diff(used, b.want(t, "c1", coupon.Used, 5).Redemption); diff != "" {
		t.Errorf("redemption (-before +after):\n%s", diff)
	}
	b.order(t, coupon.OK, "k3", coupon.ReverseChange{Coupon: "c1", Operation: used.OperationID})
	b.want(t, "c1", coupon.Available, 6)
	b.order(t, coupon.IllegalState(coupon.Available), "k4", coupon.ReverseChange{Coupon: "c1"})

	withdrawn := b.order(t, coupon.OK, "k5", coupon.VoidCoupon{Coupon: "c2"})
	b.want(t, "c2", coupon.Void, 2)
	b.order(t, coupon.VersionConflict, "k6", coupon.ReverseChange{Coupon: "c2", Operation: used.OperationID})
	b.order(t, coupon.OK, "k7", coupon.ReverseChange{Coupon: "c2", Operation: withdrawn.Answer.Operation})
	b.want(t, "c2", coupon.Available, 3)
	b.order(t, coupon.UnknownCoupon, "k8", coupon.ReverseChange{Coupon: "nobody"})
}

// swaps replace coupons of an order, all or nothing.
func swaps(t *testing.T, b *bench) {
	b.issue(t, 4, unlimited())
	b.ask(t, coupon.OK, "A/placed", placed("A", "c1", "c2"))
	b.ask(t, coupon.OK, "B/placed", placed("B", "c4"))
	swap := func(drop string, add ...string) coupon.SwapCoupons {
		f := coupon.SwapCoupons{Order: "A", Drop: []string{drop}}
		for _, id := range add {
			f.Add = append(f.Add, coupon.Wanted{Coupon: id})
		}
		return f
	}
	b.pass(time.Second)
	refused := b.order(t, coupon.NotSwapped, "k1", swap("c1", "c3", "c4", "nobody"))
	want := []coupon.Refusal{
		{Coupon: "c4", Code: coupon.AlreadyLocked}, {Coupon: "nobody", Code: coupon.UnknownCoupon},
	}
	if diff := cmp.Diff(want, refused.Answer.Refusals); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
	b.kept(t, "k1", refused.Answer)
	b.want(t, "c1", coupon.Locked, 2)
	b.want(t, "c3", coupon.Available, 1)
	b.order(t, coupon.OK, "k2", swap("c1", "c3"))
	b.want(t, "c1", coupon.Available, 3)
	if row := b.want(t, "c3", coupon.Locked, 2); row.Lease.Order != "A" {
		t.Errorf("leased to %q", row.Lease.Order)
	}
	b.ask(t, coupon.Redeemed, "A/paid", paid("A"))
	b.want(t, "c1", coupon.Available, 3)
	b.want(t, "c2", coupon.Used, 3)
	b.want(t, "c3", coupon.Used, 3)
	unknown := swap("c1", "c3")
	unknown.Order = "never placed"
	b.order(t, coupon.Rejected(coupon.UnknownOrder), "k3", unknown)
}

// holds: an order that took a quote's lease over is redeemed by money, and remembers
// what a command redeemed for it.
func holds(t *testing.T, b *bench) {
	b.issue(t, 2, unlimited())
	locked := b.order(t, coupon.OK, "k1", coupon.LockCoupon{Coupon: "c1", Order: "A", Customer: "u1"})
	order := placed("A", "c1", "c2")
	order.Wanted[0].Token = locked.Answer.Token
	b.ask(t, coupon.OK, "A/placed", order)
	redeem := coupon.RedeemCoupon{Coupon: "c1", Order: "A", Token: *locked.Answer.Token}
	b.order(t, coupon.IllegalState(coupon.Locked), "k2", redeem)
	redeem.Payment = "receipt"
	b.order(t, coupon.OK, "k3", redeem)
	b.want(t, "c1", coupon.Used, 4)
	b.ask(t, coupon.Redeemed, "A/paid", paid("A"))
	row := b.want(t, "c1", coupon.Used, 4)
	order1, err := b.ledger.Order(context.Background(), "A")
	if err != nil {
		t.Fatal(err)
	}
	if got := order1.Named[0]; got.Coupon != "c1" || got.RedemptionID != row.Redemption.ID {
		t.Errorf("the order remembers %+v", got)
	}
	b.want(t, "c2", coupon.Used, 3)
}

// clashes lets many writers use one key for different coupons at the same time.
func clashes(t *testing.T, b *bench) {
	const writers = 8
	b.issue(t, writers, unlimited())
	codes := b.atOnce(t, writers, func(i int) coupon.Request {
		return b.command("k", coupon.LockCoupon{Coupon: fmt.Sprintf("c%d", i+1), Order: "A"})
	})
	if codes[coupon.OK] != 1 || codes[coupon.IdempotencyMismatch] != writers-1 {
		t.Errorf("answers: %v", codes)
	}
	locked := 0
	for i := range writers {
		if b.row(t, fmt.Sprintf("c%d", i+1)).State == coupon.Locked {
			locked++
		}
	}
	if locked != 1 {
		t.Errorf("%d coupons are leased", locked)
	}
}

// echoes lets many writers send one command at the same time.
func echoes(t *testing.T, b *bench) {
	const writers = 8
	b.issue(t, 1, unlimited())
	codes := b.atOnce(t, writers, func(int) coupon.Request {
		return b.command(coupon.RedeemNumber("scan"), coupon.RedeemRequested{Coupon: "c1", Request: "scan"})
	})
	if codes[coupon.OK] != 1 || codes[coupon.Duplicate] != writers-1 {
		t.Errorf("answers: %v", codes)
	}
	if diff := cmp.Diff([]string{"PROCESSING c1"}, b.steps(t, "scan")); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	b.want(t, "c1", coupon.Locked, 2)
}
