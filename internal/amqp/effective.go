package amqp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// safeguard is an argument that decides over losing messages, and how the broker joins that of
// a queue with that of a policy.
type safeguard struct {
	// name is that in policies; queues have it behind "x-".
	name string
	join func(policy, own any) any
}

// safeguards lists them as RabbitMQ 3.10 to 4.x treats quorum queues.
func safeguards() []safeguard {
	policyFirst := func(policy, _ any) any { return policy }
	ownFirst := func(_, own any) any { return own }
	return []safeguard{
		{"delivery-limit", lowerLimit},
		{"dead-letter-exchange", ownFirst},
		{"dead-letter-routing-key", ownFirst},
		{"dead-letter-strategy", ownFirst},
		{"overflow", policyFirst},
		{"message-ttl", lower},
		{"expires", lower},
	}
}

func lower(a, b any) any {
	if cmp.Compare(integer(a), integer(b)) < 0 {
		return a
	}
	return b
}

// lowerLimit: below 0 is no limit at all, and wins.
func lowerLimit(a, b any) any {
	if integer(a) < 0 || integer(b) < 0 {
		if integer(a) > integer(b) {
			return a
		}
		return b
	}
	return lower(a, b)
}

func integer(value any) int64 {
	switch value := value.(type) {
	case float64:
		return int64(value)
	case int64:
		return value
	default:
		return 0
	}
}

// overruled lists what policies make of the queues of the layout that differs from what
// the layout says: a limit of deliveries, a way for dead letters, an end of messages or
// of the queue. Whether a queue's own arguments are those of the layout is told elsewhere.
func (l Layout) overruled(rulingOf func(queue string) ruling) (differences []Difference) {
	for _, queue := range l.Queues {
		r := rulingOf(queue.Name)
		var details []string
		for _, guard := range safeguards() {
			set, isSet := r.definition[guard.name]
			if !isSet {
				continue
			}
			effective, own := set, queue.Args["x-"+guard.name]
			if own != nil {
				effective = guard.join(set, own)
			}
			if argumentText(effective) != argumentText(own) {
				details = append(details, fmt.Sprintf("%s is %s, not %s", guard.name, argumentText(effective), argumentText(own)))
			}
		}
		if len(details) > 0 {
			differences = append(differences, Difference{
				Kind: Overruled, Object: "queue", Name: queue.Name,
				Detail: "by policy " + strings.Join(r.names, " and ") + ": " + strings.Join(details, ", "),
			})
		}
	}
	return differences
}

func argumentText(value any) string {
	if value == nil {
		return "none"
	}
	if number, ok := value.(float64); ok {
		value = int64(number)
	}
	return fmt.Sprint(value)
}

// ruling is what all policies together say about a queue.
type ruling struct {
	names      []string
	definition map[string]any
}

// policyRule is a policy as it was set.
type policyRule struct {
	Name       string         `json:"name"`
	Pattern    string         `json:"pattern"`
	ApplyTo    string         `json:"apply-to"`
	Priority   int            `json:"priority"`
	Definition map[string]any `json:"definition"`
}

// rulings gives what policies say about queues. What was set is known at once; users who
// may not see that are told with the queues what came of it, some seconds late.
func (m *Management) rulings(ctx context.Context) (func(queue string) ruling, error) {
	var found [2][]policyRule
	for i, kind := range []string{"policies", "operator-policies"} {
		if err := m.get(ctx, kind, &found[i]); err != nil {
			if errors.Is(notAllowed(err), ErrNotAllowed) {
				return m.toldRulings(ctx)
			}
			return nil, err
		}
	}
	for _, rule := range slices.Concat(found[0], found[1]) {
		if _, err := regexp.Compile(rule.Pattern); err != nil {
			return m.toldRulings(ctx) // the broker knows more of patterns than we do
		}
	}
	return func(queue string) ruling {
		return applies(found[0], queue).under(applies(found[1], queue))
	}, nil
}

// applies gives the one policy that applies to a queue, if any does.
func applies(rules []policyRule, queue string) (r ruling) {
	best := 0
	for _, rule := range rules {
		if !slices.Contains([]string{"all", "queues", "quorum_queues"}, rule.ApplyTo) ||
			!regexp.MustCompile(rule.Pattern).MatchString(queue) || r.names != nil && rule.Priority <= best {
			continue
		}
		best, r = rule.Priority, ruling{[]string{rule.Name}, rule.Definition}
	}
	return r
}

// under joins what an operator's policy says: of two numbers the lower one counts.
func (r ruling) under(operator ruling) ruling {
	joined := ruling{slices.Concat(r.names, operator.names), maps.Clone(r.definition)}
	for name, value := range operator.definition {
		if _, isNumber := value.(float64); isNumber && joined.definition[name] != nil {
			value = lower(joined.definition[name], value)
		}
		if joined.definition == nil {
			joined.definition = map[string]any{}
		}
		joined.definition[name] = value
	}
	return joined
}

// toldRulings are those that the list of queues shows.
func (m *Management) toldRulings(ctx context.Context) (func(queue string) ruling, error) {
	var queues []struct {
		Name           string `json:"name"`
		Policy         string `json:"policy"`
		OperatorPolicy string `json:"operator_policy"`
		// Some brokers send an empty list where there is nothing.
		Definition json.RawMessage `json:"effective_policy_definition"`
	}
	if err := m.get(ctx, "queues", &queues); err != nil {
		return nil, err
	}
	told := map[string]ruling{}
	for _, q := range queues {
		var r ruling
		for _, name := range []string{q.Policy, q.OperatorPolicy} {
			if name != "" {
				r.names = append(r.names, name)
			}
		}
		if json.Unmarshal(q.Definition, &r.definition) == nil {
			told[q.Name] = r
		}
	}
	return func(queue string) ruling { return told[queue] }, nil
}

// verifyPolicies fails when a policy takes away what keeps messages from being lost. A
// broker that starts has its management API a little later than the rest, so it is asked
// again until ctx ends.
func verifyPolicies(ctx context.Context, layout Layout, management *Management) error {
	pause := backoff{min: 200 * time.Millisecond, max: 5 * time.Second}
	for {
		rulingOf, err := management.rulings(ctx)
		if err == nil {
			return differencesError(layout.overruled(rulingOf))
		}
		if status := (*statusError)(nil); errors.As(err, &status) || !pause.wait(ctx) {
			return fmt.Errorf("look for policies: %w", err)
		}
	}
}
