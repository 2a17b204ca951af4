package e2e

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"couponlease/internal/amqp"
	"couponlease/internal/coupon"
	"couponlease/internal/fleet"
	"couponlease/messages"
)

// A lease token is seen by its asker and by nobody else: not in the log at its most
// talkative, not in the database, not in events, dead letters, answers to others or
// metrics. Nor is the key that tokens are made from.
func TestTokensAreNowhere(t *testing.T) {
	space := fleet.NewSpace(t)
	space.Import(t, []string{"C1", "C2", "C3"})
	bindEvents(t, space)
	process := fleet.Start(t, fleet.Binary(t), space, "--log-level", "debug", "--retry-tiers", "1s", "--outbox-shards", "2",
		"--dead-letters", "leave")
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
	}
	for _, found := range []struct{ place, text string }{
		{"log", "coupond is at work"}, {"database", leases["lock"]}, {"events", leases["lock"]},
		{"dead letters", "FIELD_MISSING"}, {"dead letters", "BAD_JSON"}, {"answers to a third", "LEASE_GONE"},
		{"metrics", "couponlease_"},
	} {
		if !strings.Contains(places[found.place], found.text) {
			t.Errorf("the search in %s has not even found %q in %d bytes", found.place, found.text, len(places[found.place]))
		}
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
		"orderId": "A", "customerId": "u1", "coupons": []fields{{"code": "c1", "leaseToken": token}},
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

// dumpDatabase gives every row of every table as XML.
func dumpDatabase(t *testing.T, space *fleet.Space) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "psql", "--no-psqlrc", "-At", "-c",
		"set xmlbinary = hex; select schema_to_xml(current_schema(), true, false, '')", space.PostgresURL)
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
