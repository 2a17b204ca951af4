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
	"syscall"
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
// or traces. Nor is the key that tokens are made from. Dead letters are in the database,
// or left in their queue.
func TestTokensAreNowhere(t *testing.T) {
	binary := fleet.Binary(t)
	for name, run := range map[string]secretRun{
		"filed": {deadLetters: "file", inDatabase: deadCount, found: []sight{
			{"database", "FIELD_MISSING"}, {"database", "BAD_JSON"}, {"database", "ID_REUSE"},
			{"database", hex.EncodeToString([]byte(`"customerId":"u2"`))},
		}},
		"left": {deadLetters: "leave", inQueue: deadCount, found: []sight{
			{"dead letters", "FIELD_MISSING"}, {"dead letters", "BAD_JSON"}, {"dead letters", "ID_REUSE"},
		}},
	} {
		t.Run(name, run.test(binary))
	}
}

const (
	// eventCount and deadCount are how much useTokens lets happen.
	eventCount = 6
	deadCount  = 3
)

// secretRun is one way to keep dead letters: their setting, how many are where in the
// end, and what shows that the search was able to see them.
type secretRun struct {
	deadLetters         string
	inDatabase, inQueue int
	found               []sight
}

// sight is a text that has to be in a place.
type sight struct{ place, text string }

func (run secretRun) test(binary string) func(*testing.T) {
	return func(t *testing.T) {
		space := fleet.NewSpace(t)
		space.Import(t, []string{"C1", "C2", "C3"})
		bindEvents(t, space)
		collector := testkit.Traces(t)
		redis, unique := testkit.Redis(t)
		process := fleet.Start(t, binary, space, "--log-level", "debug", "--retry-tiers", "1s", "--outbox-shards", "2",
			"--redis-url", redis, "--dead-letters", run.deadLetters, "--trace-endpoint", collector.URL, "--trace-share", "1")
		a, stranger := directAsker(t, space), directAsker(t, space)
		secrets, leases := useTokens(t, space, a, unique+"1", process)
		stranger.want("LEASE_GONE", messages.TypeReleaseLease, fields{
			"idempotencyKey": "s1", "code": "c1", "leaseToken": secrets["lock"],
		})
		stranger.want("IDEMPOTENCY_MISMATCH", messages.TypeLockCoupon, fields{
			"idempotencyKey": "k1", "code": "c2", "orderId": "Q1",
		})
		secrets["key"] = space.TokenKeys
		places := run.places(t, space, process, collector)
		places["answers to a third"] = strings.Join(stranger.bodies, "\n")
		checkSecrets(t, places, secrets, append(run.found,
			sight{"log", "coupond is at work"}, sight{"log", "coupond has stopped"}, sight{"log", "message goes to the dead letters"},
			sight{"database", leases["lock"]}, sight{"database", leases["till"]}, sight{"database", person},
			sight{"events", leases["lock"]}, sight{"events", leases["till"]}, sight{"answers to a third", "LEASE_GONE"},
			sight{"metrics", "couponlease_requests_repeated_total"}, sight{"traces", "process coupon-commands"}))
	}
}

// places are where secrets could be, once everything has happened: all events and dead
// letters are where they end, and the process has written its last line.
func (run secretRun) places(
	t *testing.T, space *fleet.Space, process *fleet.Process, collector *testkit.Collector,
) map[string]string {
	t.Helper()
	for queue, want := range map[string]int{eventQueue: eventCount, amqp.QueueDead: run.inQueue} {
		testkit.Eventually(t, time.Minute, "all is in "+queue, func() (bool, string) {
			n := space.Broker.QueueDepth(t, queue)
			return n >= want, fmt.Sprintf("%d of %d", n, want)
		})
	}
	space.DeadLetters(t, run.inDatabase)
	metrics := page(t, process.URL()+"/metrics")
	process.Signal(t, syscall.SIGTERM)
	if code := process.Wait(t, time.Minute); code != 0 {
		t.Errorf("coupond ended with code %d", code)
	}
	return map[string]string{
		"log": process.Log(), "database": dumpDatabase(t, space), "metrics": metrics,
		"events":       drain(t, space, eventQueue, eventCount),
		"dead letters": drain(t, space, amqp.QueueDead, run.inQueue),
		"traces":       traces(t, collector, "BAD_JSON", "ID_REUSE", "IDEMPOTENCY_MISMATCH", "send reply"),
	}
}

// checkSecrets looks for secrets in all places, and for what shows that it can see.
func checkSecrets(t *testing.T, places, secrets map[string]string, found []sight) {
	t.Helper()
	for _, s := range found {
		if !strings.Contains(places[s.place], s.text) {
			t.Errorf("the search in %s has not even found %q in %d bytes", s.place, s.text, len(places[s.place]))
		}
	}
	if strings.Contains(places["traces"], person) {
		t.Error("a person is in the traces")
	}
	for name, secret := range secrets {
		for form, text := range forms(secret) {
			for place, content := range places {
				if strings.Contains(content, text) {
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
// mistakes, repeats, also past the engine. It gives the tokens and the leases.
func useTokens(
	t *testing.T, space *fleet.Space, a *asker, requestID string, process *fleet.Process,
) (secrets, leases map[string]string) {
	t.Helper()
	lock := a.want("OK", messages.TypeLockCoupon, fields{"idempotencyKey": "k1", "code": "c1", "orderId": "Q1"})
	a.want("OK", messages.TypeLockCoupon, fields{"idempotencyKey": "k1", "code": "c1", "orderId": "Q1"})
	requested := fields{"requestId": requestID, "code": "c2"}
	till := a.want("OK", messages.TypeRedeemRequested, requested)
	testkit.Eventually(t, time.Minute, "a repeated request is answered past the engine", func() (bool, string) {
		if again := a.want("OK", messages.TypeRedeemRequested, requested); again.LeaseToken != till.LeaseToken {
			t.Errorf("request and repetition were answered with different tokens")
		}
		n, err := process.Metric("couponlease_requests_repeated_total")
		return n >= 1, fmt.Sprint(n, err)
	})
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

// drain takes all messages of a queue, which are so many, with all that they carry.
func drain(t *testing.T, space *fleet.Space, queue string, count int) string {
	t.Helper()
	channel := rawChannel(t, space)
	var all strings.Builder
	taken := 0
	for {
		d, more, err := channel.Get(queue, true)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			break
		}
		taken++
		fmt.Fprintf(&all, "%s %s %v %s\n", d.MessageId, d.CorrelationId, d.Headers, d.Body)
	}
	if taken != count {
		t.Errorf("%s held %d messages, want %d:\n%s", queue, taken, count, all.String())
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
