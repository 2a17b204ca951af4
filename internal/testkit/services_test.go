package testkit

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"
)

func TestPostgresGivesEachTestItsOwnSchemaAndDropsIt(t *testing.T) {
	var schema string
	t.Run("two tests", func(t *testing.T) {
		first, second := Postgres(t), Postgres(t)
		execute(t, first, "CREATE TABLE coupon (id text)")
		execute(t, second, "CREATE TABLE coupon (id text)")
		schema = query[string](t, first, "SELECT current_schema()")
		if other := query[string](t, second, "SELECT current_schema()"); other == schema {
			t.Errorf("both tests have schema %s", schema)
		}
	})
	server := serviceURL(t, postgresVariable).String()
	if left := query[int](t, server, "SELECT count(*) FROM pg_namespace WHERE nspname = $1", schema); left != 0 {
		t.Errorf("schema %s is still there", schema)
	}
}

func TestPostgresIsDurable(t *testing.T) {
	server := Postgres(t)
	for _, setting := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		if got := query[string](t, server, "SELECT current_setting($1)", setting); got != "on" {
			t.Errorf("%s is %s: what the tests show would not hold in production", setting, got)
		}
	}
}

func TestRabbitMQGivesEachTestItsOwnVHostAndDeletesIt(t *testing.T) {
	var broker Broker
	t.Run("two tests", func(t *testing.T) {
		broker = RabbitMQ(t)
		other := RabbitMQ(t)
		channel(t, broker).queue(t, "orders")
		channel(t, other).queue(t, "orders")
		channel(t, broker).publish(t, "orders", 3)
		waitForDepth(t, broker, "orders", 3)
		waitForDepth(t, other, "orders", 0)
	})
	var vhosts []struct{ Name string }
	broker.ask(t, http.MethodGet, nil, &vhosts, "vhosts")
	for _, vhost := range vhosts {
		if vhost.Name == broker.VHost {
			t.Errorf("vhost %s is still there", vhost.Name)
		}
	}
}

func TestBrokerClosesEveryConnection(t *testing.T) {
	broker := RabbitMQ(t)
	first, second := channel(t, broker), channel(t, broker)
	broker.CloseConnections(t)
	for _, c := range []testChannel{first, second} {
		select {
		case <-c.closed:
		case <-time.After(10 * time.Second):
			t.Fatal("a connection is still open")
		}
	}
}

func TestBrokerDeletesQueue(t *testing.T) {
	broker := RabbitMQ(t)
	channel(t, broker).queue(t, "orders")
	broker.DeleteQueue(t, "orders")
	wantFailure(t, "orders", func(t testing.TB) { broker.QueueDepth(t, "orders") })
}

func TestBrokerPolicies(t *testing.T) {
	broker := RabbitMQ(t)
	want := Policy{
		Name: "limit", Pattern: "^coupon-", ApplyTo: "queues", Priority: 7,
		Definition: map[string]any{"delivery-limit": float64(5)},
	}
	broker.SetPolicy(t, want)
	if diff := cmp.Diff([]Policy{want}, broker.Policies(t)); diff != "" {
		t.Error(diff)
	}
}

func TestRedisDeletesTheKeysOfTheTest(t *testing.T) {
	ctx := t.Context()
	server, bystander := Redis(t)
	options, err := redis.ParseURL(server)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	set := func(key string) {
		t.Helper()
		if err := client.Set(ctx, key, 1, time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
	}
	set(bystander + "kept")
	var plain, tagged string
	t.Run("a test", func(t *testing.T) {
		_, prefix := Redis(t)
		plain, tagged = prefix+"quota", "{"+prefix+"spring}:quota"
		set(plain)
		set(tagged)
	})
	left, err := client.Exists(ctx, plain, tagged).Result()
	if err != nil || left != 0 {
		t.Errorf("%d keys of the ended test are left, error %v", left, err)
	}
	kept, err := client.Exists(ctx, bystander+"kept").Result()
	if err != nil || kept != 1 {
		t.Errorf("%d keys of the other test are left, error %v, want 1", kept, err)
	}
}

func TestPrivateStackCanGoDownAndComeBack(t *testing.T) {
	stack := PrivateStack(t, ServicePostgres)
	if stack.PostgresURL == serviceURL(t, postgresVariable).String() {
		t.Fatal("it is the main stack's PostgreSQL")
	}
	execute(t, stack.PostgresURL, "CREATE TABLE coupon AS SELECT 42 AS answer")
	for _, take := range []struct {
		down string
		by   func(testing.TB, Service)
	}{
		{"stop", stack.Stop},
		{"kill", stack.Kill},
	} {
		take.by(t, ServicePostgres)
		wantFailure(t, "make up", func(t testing.TB) { admin(t, parse(t, stack.PostgresURL), "SELECT 1") })
		stack.Start(t, ServicePostgres)
		if got := query[int](t, stack.PostgresURL, "SELECT answer FROM coupon"); got != 42 {
			t.Errorf("after %s and start the table holds %d, want 42", take.down, got)
		}
	}
}

func parse(t testing.TB, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func execute(t testing.TB, server, statement string) {
	t.Helper()
	admin(t, parse(t, server), statement)
}

func query[T any](t testing.TB, server, statement string, arguments ...any) T {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	var value T
	if err := conn.QueryRow(ctx, statement, arguments...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return value
}

// testChannel is a channel on a connection of its own.
type testChannel struct {
	*amqp.Channel
	closed chan *amqp.Error
}

func channel(t testing.TB, broker Broker) testChannel {
	t.Helper()
	conn, err := amqp.Dial(broker.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // it may be closed already: that is what a test is about
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	return testChannel{ch, conn.NotifyClose(make(chan *amqp.Error, 1))}
}

func (c testChannel) queue(t testing.TB, name string) {
	t.Helper()
	if _, err := c.QueueDeclare(name, true, false, false, false, amqp.Table{"x-queue-type": "quorum"}); err != nil {
		t.Fatal(err)
	}
}

func (c testChannel) publish(t testing.TB, queue string, count int) {
	t.Helper()
	for range count {
		if err := c.PublishWithContext(t.Context(), "", queue, true, false, amqp.Publishing{}); err != nil {
			t.Fatal(err)
		}
	}
}

func waitForDepth(t testing.TB, broker Broker, queue string, want int) {
	t.Helper()
	Eventually(t, 10*time.Second, "the messages are in the queue", func() (bool, string) {
		depth := broker.QueueDepth(t, queue)
		return depth == want, fmt.Sprintf("%d of %d", depth, want)
	})
}
