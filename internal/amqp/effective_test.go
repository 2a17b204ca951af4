package amqp

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/testkit"
)

// TestPoliciesThatEndangerMessagesAreRefusedAtStart: a policy decides over a queue past
// its arguments, on whatever side it was set (T49).
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
			if diff := cmp.Diff(test.want, overruled()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
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
	layout, err := DefaultLayout(Options{}).For(QueueClaims)
	if err != nil {
		t.Fatal(err)
	}
	limit := func(n float64) map[string]any { return map[string]any{"delivery-limit": n} }
	for name, test := range map[string]struct {
		policy, operator map[string]any
		want             string
	}{
		"no limit, no effect": {policy: limit(-1)},
		"same as the queue":   {policy: map[string]any{"delivery-limit": 50.0, "overflow": "reject-publish"}},
		"nothing":             {},
		"other ways, ignored": {policy: map[string]any{"dead-letter-strategy": "at-most-once", "dead-letter-exchange": "x"}},
		"what does no harm":   {policy: map[string]any{"max-length": 5.0, "queue-leader-locator": "balanced"}},
		"another key": {policy: map[string]any{"dead-letter-routing-key": "x"},
			want: "by policy own: dead-letter-routing-key is x, not none"},
		"the operator's":   {operator: limit(7), want: "by policy theirs: delivery-limit is 7, not 50"},
		"the lower one":    {policy: limit(9), operator: limit(7), want: "by policy own and theirs: delivery-limit is 7, not 50"},
		"the other is low": {policy: limit(5), operator: limit(7), want: "by policy own and theirs: delivery-limit is 5, not 50"},
	} {
		t.Run(name, func(t *testing.T) {
			rules := func(name string, definition map[string]any) []policyRule {
				return []policyRule{{Name: name, Pattern: ".*", ApplyTo: "all", Definition: definition}}
			}
			var own, operator ruling
			if test.policy != nil {
				own = applies(rules("own", test.policy), QueueClaims)
			}
			if test.operator != nil {
				operator = applies(rules("theirs", test.operator), QueueClaims)
			}
			got := ""
			for _, d := range layout.overruled(func(string) ruling { return own.under(operator) }) {
				got += d.Detail
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestTheStrongestPolicyAppliesAlone(t *testing.T) {
	rules := []policyRule{
		{Name: "weak", Pattern: "^coupon-", ApplyTo: "queues", Priority: 1},
		{Name: "strong", Pattern: "claims$", ApplyTo: "quorum_queues", Priority: 5},
		{Name: "middle", Pattern: "^coupon-", ApplyTo: "all", Priority: 3},
		{Name: "exchanges", Pattern: ".*", ApplyTo: "exchanges", Priority: 9},
		{Name: "streams", Pattern: ".*", ApplyTo: "streams", Priority: 9},
	}
	for queue, want := range map[string][]string{
		QueueClaims: {"strong"}, QueueCommands: {"middle"}, "coupon.delay-level-01": nil,
	} {
		if got := applies(rules, queue).names; !slices.Equal(got, want) {
			t.Errorf("%s: %s, want %s", queue, got, want)
		}
	}
}

// TestFewerRightsSeePoliciesLater: a user who may not see policies is told with the
// queues what came of them.
func TestFewerRightsSeePoliciesLater(t *testing.T) {
	b := newBroker(t)
	b.SetPolicy(t, testkit.Policy{
		Name: "low", Pattern: "^coupon-claims$", ApplyTo: "queues", Definition: map[string]any{"delivery-limit": 3},
	})
	b.SetUserTags(t, "management")
	m, err := NewManagement(b.asItsUser(), b.VHost, nil)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 20*time.Second, "the policy is seen", func() (bool, string) {
		err := Ensure(testContext(t), b.conn, DefaultLayout(Options{}), ModeDeclare, m)
		return errors.Is(err, ErrLayoutDiffers) && strings.Contains(err.Error(), "by policy low"), fmt.Sprint(err)
	})
}

// asItsUser is the management API for the user of the virtual host.
func (b broker) asItsUser() string {
	_, rest, found := strings.Cut(b.ManagementURL, "@")
	if !found {
		_, rest, _ = strings.Cut(b.ManagementURL, "//")
	}
	return "http://" + b.VHost + ":" + b.VHost + "@" + rest
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
	m, err := NewManagement(b.asItsUser(), b.VHost, nil)
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
