package amqp

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"couponlease/internal/testkit"

	"github.com/ThreeDotsLabs/watermill"
	wamqp "github.com/ThreeDotsLabs/watermill-amqp/v2/pkg/amqp"
	"github.com/google/go-cmp/cmp"
	amqp091 "github.com/rabbitmq/amqp091-go"
)

func (b broker) management(t testing.TB) *Management {
	t.Helper()
	m, err := NewManagement(b.ManagementURL, b.VHost, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (b broker) verify(t testing.TB, layout Layout, m *Management) []Difference {
	t.Helper()
	differences, err := Verify(testContext(t), b.conn, layout, m)
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	return differences
}

// change uses a channel of its own for one request to the broker.
func (b broker) change(t testing.TB, request func(*amqp091.Channel) error) {
	t.Helper()
	scratch := scratchChannel{conn: b.conn}
	defer scratch.close()
	if err := scratch.do(testContext(t), request); err != nil {
		t.Fatal(err)
	}
}

func TestApplyIsIdempotent(t *testing.T) {
	b := broker{Broker: testkit.RabbitMQ(t)}
	b.conn = connect(t, b.URL)
	layout := DefaultLayout(Options{})
	// Several replicas start at once, on an empty broker and on a finished one.
	for range 2 {
		var replicas sync.WaitGroup
		for range 3 {
			replicas.Go(func() {
				if err := Apply(testContext(t), b.conn, layout); err != nil {
					t.Errorf("apply: %v", err)
				}
			})
		}
		replicas.Wait()
	}
	if differences := b.verify(t, layout, b.management(t)); len(differences) > 0 {
		t.Errorf("after apply: %v", differences)
	}
}

func TestVerifyOnAnEmptyBroker(t *testing.T) {
	b := broker{Broker: testkit.RabbitMQ(t)}
	b.conn = connect(t, b.URL)
	layout := DefaultLayout(Options{})
	differences := b.verify(t, layout, b.management(t))
	if got, want := len(differences), len(layout.Exchanges)+len(layout.Queues)+len(layout.Bindings); got != want {
		t.Errorf("%d differences, want everything: %d", got, want)
	}
	for _, d := range differences {
		if d.Kind != Missing {
			t.Errorf("%s", d)
		}
	}
}

func TestVerifyFindsDifferences(t *testing.T) {
	b := newBroker(t)
	m := b.management(t)
	b.DeleteQueue(t, QueueClaims)
	b.change(t, func(ch *amqp091.Channel) error {
		return ch.QueueUnbind(QueueOrderPlaced, "order.placed.#", ExchangeCommerce, nil)
	})
	b.change(t, func(ch *amqp091.Channel) error {
		return ch.QueueBind(QueueOrderPlaced, "order.#", ExchangeCommerce, false, nil)
	})
	b.change(t, func(ch *amqp091.Channel) error {
		_, err := ch.QueueDeclare("coupon-old", true, false, false, false, nil)
		return err
	})
	// Somebody else's queue on our events is none of our business.
	b.change(t, func(ch *amqp091.Channel) error {
		_, err := ch.QueueDeclare("mailer", true, false, false, false, nil)
		return errors.Join(err, ch.QueueBind("mailer", "#", ExchangeEvents, false, nil))
	})
	layout := DefaultLayout(Options{DeliveryLimit: 51})
	var got []string
	for _, d := range b.verify(t, layout, m) {
		if d.Kind == Inequivalent {
			// The wording differs between versions of the broker.
			for _, part := range []string{"x-delivery-limit", "51", "50"} {
				if !strings.Contains(d.Detail, part) {
					t.Errorf("%s does not tell %s", d, part)
				}
			}
			d.Detail = ""
		}
		got = append(got, d.String())
	}
	want := []string{
		"inequivalent queue coupon-order-placed", "inequivalent queue coupon-payment-succeeded",
		"inequivalent queue coupon-order-closed", "inequivalent queue coupon-refund-approved",
		"inequivalent queue coupon-lease-expired", "inequivalent queue coupon-commands",
		"missing queue coupon-claims",
		"extra binding commerce [order.#] -> queue coupon-order-placed",
		"missing binding commerce [order.placed.#] -> queue coupon-order-placed",
		"missing binding coupon.commands [coupon.claim.#] -> queue coupon-claims",
		"missing binding coupon.commands [coupon.issue.#] -> queue coupon-claims",
		"missing binding coupon.delay-delivery [#.coupon-claims] -> queue coupon-claims",
		"extra queue coupon-old",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	if err := Apply(testContext(t), b.conn, layout); !isCode(err, amqp091.PreconditionFailed) {
		t.Errorf("applying a contradiction: %v", err)
	}
}

func TestForeignExchangeIsLeftAsItIs(t *testing.T) {
	b := broker{Broker: testkit.RabbitMQ(t)}
	b.conn = connect(t, b.URL)
	b.change(t, func(ch *amqp091.Channel) error {
		args := amqp091.Table{"alternate-exchange": "upstreams-own"}
		return ch.ExchangeDeclare(ExchangeCommerce, "topic", true, false, false, false, args)
	})
	layout := DefaultLayout(Options{})
	if err := Apply(testContext(t), b.conn, layout); err != nil {
		t.Fatalf("apply beside upstream's exchange: %v", err)
	}
	if differences := b.verify(t, layout, nil); len(differences) > 0 {
		t.Errorf("differences: %v", differences)
	}
}

func TestEnsure(t *testing.T) {
	b := broker{Broker: testkit.RabbitMQ(t)}
	b.conn = connect(t, b.URL)
	layout := DefaultLayout(Options{})
	if err := Ensure(testContext(t), b.conn, layout, ModeOff, nil); err != nil {
		t.Errorf("off: %v", err)
	}
	err := Ensure(testContext(t), b.conn, layout, ModeVerify, nil)
	if !errors.Is(err, ErrLayoutDiffers) || !strings.Contains(err.Error(), "missing exchange commerce") {
		t.Errorf("verify on an empty broker: %v", err)
	}
	if err := Ensure(testContext(t), b.conn, layout, ModeDeclare, nil); err != nil {
		t.Errorf("declare: %v", err)
	}
	b.change(t, func(ch *amqp091.Channel) error {
		return ch.ExchangeDeclare("coupon.old", "topic", true, false, false, false, nil)
	})
	if err := Ensure(testContext(t), b.conn, layout, ModeVerify, b.management(t)); err != nil {
		t.Errorf("verify after declare, with something in excess: %v", err)
	}
	if err := Ensure(testContext(t), b.conn, layout, "sometimes", nil); err == nil {
		t.Error("an unknown mode was accepted")
	}
}

// TestTopologyBuilder is about the part that watermill-amqp's own subscriber and
// publisher call.
func TestTopologyBuilder(t *testing.T) {
	b := broker{Broker: testkit.RabbitMQ(t)}
	b.conn = connect(t, b.URL)
	build := func(mode Mode, queue string) error {
		ch, err := b.conn.Channel(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		builder := TopologyBuilder{Layout: DefaultLayout(Options{}), Mode: mode}
		if err := builder.ExchangeDeclare(ch, "never.declared", wamqp.Config{}); err != nil {
			t.Errorf("declare exchange: %v", err)
		}
		return builder.BuildTopology(ch, queue, "", wamqp.Config{}, watermill.NopLogger{})
	}
	if err := build(ModeOff, QueueClaims); err != nil {
		t.Errorf("off: %v", err)
	}
	if err := build(ModeVerify, QueueClaims); !isCode(err, amqp091.NotFound) {
		t.Errorf("verify of a missing queue: %v", err)
	}
	if err := build(ModeDeclare, "other"); err == nil {
		t.Error("a queue outside the layout was declared")
	}
	if err := build(ModeDeclare, QueueClaims); err != nil {
		t.Errorf("declare: %v", err)
	}
	if err := build(ModeVerify, QueueClaims); err != nil {
		t.Errorf("verify after declare: %v", err)
	}
	part, err := DefaultLayout(Options{}).For(QueueClaims)
	if err != nil {
		t.Fatal(err)
	}
	if differences := b.verify(t, part, b.management(t)); len(differences) > 0 {
		t.Errorf("after declare: %v", differences)
	}
}

func TestManagementTellsNoSecrets(t *testing.T) {
	if _, err := NewManagement("http://user:s3cret@%zz", "/", nil); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("bad address: %v", err)
	}
	b := newBroker(t)
	m := b.management(t)
	m.password = "s3cret"
	if _, err := m.bindings(testContext(t)); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("wrong password: %v", err)
	}
}
