package testkit

import (
	"crypto/tls"
	"net"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

func TestTLSProxySpeaksTLSForTheService(t *testing.T) {
	authority := NewAuthority(t)
	config := &tls.Config{Certificates: []tls.Certificate{authority.Server(t, "127.0.0.1").TLS}}

	broker := RabbitMQ(t)
	conn, err := amqp.DialTLS(NewTLSProxy(t, broker.URL, config).URL, &tls.Config{RootCAs: authority.Pool})
	if err != nil {
		t.Fatalf("RabbitMQ: %v", err)
	}
	closeConnection(t, conn)

	postgres := NewTLSProxy(t, Postgres(t), config).URL + "&sslmode=verify-full&sslrootcert=" + authority.CAFile
	if got := query[int](t, postgres, "SELECT 42"); got != 42 {
		t.Errorf("PostgreSQL answers %d", got)
	}

	server, _ := Redis(t)
	redis := NewTLSProxy(t, server, config).URL
	if !strings.HasPrefix(redis, "rediss://") {
		t.Errorf("the proxy's URL is %s", redis)
	}
	raw, err := tls.Dial("tcp", parse(t, redis).Host, &tls.Config{RootCAs: authority.Pool})
	if err != nil {
		t.Fatalf("Redis: %v", err)
	}
	defer raw.Close()
	wantPong(t, raw)
}

// What PostgreSQL is not asked for it does not get either.
func TestTLSProxyWantsTLS(t *testing.T) {
	authority := NewAuthority(t)
	config := &tls.Config{Certificates: []tls.Certificate{authority.Server(t, "127.0.0.1").TLS}}
	postgres := NewTLSProxy(t, Postgres(t), config).URL + "&sslmode=disable"
	message := failure(t, func(t testing.TB) { execute(t, postgres, "SELECT 42") })
	if message == "(it did not fail)" {
		t.Error("PostgreSQL is reached in plain text")
	}
}

func wantPong(t *testing.T, conn net.Conn) {
	t.Helper()
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, len("+PONG"))
	if _, err := conn.Read(answer); err != nil || string(answer) != "+PONG" {
		t.Errorf("Redis answers %q, %v", answer, err)
	}
}
