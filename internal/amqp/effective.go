package amqp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
// of the queue.
func (l Layout) overruled(found []managedObject) (differences []Difference) {
	for _, o := range found {
		queue, known := l.Queue(o.Name)
		if !known {
			continue
		}
		policy := o.policy()
		var details []string
		for _, a := range safeguards() {
			set, isSet := policy[a.name]
			if !isSet {
				continue
			}
			effective, own := set, o.Args["x-"+a.name]
			if own != nil {
				effective = a.join(set, own)
			}
			if want := queue.Args["x-"+a.name]; argumentText(effective) != argumentText(want) {
				details = append(details, fmt.Sprintf("%s is %s, not %s", a.name, argumentText(effective), argumentText(want)))
			}
		}
		if len(details) > 0 {
			differences = append(differences, Difference{
				Kind: Overruled, Object: "queue", Name: o.Name,
				Detail: "by policy " + strings.Join(slices.DeleteFunc([]string{o.Policy, o.OperatorPolicy},
					func(name string) bool { return name == "" }), " and ") + ": " + strings.Join(details, ", "),
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

// policy is what all policies together say about the object. Some brokers send an empty
// list where there is nothing.
func (o managedObject) policy() (definition map[string]any) {
	if json.Unmarshal(o.PolicyDefinition, &definition) != nil {
		return nil
	}
	return definition
}

// verifyPolicies fails when a policy takes away what keeps messages from being lost. A
// broker that starts has its management API a little later than the rest, so it is asked
// again until ctx ends.
func verifyPolicies(ctx context.Context, layout Layout, management *Management) error {
	pause := backoff{min: 200 * time.Millisecond, max: 5 * time.Second}
	for {
		queues, err := management.objects(ctx, "queues")
		if err == nil {
			return differencesError(layout.overruled(queues))
		}
		if status := (*statusError)(nil); errors.As(err, &status) || !pause.wait(ctx) {
			return fmt.Errorf("look for policies: %w", err)
		}
	}
}
