package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/batcher"
	"couponlease/internal/config"
	"couponlease/internal/console"
	"couponlease/internal/coupon"
	"couponlease/internal/engine"
	"couponlease/internal/leasetoken"
	"couponlease/internal/store"
)

const tokenKey = "6b6579206f662074686520746573742c206f66203332206279746573206f722e"

// shop is a database with coupons in it, and the keys of the daemons.
type shop struct {
	address string
	keys    leasetoken.Keys
}

func newShop(t *testing.T, codes ...string) shop {
	t.Helper()
	s := shop{address: migrated(t)}
	t.Setenv("COUPONLEASE_TOKEN_KEYS", tokenKey)
	t.Setenv("COUPONLEASE_TOKEN_KEYS_FILE", "")
	t.Setenv(tokenVariable, "")
	var err error
	if s.keys, _, err = (config.Tokens{TokenKeys: tokenKey}).LeaseKeys(); err != nil {
		t.Fatal(err)
	}
	imported(t, exitOK, "code\n"+strings.Join(codes, "\n")+"\n", "--template", "t", "--define-template")
	return s
}

// ask lets a daemon of the shop answer one request.
func (s shop) ask(t *testing.T, request coupon.Request) coupon.Outcome {
	t.Helper()
	opened, err := store.Open(t.Context(), s.address, store.Options{
		Rules: coupon.DefaultRules(), Source: engine.NewSource(s.keys),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	silent := func(*coupon.Changes) ([]coupon.OutboxRow, error) { return nil, nil }
	e := engine.New(opened, silent, engine.Options{Limits: batcher.Limits{}, Classify: store.Classify})
	defer func() {
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	request.At = time.Now()
	outcome, err := e.Submit(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

// do runs a command of an operator and reads its answer.
func do(t *testing.T, code int, args ...string) console.CommandResult {
	t.Helper()
	o := ctl(t, append(args, "--output", "json")...)
	o.want(t, code)
	return decode[console.CommandResult](t, o)
}

func TestALeaseByHand(t *testing.T) {
	newShop(t, "Spring-1")
	o := ctl(t, "lock", "SPRING-1", "--order", "Q-1", "--lease", "90s", "-o", "json")
	o.want(t, exitOK, "to repeat this command safely add --key ")
	locked := decode[console.CommandResult](t, o)
	token := string(locked.LeaseToken)
	if len(token) != 43 || locked.Version != 2 || locked.State != coupon.Locked || strings.Contains(o.stderr, token) {
		t.Fatalf("%+v\nstderr: %s", locked, o.stderr)
	}
	if !strings.Contains(o.stderr, "--key "+locked.Key+"\n") {
		t.Errorf("the key %s was not told: %s", locked.Key, o.stderr)
	}
	if again := do(t, exitOK, "lock", "SPRING-1", "--order", "Q-1", "--lease", "90s", "--key", locked.Key); !again.Repeated ||
		again.LeaseToken != locked.LeaseToken || again.Version != 2 {
		t.Errorf("repeated: %+v", again)
	}
	ctl(t, "lock", "spring-1", "--order", "Q-1", "--key", locked.Key).
		want(t, exitConflict, "refused     LockCoupon IDEMPOTENCY_MISMATCH", "leave --key out")
	ctl(t, "lock", "SPRING-1", "--order", "Q-2").want(t, exitConflict, "ALREADY_LOCKED", "couponctl void --force")

	path := file(t, "lease.token", token+"\n")
	renewed := do(t, exitOK, "renew", "SPRING-1", "--token-file", path, "--lease", "10m", "--version", "2")
	if renewed.Version != 3 || !renewed.Deadline.After(locked.Deadline) || renewed.LeaseToken != "" {
		t.Errorf("renewed: %+v", renewed)
	}
	ctlWith(t, token, "renew", "SPRING-1", "--token-file", "-", "--version", "2").
		want(t, exitConflict, "VERSION_CONFLICT", "leave --version out")
	t.Setenv(tokenVariable, token)
	ctl(t, "release", "SPRING-1", "--reason", "buyer left").want(t, exitOK, "is AVAILABLE, version 4")
	gone := ctl(t, "redeem", "SPRING-1", "--order", "Q-1", "--reason", "late")
	gone.want(t, exitConflict, "LEASE_GONE", "lock it again")
	log := ctl(t, "audit", "list", "-o", "json")
	for _, entry := range decode[console.AuditPage](t, log).Entries {
		if entry.Actor != actor() {
			t.Errorf("%s by %q, want %q", entry.Action, entry.Actor, actor())
		}
	}
	timeline := ctl(t, "timeline", "SPRING-1", "-o", "json")
	for name, out := range map[string]string{"audit log": log.stdout, "timeline": timeline.stdout, "refusal": gone.stdout} {
		if strings.Contains(out, token) {
			t.Errorf("the token is in the %s:\n%s", name, out)
		}
	}
}

func TestATokenThatCannotBeMadeAgain(t *testing.T) {
	newShop(t, "c1")
	t.Setenv("COUPONLEASE_TOKEN_KEYS", "")
	ctl(t, "lock", "c1", "--order", "Q-1", "--key", "k1").want(t, exitOK, "token       ", "nothing can show it again")
	o := ctl(t, "lock", "c1", "--order", "Q-1", "--key", "k1")
	o.want(t, exitOK, "repeated    ", "cannot be made again")
	if strings.Contains(o.stdout, "token       ") {
		t.Errorf("a token out of nowhere: %s", o.stdout)
	}
}

// Without the token a lease is not released: the coupon is withdrawn and set free.
func TestAnOperatorWithoutTheTokenFreesACoupon(t *testing.T) {
	newShop(t, "c1")
	do(t, exitOK, "lock", "c1", "--order", "Q-1")
	t.Setenv(tokenVariable, "guessed")
	ctl(t, "release", "c1", "--reason", "hangs").want(t, exitConflict, "TOKEN_MISMATCH", "couponctl void --force")
	ctl(t, "void", "c1", "--reason", "hangs").want(t, exitConflict, "IN_USE", "--force")
	voided := do(t, exitOK, "void", "c1", "--force", "--reason", "hangs", "--actor", "ann@desk")
	ctl(t, "lock", "c1", "--order", "Q-2").want(t, exitConflict, "VOIDED")
	ctl(t, "reverse", "c1", "--reason", "free").want(t, exitFindings, "couponctl timeline c1")
	ctl(t, "reverse", "c1", "--version", "9", "--reason", "free").want(t, exitFindings, "never had version 9")
	ctl(t, "reverse", "c1", "--version", "2", "--reason", "free").want(t, exitConflict, "VERSION_CONFLICT", "that holds")
	ctl(t, "reverse", "c1", "--version", "3", "--reason", "free").want(t, exitOK, "is AVAILABLE, version 4")
	ctl(t, "timeline", "c1").want(t, exitOK, "command VoidCoupon answered IN_USE", "ann@desk")
	ctl(t, "timeline", "c1", "-o", "json").want(t, exitOK, `"operationId": "`+voided.Operation+`"`)
	ctl(t, "check").want(t, exitOK, "every invariant holds")
}

// The till has gone silent after its request: the operator confirms, and gives back.
func TestATillsRedemptionByHand(t *testing.T) {
	s := newShop(t, "c1")
	held := s.ask(t, coupon.Request{ID: "m1", Key: "RD1001", Fact: coupon.RedeemRequested{Coupon: "c1", Request: "1001"}})
	ctl(t, "flow", "show", "RD1001").want(t, exitOK, "request 1001", "PROCESSING", "neither confirmed")
	token, known := s.keys.Secret(held.Answer.LeaseID, *held.Answer.Token)
	if !known {
		t.Fatal("the lease has another token")
	}
	t.Setenv(tokenVariable, string(token))
	redeem := []string{"redeem", "c1", "--payment", "receipt-7", "--reason", "till is offline", "--order"}
	ctl(t, append(redeem, "RD1002")...).want(t, exitConflict, "ALREADY_LOCKED")
	ctl(t, append(redeem, "RD1001")...).want(t, exitOK, "done        RedeemCoupon OK", "is USED, version 3")
	flow := decode[console.Flow](t, ctl(t, "flow", "show", "--request", "1001", "-o", "json"))
	if len(flow.Steps) != 2 || flow.Steps[1].Step != coupon.FlowSuccess || flow.Steps[1].PaymentID != "receipt-7" {
		t.Errorf("flow %+v", flow)
	}
	s.ask(t, coupon.Request{ID: "m2", Key: "RD1003", Fact: coupon.RedeemRequested{Coupon: "c1", Request: "1003"}})
	ctl(t, "flow", "show", "--request", "1003").want(t, exitOK, "REJECTED", "ALREADY_USED", "next")
	ctl(t, "timeline", "c1").want(t, exitOK, "till's request 1001: SUCCESS", "till's request 1003: REJECTED")
	ctl(t, "flow", "show", "RD9").want(t, exitError, "no till has asked")
	back := do(t, exitOK, "return", "c1", "--order", "RD1001", "--refund", "r1", "--reason", "goods came back")
	if back.Outcome != "RETURN:FULL" || back.State != coupon.Available {
		t.Errorf("returned: %+v", back)
	}
}

func TestSwapByHand(t *testing.T) {
	s := newShop(t, "c1", "c2", "c3")
	s.ask(t, coupon.Request{Fact: coupon.OrderPlaced{
		Order: "A", Customer: "u1", Payable: 100, Currency: "EUR", Wanted: []coupon.Wanted{{Coupon: "c1"}},
	}})
	do(t, exitOK, "lock", "c3", "--order", "Q-1")
	ctl(t, "swap", "A", "--drop", "c1", "--add", "c3", "--reason", "wrong campaign").
		want(t, exitConflict, "REJECTED", "c3: ALREADY_LOCKED: another order holds the coupon")
	ctl(t, "swap", "B", "--add", "c2", "--reason", "x").want(t, exitConflict, "UNKNOWN_ORDER", "never placed")
	ctl(t, "swap", "A", "--add", "c2", "--discount", "c9=5", "--reason", "x").want(t, exitFindings, "written alike")
	ctl(t, "swap", "A", "--reason", "x").want(t, exitFindings, "must not both be empty")
	ctl(t, "swap", "A", "--drop", "c1", "--add", "c2", "--discount", "c2=5", "--reason", "wrong campaign").want(t, exitOK)
	page := decode[console.AuditPage](t, ctl(t, "audit", "list", "--coupon", "C2", "--action", "SwapCoupons", "--limit", "1", "-o", "json"))
	if len(page.Entries) != 1 || page.Entries[0].Count != 2 || page.Entries[0].Subject != "A" {
		t.Fatalf("audit log: %+v", page)
	}
	want := []coupon.Standing{{Coupon: "c1", State: coupon.Available, Version: 3}, {Coupon: "c2", State: coupon.Locked, Version: 2}}
	if diff := cmp.Diff(want, page.Entries[0].After); diff != "" {
		t.Errorf("after (-want +got):\n%s", diff)
	}
}

// Commands by hand are decided by the rules of the daemons.
func TestOperatorsKeepTheRulesOfTheDaemons(t *testing.T) {
	newShop(t, "c1", "c2")
	t.Setenv("COUPONLEASE_QUOTE_LEASE", "3h")
	locked := do(t, exitOK, "lock", "c1", "--order", "Q-1")
	if term := locked.Deadline.Sub(locked.AnsweredAt); term != 3*time.Hour {
		t.Errorf("the lease lasts %s", term)
	}
	t.Setenv("COUPONLEASE_STACKING", "SOME")
	ctl(t, "lock", "c2", "--order", "Q-1").want(t, exitFindings, "COUPONLEASE_STACKING", "use ALL or PARTIAL")
}

// What makes two commands the same is the content of their message. Reason and actor of
// some are not in it: those are repeated, and only the audit log has the other words.
func TestReasonAndActorOfARepeatedCommand(t *testing.T) {
	newShop(t, "c1", "c2", "c3", "c4", "c5")
	leased := func(code string) string {
		return file(t, code+".token", string(do(t, exitOK, "lock", code, "--order", "Q-"+code).LeaseToken))
	}
	first, second := leased("c2"), leased("c3")
	voided := do(t, exitOK, "void", "c5", "--reason", "x")
	const same, other = exitOK, exitConflict
	tests := []struct {
		args          []string
		reason, actor int // what another one comes to
	}{
		{[]string{"lock", "c1", "--order", "Q-1"}, same, same},
		{[]string{"renew", "c2", "--token-file", first}, same, same},
		{[]string{"release", "c3", "--token-file", second}, other, same},
		{[]string{"redeem", "c2", "--order", "Q-c2", "--token-file", first}, same, same},
		{[]string{"return", "c2", "--order", "Q-c2", "--refund", "r1"}, other, other},
		{[]string{"void", "c4"}, other, other},
		{[]string{"reverse", "c5", "--operation", voided.Operation}, other, other},
	}
	for _, test := range tests {
		t.Run(test.args[0], func(t *testing.T) {
			given := func(reason, actor string) []string {
				return append(slices.Clone(test.args), "--key", "k-"+test.args[0], "--reason", reason, "--actor", actor)
			}
			do(t, exitOK, given("why", "ann")...)
			for _, again := range []struct {
				reason, actor string
				code          int
			}{{"why", "ann", same}, {"other", "ann", test.reason}, {"why", "bob", test.actor}} {
				got := do(t, again.code, given(again.reason, again.actor)...)
				if want := again.code == same; got.Repeated != want || !want && got.Outcome != coupon.IdempotencyMismatch {
					t.Errorf("with reason %q by %s: %+v", again.reason, again.actor, got)
				}
			}
		})
	}
	log := decode[console.AuditPage](t, ctl(t, "audit", "list", "--action", "LockCoupon", "--actor", "bob", "-o", "json"))
	if len(log.Entries) != 1 || log.Entries[0].Reason != "why" || log.Entries[0].First != coupon.OK {
		t.Errorf("audit log of the repetition: %+v", log.Entries)
	}
}
