package amqp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"couponlease/messages"
)

func TestDefaultLayoutIsComplete(t *testing.T) {
	layout := DefaultLayout(Options{DeliveryLimit: 7})
	known := layout.objects()
	for _, b := range layout.Bindings {
		if !known["exchange"][b.Source] {
			t.Errorf("binding %s has no source in the layout", b)
		}
		if !known[b.destinationKind()][b.Destination] {
			t.Errorf("binding %s has no destination in the layout", b)
		}
	}
	work := workArgs(Options{DeliveryLimit: 7})
	for _, name := range WorkQueues() {
		q, ok := layout.Queue(name)
		if !ok || !q.Work || strings.Contains(name, ".") {
			t.Errorf("work queue %q: in layout %v, work %v, must have no dot", name, ok, q.Work)
		}
		if diff := cmp.Diff(work, q.Args); diff != "" {
			t.Errorf("arguments of %s (-want +got):\n%s", name, diff)
		}
		if !slices.Contains(layout.Bindings, Binding{Source: ExchangeDelivery, Key: "#." + name, Destination: name}) {
			t.Errorf("queue %s cannot be reached by delayed messages", name)
		}
	}
	for _, q := range layout.Queues {
		if q.Args["x-queue-type"] != "quorum" {
			t.Errorf("queue %s is not a quorum queue", q.Name)
		}
		dlx, dead := q.Args["x-dead-letter-exchange"].(string)
		safe := q.Args["x-dead-letter-strategy"] == "at-least-once" && q.Args["x-overflow"] == "reject-publish"
		if dead && (!known["exchange"][dlx] || !safe) {
			t.Errorf("queue %s would lose dead letters: %v", q.Name, q.Args)
		}
		if _, limited := q.Args["x-delivery-limit"]; !dead && !limited {
			t.Errorf("queue %s has no dead-letter exchange and the broker's own delivery limit", q.Name)
		}
	}
}

// T56: the broker bounds no dead letters, because it would lose or refuse them; they leave
// it for a table, and alerts ask how many there are.
func TestT56TheBrokerBoundsNoDeadLetters(t *testing.T) {
	layout := DefaultLayout(Options{})
	for _, name := range []string{QueueDead, QueueUndeliverable} {
		q, found := layout.Queue(name)
		if !found {
			t.Fatalf("the layout has no %s", name)
		}
		for _, bound := range []string{
			"x-max-length", "x-max-length-bytes", "x-message-ttl", "x-expires", "x-overflow", "x-dead-letter-exchange",
		} {
			if value, there := q.Args[bound]; there {
				t.Errorf("%s has %s = %v", name, bound, value)
			}
		}
	}
}

func TestLayoutForOneQueue(t *testing.T) {
	part, err := DefaultLayout(Options{}).For(QueueClaims)
	if err != nil {
		t.Fatal(err)
	}
	want := []Binding{
		{Source: ExchangeCommands, Key: "coupon.claim.#", Destination: QueueClaims},
		{Source: ExchangeCommands, Key: "coupon.issue.#", Destination: QueueClaims},
		{Source: ExchangeDelivery, Key: "#." + QueueClaims, Destination: QueueClaims},
	}
	if diff := cmp.Diff(want, part.Bindings); diff != "" {
		t.Errorf("bindings (-want +got):\n%s", diff)
	}
	var exchanges []string
	for _, ex := range part.Exchanges {
		exchanges = append(exchanges, ex.Name)
	}
	if diff := cmp.Diff([]string{ExchangeCommands, ExchangeDead, ExchangeDelivery}, exchanges); diff != "" {
		t.Errorf("exchanges (-want +got):\n%s", diff)
	}
	if _, err := DefaultLayout(Options{}).For("other"); err == nil {
		t.Error("a queue that is not in the layout has a part of it")
	}
}

// TestEveryMessageReachesItsQueue: and only that one, as the layout binds it.
func TestEveryMessageReachesItsQueue(t *testing.T) {
	layout := DefaultLayout(Options{})
	for _, contract := range messages.Contracts() {
		if contract.Exchange == "" || contract.Queue == "" {
			continue
		}
		// A version that is not known yet has to arrive as well.
		for _, key := range []string{contract.Type, strings.TrimSuffix(contract.Type, "1") + "2"} {
			var queues []string
			for _, b := range layout.Bindings {
				if b.Source == contract.Exchange && topicMatches(strings.Split(b.Key, "."), strings.Split(key, ".")) {
					queues = append(queues, b.Destination)
				}
			}
			if diff := cmp.Diff([]string{contract.Queue}, queues); diff != "" {
				t.Errorf("%s (-want +got):\n%s", key, diff)
			}
		}
	}
}

func TestLayoutRenders(t *testing.T) {
	layout := DefaultLayout(Options{})
	table := layout.Table()
	if got, want := len(table), 1+len(layout.Exchanges)+len(layout.Queues)+len(layout.Bindings); got != want {
		t.Errorf("%d rows, want %d", got, want)
	}
	for _, want := range [][]string{
		{"exchange", "commerce", "topic", "owned upstream"},
		{"queue", "coupon-claims", "quorum", "x-dead-letter-exchange=coupon.dead " +
			"x-dead-letter-strategy=at-least-once x-delivery-limit=50 x-overflow=reject-publish"},
		{"binding", "coupon.dead", "queue", "# -> coupon-dead"},
		{"binding", "coupon.delay-level-00", "exchange", "*.*.*.*.*.*.*.*.*.*.*.*.*.*.*.*.0.# -> coupon.delay-delivery"},
	} {
		if !slices.ContainsFunc(table, func(row []string) bool { return slices.Equal(row, want) }) {
			t.Errorf("no row %q", want)
		}
	}
	text, err := json.Marshal(layout)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `{"name":"commerce","kind":"topic","foreign":true}`) {
		t.Errorf("JSON lacks the upstream exchange: %.200s", text)
	}
}

func TestDelayRoute(t *testing.T) {
	zeros := strings.Repeat("0.", 17)
	for _, test := range []struct {
		delay         time.Duration
		exchange, key string
	}{
		{-time.Second, ExchangeDelivery, "coupon-claims"},
		{0, ExchangeDelivery, "coupon-claims"},
		{time.Nanosecond, "coupon.delay-level-00", zeros[:32] + "1.coupon-claims"},
		{time.Second, "coupon.delay-level-00", zeros[:32] + "1.coupon-claims"},
		{1001 * time.Millisecond, "coupon.delay-level-01", zeros[:30] + "1.0.coupon-claims"},
		{10 * time.Second, "coupon.delay-level-03", zeros[:26] + "1.0.1.0.coupon-claims"},
		{512 * time.Second, "coupon.delay-level-09", zeros[:14] + "1." + zeros[:18] + "coupon-claims"},
		{MaxDelay, "coupon.delay-level-16", "1.1.1.1.1.1.0.1.0.0.1.0.0.0.0.0.0.coupon-claims"},
		{1000 * time.Hour, "coupon.delay-level-16", "1.1.1.1.1.1.0.1.0.0.1.0.0.0.0.0.0.coupon-claims"},
	} {
		exchange, key, err := DelayRoute(test.delay, "coupon-claims")
		if err != nil || exchange != test.exchange || key != test.key {
			t.Errorf("%v: %s %s (%v), want %s %s", test.delay, exchange, key, err, test.exchange, test.key)
		}
	}
	for _, destination := range []string{"", "eu.orders", "*", "#", strings.Repeat("x", 201)} {
		if _, _, err := DelayRoute(time.Second, destination); !errors.Is(err, ErrBadDestination) {
			t.Errorf("destination %q: %v, want ErrBadDestination", destination, err)
		}
	}
}

// TestDelayRoutesArrive follows messages through the bindings of the layout: each
// waits exactly its delay and arrives in its queue only.
func TestDelayRoutesArrive(t *testing.T) {
	layout := DefaultLayout(Options{})
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.IntRange(0, int(MaxDelay/time.Second)).Draw(t, "seconds")
		destination := rapid.SampledFrom(WorkQueues()).Draw(t, "destination")
		exchange, key, err := DelayRoute(time.Duration(seconds)*time.Second, destination)
		if err != nil {
			t.Fatal(err)
		}
		waited := int64(0)
		for {
			queue := layout.follow(t, exchange, key)
			q, _ := layout.Queue(queue)
			ttl, delays := q.Args["x-message-ttl"].(int64)
			if !delays {
				if queue != destination || waited != int64(seconds)*1000 {
					t.Fatalf("arrived in %s after %d ms, want %s after %d s", queue, waited, destination, seconds)
				}
				return
			}
			waited += ttl
			exchange = q.Args["x-dead-letter-exchange"].(string)
		}
	})
}

// follow routes one message as the broker would and returns the only queue it
// reaches.
func (l Layout) follow(t *rapid.T, exchange, key string) string {
	var queues []string
	for _, b := range l.Bindings {
		if b.Source != exchange || !topicMatches(strings.Split(b.Key, "."), strings.Split(key, ".")) {
			continue
		}
		if b.ToExchange {
			queues = append(queues, l.follow(t, b.Destination, key))
		} else {
			queues = append(queues, b.Destination)
		}
	}
	if len(queues) != 1 {
		t.Fatalf("%s with key %s reaches %v, want one queue", exchange, key, queues)
	}
	return queues[0]
}

// topicMatches is the matching rule of topic exchanges.
func topicMatches(pattern, words []string) bool {
	if len(pattern) == 0 {
		return len(words) == 0
	}
	if pattern[0] == "#" {
		return topicMatches(pattern[1:], words) || len(words) > 0 && topicMatches(pattern, words[1:])
	}
	return len(words) > 0 && (pattern[0] == "*" || pattern[0] == words[0]) && topicMatches(pattern[1:], words[1:])
}

func TestPublicationDueAt(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	p := Publication{DelayQueue: QueueLeaseExpired, Delay: 50 * time.Hour}
	out, err := p.prepare(0, now)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(out.message.Headers[HeaderDueAt]); got != "2026-03-03T02:00:00Z" {
		t.Errorf("due at %s, want the time meant though the first leg is shorter", got)
	}
	p.Headers = map[string]string{HeaderDueAt: "2026-04-01T00:00:00Z"}
	if out, err = p.prepare(0, now); err != nil {
		t.Fatal(err)
	}
	if got := out.message.Headers[HeaderDueAt]; got != "2026-04-01T00:00:00Z" {
		t.Errorf("the given due time was replaced by %v", got)
	}
}
