package fleet

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"couponlease/internal/amqp"
	"couponlease/internal/batcher"
	"couponlease/internal/coupon"
	"couponlease/internal/engine"
	"couponlease/internal/leasetoken"
	"couponlease/internal/store"
	"couponlease/internal/testkit"
)

// setupLimit bounds everything that only prepares a test.
const setupLimit = 5 * time.Minute

// Space is a migrated schema and a virtual host with the product's layout.
type Space struct {
	PostgresURL string
	Broker      testkit.Broker
	// TokenKeys is the key that all processes of the space make lease tokens from.
	TokenKeys string
	// RedisURL is where the processes of the space find Redis; "" is the environment's.
	// RedisPrefix begins all keys there.
	RedisURL, RedisPrefix string
	Store                 *store.Store
	// Publisher sends as an upstream service would, with confirmation.
	Publisher *amqp.Publisher
	// Conn is the connection of Publisher.
	Conn *amqp.Conn
}

// NewSpace prepares a space; it goes with the test.
func NewSpace(t testing.TB) *Space {
	t.Helper()
	url, prefix := testkit.Redis(t)
	s := newSpace(t, testkit.Postgres(t), testkit.RabbitMQ(t), prefix)
	s.RedisURL = url
	return s
}

// OnStack prepares a space on the private services of the test.
func OnStack(t testing.TB, postgresURL string, broker testkit.Broker) *Space {
	t.Helper()
	return newSpace(t, postgresURL, broker, "stack:")
}

func newSpace(t testing.TB, postgresURL string, broker testkit.Broker, redisPrefix string) *Space {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setupLimit)
	defer cancel()
	key := make([]byte, leasetoken.MinKey)
	_, err := rand.Read(key)
	must(t, err, "draw a token key")
	s := &Space{
		PostgresURL: postgresURL, Broker: broker, TokenKeys: hex.EncodeToString(key),
		RedisPrefix: redisPrefix,
	}
	keys, err := leasetoken.New(key)
	must(t, err, "make token keys")
	s.Store, err = store.Open(ctx, s.PostgresURL, store.Options{
		Rules: coupon.DefaultRules(), Source: engine.NewSource(keys), ApplicationName: "fleet",
	})
	must(t, err, "open store")
	t.Cleanup(s.Store.Close)
	must(t, s.Store.MigrateUp(ctx), "migrate")
	s.Conn, err = amqp.Connect(amqp.ConnConfig{URL: broker.URL, Name: "fleet"})
	must(t, err, "connect to the broker")
	t.Cleanup(func() { must(t, s.Conn.Close(), "close the broker connection") })
	must(t, amqp.Apply(ctx, s.Conn, amqp.DefaultLayout(amqp.Options{})), "apply the topology")
	s.Publisher = amqp.NewPublisher(s.Conn, amqp.PublisherConfig{})
	t.Cleanup(func() { must(t, s.Publisher.Close(), "close the publisher") })
	return s
}

// Template is the template of all coupons that a space imports.
const Template = "fleet"

// Import issues coupons through the engine, as couponctl does, and returns how
// long that took.
func (s *Space) Import(t testing.TB, codes []string) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setupLimit)
	defer cancel()
	e := engine.New(s.Store, func(*coupon.Changes) ([]coupon.OutboxRow, error) { return nil, nil },
		engine.Options{Limits: batcher.Limits{Batch: 256, Workers: 2}})
	defer func() { must(t, e.Close(ctx), "close the importing engine") }()
	start := time.Now()
	requests := []coupon.Request{{Fact: coupon.DefineTemplate{Template: coupon.Template{
		ID: Template, Terms: coupon.Unlimited(),
	}}}}
	answers, errs := e.SubmitAll(ctx, requests)
	must(t, errs[0], "define the template")
	requests = requests[:0]
	for _, code := range codes {
		requests = append(requests, coupon.Request{Fact: coupon.ImportCoupon{Code: code, Template: Template}})
	}
	answers, errs = e.SubmitAll(ctx, requests)
	for i := range requests {
		must(t, errs[i], "import "+codes[i])
		if answers[i].Code != coupon.Created {
			t.Fatalf("import %s: %s", codes[i], answers[i].Code)
		}
	}
	return time.Since(start)
}

// Check proves every invariant on everything in the space, and returns how many
// coupons and orders that was.
func (s *Space) Check(t testing.TB) (coupons, orders int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setupLimit)
	defer cancel()
	violations, coupons, orders, err := Verify(ctx, s.Store)
	must(t, err, "check invariants")
	for _, violation := range violations {
		t.Error(violation)
	}
	return coupons, orders
}

// maxViolations bounds how many are reported.
const maxViolations = 20

// Verify streams all coupons and orders of a store through the invariants.
func Verify(ctx context.Context, s *store.Store) (found []coupon.Violation, coupons, orders int, err error) {
	rows := map[string]*coupon.Coupon{}
	err = s.EachHistory(ctx, func(h coupon.History) error {
		rows[h.Coupon.ID] = h.Coupon
		coupons++
		if len(found) < maxViolations {
			found = append(found, coupon.Check(h)...)
		}
		return nil
	})
	if err != nil {
		return nil, coupons, orders, fmt.Errorf("read coupons: %w", err)
	}
	all := map[string]*coupon.Order{}
	err = s.EachOrder(ctx, func(o *coupon.Order) error {
		all[o.ID] = o
		return nil
	})
	if err != nil {
		return nil, coupons, orders, fmt.Errorf("read orders: %w", err)
	}
	for _, order := range all {
		orders++
		if len(found) < maxViolations {
			found = append(found, coupon.CheckOrder(order,
				func(id string) *coupon.Coupon { return rows[id] },
				func(id string) *coupon.Order { return all[id] })...)
		}
	}
	return found, coupons, orders, nil
}

// Publish sends messages and fails the test unless the broker has them all.
func (s *Space) Publish(t testing.TB, publications []amqp.Publication) {
	t.Helper()
	must(t, s.publish(publications), "publish")
}

// publishPause is how long a producer waits for a broker that is away.
const publishPause = 200 * time.Millisecond

// publish sends messages, again and again those that the broker did not take: it
// may be away for a while.
func (s *Space) publish(publications []amqp.Publication) error {
	const window = 2000
	ctx, cancel := context.WithTimeout(context.Background(), setupLimit)
	defer cancel()
	for start := 0; start < len(publications); start += window {
		part := publications[start:min(start+window, len(publications))]
		for len(part) > 0 {
			var left []amqp.Publication
			var last error
			for i, err := range s.Publisher.PublishBatch(ctx, part) {
				if err != nil {
					left, last = append(left, part[i]), err
				}
			}
			if part = left; len(part) == 0 {
				break
			}
			select {
			case <-ctx.Done():
				return last
			case <-time.After(publishPause):
			}
		}
	}
	return nil
}

func must(t testing.TB, err error, what string) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
