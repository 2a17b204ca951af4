package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"couponlease/internal/coupon"
	"couponlease/internal/engine"
	"couponlease/internal/fleet"
	"couponlease/internal/store"
	"couponlease/messages"
)

// The ids of one person, each of which says its name in no other text of the test.
const (
	shopper     = "buyer-4712"
	shopperMail = "Ann.Smith@shop.example"
)

// An erased person is in no column of any table, whatever happened before: claims, orders,
// refunds, withdrawals, dead letters, links, notes. The books are what they were.
func TestAnErasedPersonIsNowhere(t *testing.T) {
	space := fleet.NewSpace(t)
	fleet.Start(t, fleet.Binary(t), space, "--retry-tiers", "1s")
	liveOfShopper(t, space)
	before := columnsNaming(t, space, shopper, shopperMail)
	for _, want := range []string{
		"user_coupon.owner_id", "claim_counter.person_id", "order_fact.customer_id", "order_fact.closes",
		"coupon_operation.actor", "coupon_operation.reason", "coupon_command.actor", "audit_log.actor", "audit_log.reason",
		"audit_log.detail", "audit_log.subject", "refund_fact.reason", "dead_letter.body", "dead_letter.headers",
		"person_alias.alias", "person_alias.person_id",
	} {
		if !slices.Contains(before, want) {
			t.Errorf("the search has not even found the person in %s, only in %s", want, before)
		}
	}
	sums := sumsOf(t, space)

	done, err := space.Store.Erase(t.Context(), store.Erasure{
		ID: strings.ToUpper(shopperMail), Actor: "operator", Reason: "request of " + shopper, Wait: time.Minute,
	})
	if err != nil || done.Waiting > 0 {
		t.Fatalf("erased as %+v: %v", done, err)
	}
	if after := columnsNaming(t, space, shopper, shopperMail); len(after) > 0 {
		t.Errorf("the person is still in %s", after)
	}
	// One of the letters wrote a letter of the id as an escape, which the search above cannot see.
	if n := query(t, space, `select count(*) from dead_letter
		where strpos(encode(body, 'escape'), `+quote(done.Pseudonym)+`) > 0`); n != "4\n" {
		t.Errorf("the pseudonym is in %s of 4 letters", n)
	}
	if got := sumsOf(t, space); got != sums {
		t.Errorf("the counters say\n%s\nand said\n%s", got, sums)
	}
	checkBooks(t, space)
	for _, id := range []string{shopper, shopperMail} {
		if again, err := space.Store.Erase(t.Context(), store.Erasure{ID: id}); err != nil || again.Found() {
			t.Errorf("erased again as %+v: %v", again, err)
		}
	}
	// Somebody new may claim what the person had claimed.
	submit(t, space, coupon.Request{Key: "claim-new", Fact: coupon.ClaimCoupon{Template: "camp", Person: shopper}}, coupon.OK)
	checkBooks(t, space)
}

// checkBooks proves the invariants, and that the ledger gives the coupons.
func checkBooks(t *testing.T, space *fleet.Space) {
	t.Helper()
	space.Check(t)
	persons, err := space.Store.WrongPersonUses(t.Context())
	if err != nil || len(persons) > 0 {
		t.Errorf("wrong counters: %+v, %v", persons, err)
	}
	verdict, err := space.Store.VerifyLedger(t.Context(), store.VerifyOptions{})
	if err != nil || len(verdict.Findings) > 0 {
		t.Errorf("the ledger differs: %+v, %v", verdict.Findings, err)
	}
}

// liveOfShopper lets a person do everything that leaves a trace.
func liveOfShopper(t *testing.T, space *fleet.Space) {
	t.Helper()
	terms := coupon.Unlimited()
	terms.PerPerson, terms.UsesPerPerson, terms.Total, terms.Budget = 2, 2, 50, 40
	submit(t, space, coupon.Request{Fact: coupon.DefineTemplate{Template: coupon.Template{ID: "camp", Terms: terms}}}, coupon.Created)
	for _, code := range []string{"owned-1", "owned-2", "owned-3"} {
		submit(t, space, coupon.Request{Fact: coupon.ImportCoupon{Code: code, Template: "camp", Owner: shopperMail}}, coupon.Created)
	}
	submit(t, space, coupon.Request{Key: "claim-1", Fact: coupon.ClaimCoupon{Template: "camp", Person: shopper}}, coupon.OK)
	submit(t, space, coupon.Request{Key: "claim-2", Fact: coupon.ClaimCoupon{Template: "camp", Person: "other"}}, coupon.OK)
	if _, err := space.Store.Link(t.Context(), store.Link{
		Alias: shopperMail, Person: shopper, Actor: "operator", Reason: "both are " + shopper,
	}); err != nil {
		t.Fatal(err)
	}
	buy(t, space)
	write := directAsker(t, space)
	write.want("OK", messages.TypeVoidCoupon, fields{
		"idempotencyKey": "void-1", "code": "owned-3", "actor": shopper, "reason": "customer " + shopper + " has lost it",
	})
	for id, body := range map[string]string{
		"missing": fmt.Sprintf(`{"orderId":"M","customerId":%q}`, shopper),
		"cut":     fmt.Sprintf(`{"orderId":"M","customerId":%q,`, strings.ToLower(shopperMail)),
		"escaped": `{"orderId":"M","customerId":"\u0062uyer-4712"}`,
		"text":    "I am " + shopper + ", where is my coupon?",
	} {
		write.publish("commerce", amqp091.Publishing{
			MessageId: id, Type: messages.TypeOrderPlaced, ContentType: "application/json", Body: []byte(body),
			Headers: amqp091.Table{"cloudEvents:subject": shopper},
		})
	}
	space.DeadLetters(t, 4)
}

// buy places two orders; one is paid and refunded, one closed.
func buy(t *testing.T, space *fleet.Space) {
	t.Helper()
	a := directAsker(t, space)
	at, money := time.Now().UTC().Format(time.RFC3339), fields{"amount": 100, "currency": "EUR"}
	for order, code := range map[string]string{"A": "owned-1", "B": "owned-2"} {
		a.fact(messages.TypeOrderPlaced, "placed-"+order, fields{
			"orderId": order, "customerId": shopperMail, "coupons": []fields{{"code": code}}, "payable": money, "occurredAt": at,
		})
	}
	waitForState(t, space, "owned-2", coupon.Locked)
	a.fact(messages.TypePaymentSucceeded, "paid-A", fields{
		"orderId": "A", "paymentId": "p", "amount": money, "occurredAt": at,
	})
	waitForState(t, space, "owned-1", coupon.Used)
	a.fact(messages.TypeOrderClosed, "closed-B", fields{
		"orderId": "B", "reason": "called by " + shopper, "occurredAt": at,
	})
	waitForState(t, space, "owned-2", coupon.Available)
	a.fact(messages.TypeRefundApproved, "refund-A", fields{
		"orderId": "A", "refundId": "r", "amount": money, "reason": "sent back by " + shopper + ".", "occurredAt": at,
	})
	waitForState(t, space, "owned-1", coupon.Available)
}

// submit lets the engine decide one request, as couponctl does.
func submit(t *testing.T, space *fleet.Space, r coupon.Request, want coupon.Code) {
	t.Helper()
	silent := func(*coupon.Changes) ([]coupon.OutboxRow, error) { return nil, nil }
	e := engine.New(space.Store, silent, engine.Options{Classify: store.Classify})
	defer func() {
		if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	r.At, r.Actor = time.Now(), "operator"
	outcome, err := e.Submit(t.Context(), r)
	if err != nil || outcome.Code != want {
		t.Fatalf("%T: got %s (%s), want %s: %v", r.Fact, outcome.Code, outcome.Detail, want, err)
	}
}

// columnsNaming looks into every column of every table, whatever its type, for texts in any
// letter case, and gives those that hold one.
func columnsNaming(t *testing.T, space *fleet.Space, texts ...string) []string {
	t.Helper()
	var where []string
	for _, text := range texts {
		where = append(where, fmt.Sprintf("strpos(lower(%%2$s), %s) > 0", quote(strings.ToLower(text))))
	}
	return strings.Fields(query(t, space, fmt.Sprintf(`
		select format(%s, c.table_name || '.' || c.column_name,
			case c.data_type when 'bytea' then format('encode(%%I, ''escape'')', c.column_name)
				else format('%%I::text', c.column_name) end, c.table_name)
		from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
		where c.table_schema = current_schema() and t.table_type = 'BASE TABLE'
		order by c.table_name, c.column_name \gexec`,
		quote("select %1$L where exists (select from %3$I where "+strings.Join(where, " or ")+")"))))
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// sumsOf gives what all persons hold and have claimed, and what the templates count.
func sumsOf(t *testing.T, space *fleet.Space) string {
	t.Helper()
	return query(t, space, `
		select template_id, sum(held), sum(claimed), sum(claimed_on_day) from claim_counter group by template_id order by 1;
		select template_id, held, issued, imported, budget from coupon_template order by 1;
		select state, count(*), sum(version) from user_coupon group by state order by 1;
		select count(*), count(distinct customer_id) from order_fact;`)
}

// query runs statements, each in a line of its own, and gives what they print.
func query(t *testing.T, space *fleet.Space, statements string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "psql", "--no-psqlrc", "-At", "-v", "ON_ERROR_STOP=1", space.PostgresURL)
	command.Stdin = strings.NewReader(statements + "\n")
	text, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("ask with psql (of the package postgresql-client): %v\n%s", err, text)
	}
	return string(text)
}
