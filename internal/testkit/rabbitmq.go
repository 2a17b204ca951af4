package testkit

import (
	"net/http"
	"net/url"
	"sync"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

// Broker is a RabbitMQ virtual host that belongs to one test.
type Broker struct {
	// URL reaches the virtual host as a user who sees nothing else.
	URL string
	// ManagementURL is the base of the HTTP API, with credentials of an administrator.
	ManagementURL string
	// VHost is the virtual host's name, and the user's as well.
	VHost string
}

// Policy is a RabbitMQ policy of the test's virtual host.
type Policy struct {
	Name       string         `json:"name"`
	Pattern    string         `json:"pattern"`
	ApplyTo    string         `json:"apply-to"`
	Priority   int            `json:"priority"`
	Definition map[string]any `json:"definition"`
}

// everything is a permission on all names.
const everything = ".*"

// RabbitMQ creates a virtual host and a user with all rights in it. Both are deleted when the test ends, with whatever
// the test left there, open connections included.
func RabbitMQ(t testing.TB) Broker {
	t.Helper()
	server, management := serviceURL(t, amqpVariable), serviceURL(t, managementVariable)
	name := uniqueName(t)
	b := Broker{ManagementURL: management.String(), VHost: name}
	b.ask(t, http.MethodPut, map[string]string{"password": name, "tags": ""}, nil, "users", name)
	t.Cleanup(func() { b.ask(t, http.MethodDelete, nil, nil, "users", name) })
	b.create(t)
	t.Cleanup(func() { b.delete(t) })

	own := *server
	own.User = url.UserPassword(name, name)
	own.Path = "/" + name
	b.URL = own.String()
	conn, err := amqp.Dial(b.URL)
	if err != nil {
		t.Fatalf("RabbitMQ at %s does not answer: %v; %s", server.Host, err, howToStart)
	}
	closeConnection(t, conn)
	return b
}

func (b Broker) create(t testing.TB) {
	t.Helper()
	b.ask(t, http.MethodPut, nil, nil, "vhosts", b.VHost)
	b.ask(t, http.MethodPut, map[string]string{"configure": everything, "write": everything, "read": everything},
		nil, "permissions", b.VHost, b.VHost)
}

func (b Broker) delete(t testing.TB) {
	t.Helper()
	b.ask(t, http.MethodDelete, nil, nil, "vhosts", b.VHost)
}

// Lose takes all data of the virtual host away: connections are closed, and until the test
// calls found, nobody can connect. What is found then is a new, empty virtual host with its
// user and the user's rights.
func (b Broker) Lose(t testing.TB) (found func()) {
	t.Helper()
	b.delete(t)
	once := sync.OnceFunc(func() { b.create(t) })
	// What the virtual host of a test is deleted by wants to find it.
	t.Cleanup(once)
	return once
}

// CloseConnections makes the broker close every connection that the test has open at this moment, as an operator or a
// restart would.
func (b Broker) CloseConnections(t testing.TB) {
	t.Helper()
	// By user, not by listing: the list of connections lags behind by a statistics interval.
	b.ask(t, http.MethodDelete, nil, nil, "connections", "username", b.VHost)
}

// DeleteQueue deletes a queue that must be there, with its messages.
func (b Broker) DeleteQueue(t testing.TB, queue string) {
	t.Helper()
	b.ask(t, http.MethodDelete, nil, nil, "queues", b.VHost, queue)
}

// QueueDepth is the number of messages that wait in a queue; those delivered and not yet acknowledged are not among
// them. The queue itself is asked, so the figure is current. A queue that is not there fails the test.
func (b Broker) QueueDepth(t testing.TB, queue string) int {
	t.Helper()
	conn, err := amqp.Dial(b.URL)
	if err != nil {
		t.Fatalf("connect to %s: %v", b.VHost, err)
	}
	defer closeConnection(t, conn)
	channel, err := conn.Channel()
	if err != nil {
		t.Fatalf("open a channel: %v", err)
	}
	// A passive declaration compares nothing but the name.
	state, err := channel.QueueDeclarePassive(queue, true, false, false, false, nil)
	if err != nil {
		t.Fatalf("depth of queue %s: %v", queue, err)
	}
	return state.Messages
}

// SetPolicy creates or replaces a policy.
func (b Broker) SetPolicy(t testing.TB, p Policy) {
	t.Helper()
	b.ask(t, http.MethodPut, p, nil, "policies", b.VHost, p.Name)
}

// SetUserTags gives the user of the virtual host tags, which say what the management API shows to it.
func (b Broker) SetUserTags(t testing.TB, tags string) {
	t.Helper()
	b.ask(t, http.MethodPut, map[string]string{"password": b.VHost, "tags": tags}, nil, "users", b.VHost)
}

// DeletePolicy takes a policy away that must be there.
func (b Broker) DeletePolicy(t testing.TB, name string) {
	t.Helper()
	b.ask(t, http.MethodDelete, nil, nil, "policies", b.VHost, name)
}

// Policies lists the policies of the virtual host.
func (b Broker) Policies(t testing.TB) []Policy {
	t.Helper()
	var policies []Policy
	b.ask(t, http.MethodGet, nil, &policies, "policies", b.VHost)
	return policies
}

func closeConnection(t testing.TB, conn *amqp.Connection) {
	t.Helper()
	if err := conn.Close(); err != nil {
		t.Errorf("close the connection: %v", err)
	}
}
