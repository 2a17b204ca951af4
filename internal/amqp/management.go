package amqp

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// maxManagementAnswer bounds what is read from the management API, in bytes.
const maxManagementAnswer = 64 << 20

// Management reads a virtual host through the broker's management HTTP API,
// which knows what AMQP cannot tell: the bindings, and what exists in excess.
type Management struct {
	root     *url.URL
	user     string
	password string
	vhost    string
	client   *http.Client
}

// NewManagement takes the API's address with credentials, such as
// https://user:password@host:15671, and the virtual host to look at. For https,
// base says whom to trust and which certificate to show; nil means the system's
// authorities and none.
func NewManagement(address, vhost string, base *tls.Config) (*Management, error) {
	root, err := url.Parse(address)
	if err != nil || root.Host == "" {
		// The cause would quote the address, and with it the password.
		return nil, errors.New("management address is not of the form http://user:password@host:port")
	}
	// It is asked seldom: connections are not kept.
	m := &Management{vhost: vhost, client: &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: atLeastTLS12(base)},
	}}
	if root.User != nil {
		m.user = root.User.Username()
		m.password, _ = root.User.Password()
		root.User = nil
	}
	m.root = root
	return m, nil
}

// managedBinding is a binding as the API shows it.
type managedBinding struct {
	Source          string `json:"source"`
	RoutingKey      string `json:"routing_key"`
	Destination     string `json:"destination"`
	DestinationType string `json:"destination_type"`
}

// managedObject is an exchange or a queue as the API shows it.
type managedObject struct {
	Name string `json:"name"`
	// Kind is that of an exchange; newer brokers tell the type of a queue, too.
	Kind      string         `json:"type"`
	Args      map[string]any `json:"arguments"`
	IsDurable bool           `json:"durable"`
}

// description is what an object is, in one line that can be compared.
func (o managedObject) description() string {
	kind := o.Kind
	if _, isQueue := o.Args["x-queue-type"]; isQueue {
		kind = "" // it is among the arguments
	}
	if !o.IsDurable {
		kind = "transient " + kind
	}
	return description(kind, o.Args)
}

// description renders kind and arguments, numbers alike whether they come from
// the layout or from JSON.
func description(kind string, args map[string]any) string {
	parts := []string{kind}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		value := args[name]
		if number, ok := value.(float64); ok {
			value = int64(number)
		}
		parts = append(parts, fmt.Sprintf("%s=%v", name, value))
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

func (m *Management) bindings(ctx context.Context) ([]Binding, error) {
	var found []managedBinding
	if err := m.get(ctx, "bindings", &found); err != nil {
		return nil, err
	}
	bindings := make([]Binding, 0, len(found))
	for _, b := range found {
		if b.Source == "" {
			continue // every queue is bound to the default exchange
		}
		bindings = append(bindings, Binding{
			Source: b.Source, Key: b.RoutingKey, Destination: b.Destination,
			ToExchange: b.DestinationType == "exchange",
		})
	}
	return bindings, nil
}

// objects lists the "queues" or "exchanges".
func (m *Management) objects(ctx context.Context, kind string) ([]managedObject, error) {
	var found []managedObject
	if err := m.get(ctx, kind, &found); err != nil {
		return nil, err
	}
	return found, nil
}

func (m *Management) get(ctx context.Context, kind string, answer any) error {
	// The virtual host is one path segment even when it holds slashes.
	_, err := m.ask(ctx, kind, kind+"/"+url.PathEscape(m.vhost), answer)
	return err
}

// ask reads what the API has at a path, and the broker's clock, which tells seconds.
func (m *Management) ask(ctx context.Context, what, path string, answer any) (clock time.Time, err error) {
	target := strings.TrimSuffix(m.root.String(), "/") + "/api/" + path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return clock, fmt.Errorf("ask management API for %s: %w", what, err)
	}
	request.SetBasicAuth(m.user, m.password)
	response, err := m.client.Do(request)
	if err != nil {
		return clock, fmt.Errorf("ask management API for %s: %w", what, err)
	}
	defer response.Body.Close()
	body := io.LimitReader(response.Body, maxManagementAnswer)
	if response.StatusCode != http.StatusOK {
		return clock, fmt.Errorf("ask management API for %s: %w", what, &statusError{response.StatusCode, response.Status})
	}
	if err := json.NewDecoder(body).Decode(answer); err != nil {
		return clock, fmt.Errorf("read %s from management API: %w", what, err)
	}
	// Not every proxy in between passes the date on.
	clock, _ = http.ParseTime(response.Header.Get("Date"))
	return clock, nil
}

// statusError is an answer that is none.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return e.text }
