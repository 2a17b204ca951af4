package main

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/handlers"
	"couponlease/internal/amqp"
	"couponlease/internal/console"
	"couponlease/internal/coupon"
	"couponlease/internal/testkit"
	"couponlease/messages"
)

// onTopology gives the program a broker of its own with the layout in place.
func onTopology(t testing.TB) testkit.Broker {
	t.Helper()
	t.Setenv("COUPONLEASE_POSTGRES_URL", "")
	broker := onRabbitMQ(t)
	ctl(t, "topology", "apply").want(t, exitOK)
	return broker
}

// receive takes one message from a queue as its consumer would.
func receive(t testing.TB, broker testkit.Broker, queue string) coupon.Request {
	t.Helper()
	conn, err := amqp.Connect(amqp.ConnConfig{URL: broker.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	subscriber := amqp.NewSubscriber(conn, amqp.SubscriberConfig{Prefetch: 1})
	defer subscriber.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	arrivals, err := subscriber.Subscribe(ctx, queue)
	if err != nil {
		t.Fatal(err)
	}
	message, ok := <-arrivals
	if !ok {
		t.Fatalf("nothing came from %s", queue)
	}
	message.Ack()
	envelope, err := messages.Parse(messages.Delivery{
		Body: message.Payload, ContentType: message.Metadata.Get(amqp.MetaContentType), MessageID: message.UUID,
		Type: message.Metadata.Get(amqp.MetaType), Headers: message.Metadata,
	})
	if err != nil {
		t.Fatalf("the message cannot be read: %v\n%s", err, message.Payload)
	}
	requests, err := handlers.Table()[envelope.Type](envelope)
	if err != nil {
		t.Fatalf("the message cannot be understood: %v\n%s", err, message.Payload)
	}
	return requests[0]
}

func TestPublishedFactsAreUnderstoodInEveryShape(t *testing.T) {
	broker := onTopology(t)
	at := time.Date(2026, 11, 5, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		args  []string
		queue string
		want  coupon.Fact
	}{
		{
			[]string{"order-placed", "--order", "A", "--customer", "u7", "--coupon", "Spring", "--coupon", "x",
				"--payable", "2500", "--lease", "60", "--supersedes", "Z", "--revision", "2"},
			amqp.QueueOrderPlaced,
			coupon.OrderPlaced{
				Order: "A", Customer: "u7", Wanted: []coupon.Wanted{{Coupon: "spring"}, {Coupon: "x"}}, Payable: 2500,
				Currency: "EUR", Lease: time.Minute, Supersedes: "Z", Revision: 2,
			},
		}, {
			[]string{"order-placed", "--order", "A", "--open-ended", "--parent", "P", "--currency", "JPY"},
			amqp.QueueOrderPlaced,
			coupon.OrderPlaced{
				Order: "A", Customer: "u1", Wanted: []coupon.Wanted{}, Payable: 100, Currency: "JPY", OpenEnded: true,
				Parent: "P",
			},
		}, {
			[]string{"payment-succeeded", "--order", "A", "--amount", "7", "--full-price"},
			amqp.QueuePaymentSucceeded,
			coupon.PaymentSucceeded{Order: "A", Payment: "pay-A", Amount: 7, Currency: "EUR", FullPrice: true},
		}, {
			[]string{"order-closed", "--order", "A", "--reason", "payment_declined"},
			amqp.QueueOrderClosed, coupon.OrderClosed{Order: "A", Reason: "payment_declined"},
		}, {
			[]string{"refund-approved", "--order", "A", "--amount", "7", "--reason", "chargeback", "--refund", "r9"},
			amqp.QueueRefundApproved,
			coupon.RefundApproved{Order: "A", Refund: "r9", Amount: 7, Currency: "EUR", Reason: "chargeback"},
		},
	}
	for _, test := range tests {
		for _, shape := range []string{"plain", "binary", "structured"} {
			t.Run(test.args[0]+" "+shape, func(t *testing.T) {
				args := append([]string{"publish"}, test.args...)
				args = append(args, "--shape", shape, "--id", "id-"+shape, "--occurred-at", at.Format(time.RFC3339))
				published := ctl(t, args...)
				published.want(t, exitOK)
				if published.stdout != "id-"+shape+"\n" {
					t.Errorf("it prints %q, want the id alone", published.stdout)
				}
				got := receive(t, broker, test.queue)
				if diff := cmp.Diff(test.want, got.Fact); diff != "" {
					t.Errorf("fact (-want +got):\n%s", diff)
				}
				if got.ID != "id-"+shape || !got.At.Equal(at) {
					t.Errorf("id %q at %s, want id-%s at %s", got.ID, got.At, shape, at)
				}
			})
		}
	}
}

func TestPublishFromAFileAndRepeated(t *testing.T) {
	broker := onTopology(t)
	data := `{"orderId": "A", "reason": "timeout", "occurredAt": "2026-11-05T12:00:00Z", "extra": 1}`
	published := decode[console.Published](t, ctlWith(t, data, "publish", "order-closed", "--file", "-", "--repeat", "3",
		"--output", "json"))
	if published.Copies != 3 || published.ID == "" || published.Exchange != "commerce" {
		t.Errorf("published %+v", published)
	}
	testkit.Eventually(t, 30*time.Second, "three copies wait", func() (bool, string) {
		depth := broker.QueueDepth(t, amqp.QueueOrderClosed)
		return depth == 3, time.Duration(depth).String()
	})
	for range 3 {
		if got := receive(t, broker, amqp.QueueOrderClosed); got.ID != published.ID {
			t.Errorf("a copy has id %s, want %s", got.ID, published.ID)
		}
	}
}

func TestNothingIsPublishedThatWouldBeRefused(t *testing.T) {
	broker := onTopology(t)
	tests := []struct {
		name, stdin string
		args        []string
		says        string
	}{
		{"no order", "", []string{"order-closed"}, "$.orderId"},
		{"negative amount", "", []string{"payment-succeeded", "--order", "A", "--amount=-1"}, "$.amount"},
		{"no JSON", "{", []string{"order-closed", "--file", "-"}, "BAD_JSON"},
		{"no JSON, structured", "{", []string{"order-closed", "--file", "-", "--shape", "structured"}, "not JSON"},
		{"missing field", "{}", []string{"order-closed", "--file", "-"}, "FIELD_MISSING"},
		{"no copies", "", []string{"order-closed", "--order", "A", "--repeat", "0"}, "choose 1 to"},
		{"unknown shape", "", []string{"order-closed", "--order", "A", "--shape", "round"}, "must be one of"},
		{"no such file", "", []string{"order-closed", "--file", "nowhere.json"}, "no such file"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctlWith(t, test.stdin, append([]string{"publish"}, test.args...)...).want(t, exitFindings, test.says)
		})
	}
	for _, queue := range []string{amqp.QueueOrderClosed, amqp.QueuePaymentSucceeded} {
		if depth := broker.QueueDepth(t, queue); depth > 0 {
			t.Errorf("%d messages came to %s all the same", depth, queue)
		}
	}
}

func TestPublishWithoutTopologySaysHowToApplyIt(t *testing.T) {
	migrated(t)
	onRabbitMQ(t)
	ctl(t, "publish", "order-closed", "--order", "A").want(t, exitError, "couponctl topology")
	ctl(t, "audit", "list", "--action", "PublishFact").want(t, exitOK, "STARTED", "STOPPED")
}

func TestPublishingByHandIsAudited(t *testing.T) {
	broker := onTopology(t)
	args := []string{"publish", "order-closed", "--order", "A", "--id", "m-1", "--repeat", "2", "--actor", "ann@desk", "--why", "ticket 5"}
	onPostgres(t)
	ctl(t, args...).want(t, exitError, "couponctl migrate up")
	if depth := broker.QueueDepth(t, amqp.QueueOrderClosed); depth > 0 {
		t.Errorf("%d messages came without a row in the audit log", depth)
	}
	ctl(t, "migrate", "up").want(t, exitOK)
	ctl(t, args...).want(t, exitOK)
	ctl(t, "publish", "order-closed", "--order", "A", "--repeat", "0").want(t, exitFindings) // refused, and no row

	page := decode[console.AuditPage](t, ctl(t, "audit", "list", "-o", "json"))
	var got [][]any
	for _, e := range page.Entries {
		got = append(got, []any{e.Action, e.Subject, e.Actor, e.Reason, string(e.Outcome), e.Count})
	}
	want := [][]any{
		{"PublishFact", "m-1", "ann@desk", "ticket 5", "DONE", int64(2)},
		{"PublishFact", "m-1", "ann@desk", "ticket 5", "STARTED", int64(0)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
