package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
	"couponlease/internal/fleet"
	"couponlease/internal/testkit"
	"couponlease/messages"
	"couponlease/messages/client"
)

func dialShop(t *testing.T, space *fleet.Space, source string) *client.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), replyLimit)
	defer cancel()
	c, err := client.Dial(ctx, client.Options{URL: space.Broker.URL, Source: source, Timeout: replyLimit})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), replyLimit)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return c
}

// outcome gives a reply after checking its outcome.
func outcome(t *testing.T, want string, reply messages.CommandReply, err error) messages.CommandReply {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if accepted := want == "OK" || strings.HasPrefix(want, "RETURN:"); reply.Outcome != want || reply.Accepted() != accepted {
		t.Fatalf("answered %+v, want %s, accepted %t", reply, want, accepted)
	}
	return reply
}

func TestClientTakesAQuoteToThePayment(t *testing.T) {
	space := fleet.NewSpace(t)
	space.Import(t, []string{"C1", "C2"})
	fleet.Start(t, fleet.Binary(t), space)
	ctx, c := t.Context(), dialShop(t, space, "checkout")
	command := messages.LockCoupon{
		CommandHead: messages.CommandHead{IdempotencyKey: "k1"}, Code: " c1", OrderID: "Q1", CustomerID: "u1",
		Lease: messages.LeaseFor(300),
	}
	lock := func(command messages.LockCoupon, want string) messages.CommandReply {
		reply, err := c.Lock(ctx, command)
		return outcome(t, want, reply, err)
	}
	quote := lock(command, "OK")
	if diff := cmp.Diff(quote, lock(command, "OK")); diff != "" {
		t.Errorf("asked again (-first +again):\n%s", diff)
	}
	lock(messages.LockCoupon{Code: "C1", OrderID: "Q2"}, "ALREADY_LOCKED")

	renewed, err := c.Renew(ctx, messages.RenewLease{
		Code: "C1", LeaseToken: quote.LeaseToken, LeaseVersion: quote.StateVersion, Lease: messages.LeaseFor(600),
	})
	outcome(t, "OK", renewed, err)
	placed := messages.OrderPlaced{
		OrderID: "A", CustomerID: "u1", Payable: messages.Money{Amount: 100, Currency: "EUR"},
		Coupons: []messages.CouponRef{{Code: "C1", LeaseToken: quote.LeaseToken}}, OccurredAt: time.Now(),
	}
	publish(t, c, "A/placed", placed)
	publish(t, c, "A/placed", placed)
	testkit.Eventually(t, time.Minute, "the order has the quote's lease", func() (bool, string) {
		history, _, err := space.Store.History(t.Context(), "c1")
		return err == nil && history.Coupon.Lease.Order == "A", errorText(err)
	})
	swapped, err := c.Swap(ctx, messages.SwapCoupons{
		OrderID: "A", Drop: []string{"C1"}, Add: []messages.SwapItem{{Code: "C2"}},
	})
	outcome(t, "OK", swapped, err)
	publish(t, c, "A/paid", messages.PaymentSucceeded{
		OrderID: "A", PaymentID: "p1", Amount: messages.Money{Amount: 100, Currency: "EUR"}, OccurredAt: time.Now(),
	})
	waitForState(t, space, "c2", coupon.Used)
	ledger(t, space, "c1", coupon.Issue, coupon.Lock, coupon.Renew, coupon.Renew, coupon.Release)
	ledger(t, space, "c2", coupon.Issue, coupon.Lock, coupon.Redeem)
	space.CheckNoDeadLetters(t)
	space.Check(t)
}

func TestClientRunsATill(t *testing.T) {
	space := fleet.NewSpace(t)
	space.Import(t, []string{"C1", "C2"})
	fleet.Start(t, fleet.Binary(t), space)
	ctx, till := t.Context(), dialShop(t, space, "till")
	request := func(id, code, want string) messages.CommandReply {
		reply, err := till.RequestRedemption(ctx, messages.RedeemRequested{RequestID: id, Code: code})
		return outcome(t, want, reply, err)
	}
	held := request("1", "C1", "OK")
	if held.RedeemNo != messages.RedeemNumber("1") || held.LeaseToken == "" || request("1", "C1", "OK").LeaseToken != held.LeaseToken {
		t.Errorf("held %+v", held)
	}
	request("2", "C1", "ALREADY_LOCKED")
	used, err := till.Redeem(ctx, messages.RedeemCoupon{
		Code: "C1", OrderID: held.RedeemNo, LeaseToken: held.LeaseToken, LeaseVersion: held.StateVersion, PaymentID: "receipt-1",
	})
	outcome(t, "OK", used, err)
	flow(t, space, held.RedeemNo, coupon.FlowProcessing, coupon.FlowSuccess)

	failing := request("", "C2", "OK") // the client draws the id
	released, err := till.Release(ctx, messages.ReleaseLease{Code: "C2", LeaseToken: failing.LeaseToken, Reason: "kitchen_closed"})
	outcome(t, "OK", released, err)
	flow(t, space, failing.RedeemNo, coupon.FlowProcessing, coupon.FlowReleased)
	space.CheckNoDeadLetters(t)
	space.Check(t)
}

func TestClientCorrects(t *testing.T) {
	space := fleet.NewSpace(t)
	space.Import(t, []string{"C1"})
	fleet.Start(t, fleet.Binary(t), space)
	ctx, desk := t.Context(), dialShop(t, space, "desk")
	void := func(force bool, want string) messages.CommandReply {
		reply, err := desk.Void(ctx, messages.VoidCoupon{Code: "C1", Force: force, Reason: "leaked", Actor: "clerk-4"})
		return outcome(t, want, reply, err)
	}
	held, err := desk.Lock(ctx, messages.LockCoupon{Code: "C1", OrderID: "Q1"})
	outcome(t, "OK", held, err)
	void(false, "IN_USE")
	voided := void(true, "OK")
	reversed, err := desk.Reverse(ctx, messages.ReverseChange{
		Code: "C1", OperationID: voided.OperationID, ExpectedVersion: voided.StateVersion, Reason: "found", Actor: "clerk-4",
	})
	outcome(t, "OK", reversed, err)

	publish(t, desk, "A/placed", messages.OrderPlaced{
		OrderID: "A", CustomerID: "u1", Payable: messages.Money{Currency: "EUR"},
		Coupons: []messages.CouponRef{{Code: "C1"}}, OccurredAt: time.Now(),
	})
	waitForState(t, space, "c1", coupon.Used) // nothing was payable
	returned, err := desk.Return(ctx, messages.ReturnCoupon{
		Code: "C1", OrderID: "A", RefundID: "r1", Reason: "faulty", Actor: "clerk-4",
	})
	outcome(t, "RETURN:FULL", returned, err)
	space.Check(t)
}

func publish(t *testing.T, c *client.Client, id string, fact messages.Fact) {
	t.Helper()
	if err := c.Publish(t.Context(), id, fact); err != nil {
		t.Fatal(err)
	}
}

// TestGoExampleRuns runs the example as its reader would.
func TestGoExampleRuns(t *testing.T) {
	space := fleet.NewSpace(t)
	space.Import(t, []string{"SPRING-7F3K9"})
	fleet.Start(t, fleet.Binary(t), space)
	example := filepath.Join(t.TempDir(), "example")
	if out, err := exec.Command("go", "build", "-o", example, "couponlease/messages/client/example").CombinedOutput(); err != nil {
		t.Fatalf("build the example: %v\n%s", err, out)
	}
	checkout := func(order string) string {
		command := exec.Command(example, "spring-7f3k9", order)
		command.Env = append(os.Environ(), "COUPONLEASE_AMQP_URL="+space.Broker.URL)
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	first := checkout("order-1001")
	for _, want := range []string{"spring-7f3k9: held until ", "order-1001: placed\n", "order-1001: paid\n"} {
		if !strings.Contains(first, want) {
			t.Errorf("the example printed\n%s\nand not %q", first, want)
		}
	}
	waitForState(t, space, "spring-7f3k9", coupon.Used)
	ledger(t, space, "spring-7f3k9", coupon.Issue, coupon.Lock, coupon.Renew, coupon.Redeem)
	if second := checkout("order-1002"); second != "spring-7f3k9: not held, the buyer sees NOT_AVAILABLE\n" {
		t.Errorf("the example on a coupon that is used printed\n%s", second)
	}
	space.Check(t)
}
