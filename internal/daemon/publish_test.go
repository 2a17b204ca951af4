package daemon

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/amqp"
	"couponlease/internal/leasetoken"
	"couponlease/internal/outbox"
	"couponlease/internal/telemetry"
	"couponlease/internal/testkit"
)

func TestOutboxMessagesBecomePublications(t *testing.T) {
	now := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	event := outbox.Message{
		ID: "m1", Type: "coupon.locked.v1", Time: now.Add(-time.Second), Exchange: "coupon.events", Key: "coupon.locked.v1",
		ContentType: "application/json", CorrelationID: "c1", Headers: map[string]string{"traceparent": "t"}, Body: []byte(`{}`),
	}
	told := amqp.Publication{
		ID: "m1", Type: "coupon.locked.v1", Timestamp: now.Add(-time.Second), Exchange: "coupon.events", Key: "coupon.locked.v1",
		ContentType: "application/json", CorrelationID: "c1", Headers: map[string]string{"traceparent": "t"}, Body: []byte(`{}`),
	}
	timer := func(in time.Duration) outbox.Message {
		return outbox.Message{ID: "t1", DelayQueue: "coupon-lease-expired", NotBefore: now.Add(in), Mandatory: true}
	}
	held := func(delay time.Duration) amqp.Publication {
		return amqp.Publication{ID: "t1", DelayQueue: "coupon-lease-expired", Delay: delay, Mandatory: true}
	}
	keys := leasetoken.Random()
	token, _ := keys.Secret("L1", keys.Hash("L1"))
	answer := amqp.Publication{ID: "m1", Key: "replies", Body: []byte(`{"code":"C1","outcome":"OK","leaseToken":"` + string(token) + `"}`)}
	tests := []struct {
		name string
		in   outbox.Message
		want amqp.Publication
	}{
		{"an event", event, told},
		{"a timer", timer(15 * time.Minute), held(15 * time.Minute)},
		{"a timer that is late", timer(-time.Minute), held(0)},
		{"an answer under seal", sealed(keys, "L1"), answer},
	}
	p := publications{seals: seals{keys, telemetry.New(), quietLog()}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := p.publication(&test.in, now)
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("error %v, publication (-want +got):\n%s", err, diff)
			}
		})
	}
}

// What the broker will never take must not hold up its shard.
func TestHopelessMessagesAreReturned(t *testing.T) {
	publisher := newPublisher(t)
	unopened := sealed(leasetoken.Random(), "L1")
	unopened.Key = amqp.QueueDead
	tests := []struct {
		name     string
		message  outbox.Message
		returned bool
	}{
		{"to a queue", outbox.Message{ID: "1", Key: amqp.QueueDead, Mandatory: true}, false},
		{"to nobody", outbox.Message{ID: "2", Key: "nobody", Mandatory: true}, true},
		{"to nobody, who is not missed", outbox.Message{ID: "3", Exchange: amqp.ExchangeEvents, Key: "k"}, false},
		{"to an exchange that is gone", outbox.Message{ID: "4", Exchange: "gone", Key: "k"}, true},
		{"to a queue that cannot be delayed to", outbox.Message{ID: "5", DelayQueue: "with.dots"}, true},
		{"with a seal that nobody here opens", unopened, false},
		{"too large", outbox.Message{ID: "6", Key: amqp.QueueDead, Body: make([]byte, amqp.MaxBody+1)}, true},
	}
	var list []outbox.Message
	for _, test := range tests {
		list = append(list, test.message)
	}
	metrics := telemetry.New()
	p := publications{publisher, seals{leasetoken.Random(), metrics, quietLog()}, metrics, nil}
	for i, err := range p.PublishBatch(t.Context(), list, time.Now()) {
		if got := errors.Is(err, outbox.ErrReturned); got != tests[i].returned || err != nil != tests[i].returned {
			t.Errorf("%s: error %v, want returned: %v", tests[i].name, err, tests[i].returned)
		}
	}
	checkLost(t, p.seals.metrics, 1)
}

// An answer whose token cannot be found here is not sent; what is beside it is.
func TestAnswersPastTheEngineAreWhole(t *testing.T) {
	keys, metrics := leasetoken.Random(), telemetry.New()
	to := func(m outbox.Message) outbox.Message {
		m.Key, m.Mandatory = amqp.QueueDead, true
		return m
	}
	returned := to(outbox.Message{ID: "4"})
	returned.Key = "nobody"
	w := whole{publications{newPublisher(t), seals{keys, metrics, quietLog()}, metrics, nil}}
	lost := to(sealed(leasetoken.Random(), "L1"))
	for name, test := range map[string]struct {
		list []outbox.Message
		want []error
	}{
		"all":  {[]outbox.Message{to(sealed(keys, "L1")), to(outbox.Message{ID: "2"})}, []error{nil, nil}},
		"none": {[]outbox.Message{lost}, []error{errNoKey}},
		"some": {[]outbox.Message{lost, to(sealed(keys, "L2")), lost, returned}, []error{errNoKey, nil, errNoKey, outbox.ErrReturned}},
	} {
		for i, err := range w.PublishBatch(t.Context(), test.list, time.Now()) {
			if !errors.Is(err, test.want[i]) {
				t.Errorf("%s: message %d: error %v, want %v", name, i, err, test.want[i])
			}
		}
	}
	checkLost(t, metrics, 0)
}

// newPublisher publishes to a layout of its own.
func newPublisher(t *testing.T) *amqp.Publisher {
	t.Helper()
	broker := testkit.RabbitMQ(t)
	conn, err := amqp.Connect(amqp.ConnConfig{URL: broker.URL})
	if err != nil {
		t.Fatal(err)
	}
	publisher := amqp.NewPublisher(conn, amqp.PublisherConfig{})
	t.Cleanup(func() {
		if err := errors.Join(publisher.Close(), conn.Close()); err != nil {
			t.Error(err)
		}
	})
	if err := amqp.Apply(t.Context(), conn, amqp.DefaultLayout(amqp.Options{})); err != nil {
		t.Fatal(err)
	}
	return publisher
}
