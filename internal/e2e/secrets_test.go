package e2e

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"couponlease/internal/amqp"
	"couponlease/internal/coupon"
	"couponlease/internal/fleet"
	"couponlease/internal/testkit"
	"couponlease/messages"
)

// A lease token is seen by its asker and by nobody else: not in the log at its most
// talkative, not in the database, not in events, dead letters, answers to others, metrics
// or traces. Nor is the key that tokens are made from.
func TestTokensAreNowhere(t *testing.T) {
	space := fleet.NewSpace(t)
	space.Import(t, []string{"C1", "C2", "C3"})
	bindEvents(t, space)
	collector := testkit.Traces(t)
	process := fleet.Start(t, fleet.Binary(t), space, "--log-level", "debug", "--retry-tiers", "1s", "--outbox-shards", "2",
		"--dead-letters", "leave", "--trace-endpoint", collector.URL, "--trace-share", "1")
	a, stranger := directAsker(t, space), directAsker(t, space)
	secrets, leases := useTokens(t, space, a)
	stranger.want("LEASE_GONE", messages.TypeReleaseLease, fields{
		"idempotencyKey": "s1", "code": "c1", "leaseToken": secrets["lock"],
	})
	stranger.want("IDEMPOTENCY_MISMATCH", messages.TypeLockCoupon, fields{
		"idempotencyKey": "k1", "code": "c2", "orderId": "Q1",
	})
	secrets["key"] = space.TokenKeys

	places := map[string]string{
		"log":                process.Log(),
		"database":           dumpDatabase(t, space),
		"events":             drain(t, space, eventQueue, 6),
		"dead letters":       drain(t, space, amqp.QueueDead, 3),
		"answers to a third": strings.Join(stranger.bodies, "\n"),
		"metrics":            page(t, process.URL()+"/metrics"),
		"traces":             traces(t, collector, "BAD_JSON", "ID_REUSE", "IDEMPOTENCY_MISMATCH", "send reply"),
	}
	for _, found := range []struct{ place, text string }{
		{"log", "coupond is at work"}, {"database", leases["lock"]}, {"events", leases["lock"]},
		{"dead letters", "FIELD_MISSING"}, {"dead letters", "BAD_JSON"}, {"answers to a third", "LEASE_GONE"},
		{"metrics", "couponlease_"}, {"traces", "process coupon-commands"}, {"database", person},
	} {
		if !strings.Contains(places[found.place], found.text) {
			t.Errorf("the search in %s has not even found %q in %d bytes", found.place, found.text, len(places[found.place]))
		}
	}
	if strings.Contains(places["traces"], person) {
		t.Error("a person is in the traces")
	}
	for name, secret := range secrets {
		for form, text := range forms(secret) {
			for place, content := range places {
				if at := strings.Index(content, text); at >= 0 {
					t.Errorf("the secret of %s is in %s, as %s", name, place, form)
				}
			}
		}
	}
}

// person is somebody who buys.
const person = "person-4711"

// traces waits until what was traced has come, to the last of it.
func traces(t *testing.T, collector *testkit.Collector, last ...string) string {
	t.Helper()
	testkit.Eventually(t, time.Minute, "all traces have come", func() (bool, string) {
		text := collector.Text()
		missing := slices.DeleteFunc(slices.Clone(last), func(part string) bool { return strings.Contains(text, part) })
		return len(missing) == 0, fmt.Sprintf("%d bytes without %q", len(text), missing)
	})
	return collector.Text()
}

// useTokens lets tokens go everywhere they may: quotes, orders, tills, renewals,
// mistakes, repeats. It gives the tokens and the leases.
func useTokens(t *testing.T, space *fleet.Space, a *asker) (secrets, leases map[string]string) {
	t.Helper()
	lock := a.want("OK", messages.TypeLockCoupon, fields{"idempotencyKey": "k1", "code": "c1", "orderId": "Q1"})
	a.want("OK", messages.TypeLockCoupon, fields{"idempotencyKey": "k1", "code": "c1", "orderId": "Q1"})
	till := a.want("OK", messages.TypeRedeemRequested, fields{"requestId": "1", "code": "c2"})
	token := string(lock.LeaseToken)
	a.want("OK", messages.TypeRenewLease, fields{"idempotencyKey": "k2", "code": "c1", "leaseToken": token})
	a.want("TOKEN_MISMATCH", messages.TypeReleaseLease, fields{
		"idempotencyKey": "k3", "code": "c1", "leaseToken": string(till.LeaseToken),
	})
	a.want("OK", messages.TypeRedeemCoupon, fields{
		"idempotencyKey": "k4", "code": "c2", "orderId": till.RedeemNo, "leaseToken": string(till.LeaseToken),
	})
	order := fields{
		"orderId": "A", "customerId": person, "coupons": []fields{{"code": "c1", "leaseToken": token}},
		"payable": fields{"amount": 100, "currency": "EUR"}, "occurredAt": time.Now().UTC().Format(time.RFC3339),
	}
	a.fact(messages.TypeOrderPlaced, "placed-A", order)
	a.fact(messages.TypePaymentSucceeded, "paid-A", fields{
		"orderId": "A", "paymentId": "p", "amount": fields{"amount": 100, "currency": "EUR"},
		"occurredAt": time.Now().UTC().Format(time.RFC3339),
	})
	waitForState(t, space, "c1", coupon.Used)
	// Mistakes of senders: a field is missing, the JSON is cut off, an id comes twice.
	a.send(messages.TypeRenewLease, fields{"idempotencyKey": "k5", "leaseToken": token})
	a.publish("coupon.commands", amqp091.Publishing{
		MessageId: "cut", Type: messages.TypeRenewLease, ContentType: "application/json",
		Body: fmt.Appendf(nil, `{"code":"c1","leaseToken":%q,`, token),
	})
	order["customerId"] = "u2"
	a.fact(messages.TypeOrderPlaced, "placed-A", order)
	return map[string]string{"lock": token, "till": string(till.LeaseToken)},
		map[string]string{"lock": lock.LeaseID, "till": till.LeaseID}
}

// forms are the ways in which a text could be written down.
func forms(secret string) map[string]string {
	all := map[string]string{
		"text": secret, "hex": hex.EncodeToString([]byte(secret)),
		"base64": strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(secret)), "="),
	}
	if raw, err := base64.RawURLEncoding.DecodeString(secret); err == nil {
		all["hex of its bytes"] = hex.EncodeToString(raw)
	}
	return all
}

const eventQueue = "secrets-events"

// bindEvents keeps every event in a queue, as it comes.
func bindEvents(t *testing.T, space *fleet.Space) {
	t.Helper()
	channel := rawChannel(t, space)
	if _, err := channel.QueueDeclare(eventQueue, true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	if err := channel.QueueBind(eventQueue, "#", amqp.ExchangeEvents, false, nil); err != nil {
		t.Fatal(err)
	}
}

// drain takes so many messages of a queue, with all that they carry.
func drain(t *testing.T, space *fleet.Space, queue string, count int) string {
	t.Helper()
	deliveries, err := rawChannel(t, space).Consume(queue, "", true, false, false, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	deadline := time.After(time.Minute)
	for range count {
		select {
		case d := <-deliveries:
			fmt.Fprintf(&all, "%s %s %v %s\n", d.MessageId, d.CorrelationId, d.Headers, d.Body)
		case <-deadline:
			t.Fatalf("%s holds less than %d messages:\n%s", queue, count, all.String())
		}
	}
	return all.String()
}

// dumpDatabase gives every row of every table as JSON, with bytes in hex.
func dumpDatabase(t *testing.T, space *fleet.Space) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "psql", "--no-psqlrc", "-At", "-v", "ON_ERROR_STOP=1", space.PostgresURL)
	command.Stdin = strings.NewReader(`select format('select row_to_json(t) from %I t', table_name)
		from information_schema.tables where table_schema = current_schema() \gexec`)
	text, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("dump the database with psql (of the package postgresql-client): %v\n%s", err, text)
	}
	return string(text)
}

func page(t *testing.T, url string) string {
	t.Helper()
	reply, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	var text strings.Builder
	if err := reply.Write(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}
