package amqp

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/testkit"
)

// TestPoliciesThatEndangerMessagesAreRefusedAtStart: a policy decides over a queue past
// its arguments, on whatever side it was set.
func TestPoliciesThatEndangerMessagesAreRefusedAtStart(t *testing.T) {
	b := newBroker(t)
	m := b.management(t)
	layout := DefaultLayout(Options{})
	overruled := func() (details []string) {
		for _, d := range b.verify(t, layout, m) {
			if d.Kind == Overruled {
				details = append(details, d.Name+" "+d.Detail)
			}
		}
		slices.Sort(details)
		return details
	}
	tests := []struct {
		name       string
		pattern    string
		definition map[string]any
		want       []string
	}{
		{"lower limit", "^coupon-claims$", map[string]any{"delivery-limit": 3},
			[]string{"coupon-claims by policy lower limit: delivery-limit is 3, not 50"}},
		{"higher limit", "^coupon-claims$", map[string]any{"delivery-limit": 500}, nil},
		{"end of messages", "^coupon-(claims|dead)$", map[string]any{"message-ttl": 1000, "expires": 60000}, []string{
			"coupon-claims by policy end of messages: message-ttl is 1000, not none, expires is 60000, not none",
			"coupon-dead by policy end of messages: message-ttl is 1000, not none, expires is 60000, not none",
		}},
		{"other overflow", "^coupon-claims$", map[string]any{"overflow": "drop-head"},
			[]string{"coupon-claims by policy other overflow: overflow is drop-head, not reject-publish"}},
		{"other dead letters", "^coupon-(claims|dead)$", map[string]any{"dead-letter-exchange": "elsewhere"},
			[]string{"coupon-dead by policy other dead letters: dead-letter-exchange is elsewhere, not none"}},
		{"of others", "^mailer$", map[string]any{"delivery-limit": 3}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b.SetPolicy(t, testkit.Policy{
				Name: test.name, Pattern: test.pattern, ApplyTo: "queues", Priority: 1, Definition: test.definition,
			})
			t.Cleanup(func() { b.DeletePolicy(t, test.name) })
			var got []string
			testkit.Eventually(t, 10*time.Second, "the policy applies", func() (bool, string) {
				got = overruled()
				return cmp.Equal(test.want, got), strings.Join(got, "\n")
			})
			for _, mode := range []Mode{ModeDeclare, ModeVerify} {
				err := Ensure(testContext(t), b.conn, layout, mode, m)
				if refused := errors.Is(err, ErrLayoutDiffers); refused != (test.want != nil) {
					t.Errorf("%s: %v", mode, err)
				} else if refused && !strings.Contains(err.Error(), "overruled queue coupon-") {
					t.Errorf("%s does not say why: %v", mode, err)
				}
			}
		})
	}
}

// TestJoinedArguments holds what brokers make of two values.
func TestJoinedArguments(t *testing.T) {
	layout := DefaultLayout(Options{})
	for name, test := range map[string]struct{ policy, want string }{
		"no limit, no effect": {`{"delivery-limit": -1}`, ""},
		"same as the queue":   {`{"delivery-limit": 50, "overflow": "reject-publish"}`, ""},
		"nothing":             {`{}`, ""},
		"nothing, as a list":  {`[]`, ""},
		"other ways, ignored": {`{"dead-letter-strategy": "at-most-once", "dead-letter-exchange": "x"}`, ""},
		"another key":         {`{"dead-letter-routing-key": "x"}`, "dead-letter-routing-key is x, not none"},
		"what does no harm":   {`{"max-length": 5, "queue-leader-locator": "balanced"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			queue, _ := layout.Queue(QueueClaims)
			found := managedObject{Name: QueueClaims, Args: queue.Args, PolicyDefinition: json.RawMessage(test.policy)}
			got := ""
			for _, d := range layout.overruled([]managedObject{found}) {
				_, got, _ = strings.Cut(d.Detail, ": ")
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestHealthOfTheBroker(t *testing.T) {
	b := newBroker(t)
	m := b.management(t)
	if version := b.conn.ServerVersion(); !strings.Contains(version, ".") {
		t.Errorf("version %q", version)
	}
	o, err := m.Overview(testContext(t))
	if err != nil || o.Version != b.conn.ServerVersion() || time.Since(o.Clock).Abs() > time.Minute {
		t.Errorf("overview %+v: %v", o, err)
	}
	nodes, err := m.Nodes(testContext(t))
	if err != nil || len(nodes) == 0 || !nodes[0].Running || nodes[0].DiskLimit == 0 {
		t.Errorf("nodes %+v: %v", nodes, err)
	}
	if _, err := m.DisabledFlags(testContext(t)); err != nil {
		t.Error(err)
	}
	states, err := QueueStates(testContext(t), b.conn, []string{QueueClaims, "coupon-nowhere", QueueDead})
	want := []QueueState{
		{Name: QueueClaims, Exists: true, Known: true}, {Name: "coupon-nowhere", Known: true},
		{Name: QueueDead, Exists: true, Known: true},
	}
	if diff := cmp.Diff(want, states); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestTheManagementAPITellsEachItsOwn: a user without the tags is told so.
func TestTheManagementAPITellsEachItsOwn(t *testing.T) {
	b := newBroker(t)
	address := strings.Replace(b.ManagementURL, "//", "//"+b.VHost+":"+b.VHost+"@", 1)
	if _, rest, found := strings.Cut(b.ManagementURL, "@"); found {
		address = "http://" + b.VHost + ":" + b.VHost + "@" + rest
	}
	m, err := NewManagement(address, b.VHost, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Nodes(testContext(t)); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("nodes: %v", err)
	}
	if _, err := m.DisabledFlags(testContext(t)); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("feature flags: %v", err)
	}
	if _, err := m.Overview(testContext(t)); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("overview: %v", err)
	}
}
