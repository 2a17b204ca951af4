package amqp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Exchanges of the layout.
const (
	// ExchangeCommerce carries the facts of upstream services, which own it.
	ExchangeCommerce = "commerce"
	// ExchangeCommands carries commands to us.
	ExchangeCommands = "coupon.commands"
	// ExchangeEvents carries what we tell the world; its queues belong to others.
	ExchangeEvents = "coupon.events"
	// ExchangeDead receives every dead letter, the broker's and our own.
	ExchangeDead = "coupon.dead"
	// ExchangeDelivery is where a delayed message arrives when its time has come.
	ExchangeDelivery = "coupon.delay-delivery"
	// ExchangeUndeliverable catches delayed messages whose destination is gone.
	ExchangeUndeliverable = "coupon.undeliverable"
)

// Queues of the layout. Work queues carry no dots, because a delayed message
// finds its queue by the last word of its routing key.
const (
	QueueOrderPlaced      = "coupon-order-placed"
	QueuePaymentSucceeded = "coupon-payment-succeeded"
	QueueOrderClosed      = "coupon-order-closed"
	QueueRefundApproved   = "coupon-refund-approved"
	QueueLeaseExpired     = "coupon-lease-expired"
	QueueCommands         = "coupon-commands"
	QueueClaims           = "coupon-claims"
	QueueDead             = "coupon-dead"
	QueueUndeliverable    = "coupon-undeliverable"
)

// Default limits of the layout.
const (
	// DefaultDeliveryLimit is how often the broker delivers a message before it
	// dead-letters it by itself. It only has to catch messages that kill the
	// process, and it must be generous: a crash charges every message in flight.
	DefaultDeliveryLimit = 50
	// terminalDeliveryLimit is the limit of queues that have no dead-letter
	// exchange. RabbitMQ 4 applies a limit of 20 where none is given and then
	// drops the message; -1 is refused by RabbitMQ 3.10.
	terminalDeliveryLimit = 1_000_000_000
)

// Options shape the default layout.
type Options struct {
	// DeliveryLimit of the work queues; 0 means DefaultDeliveryLimit.
	DeliveryLimit int
}

// Exchange is one durable exchange.
type Exchange struct {
	Name string         `json:"name"`
	Kind string         `json:"kind"`
	Args map[string]any `json:"arguments,omitempty"`
	// Foreign exchanges belong to somebody else: they are created when missing,
	// but their arguments are not compared.
	Foreign bool `json:"foreign,omitempty"`
}

// Queue is one durable queue. Its type is in its arguments.
type Queue struct {
	Name string         `json:"name"`
	Args map[string]any `json:"arguments,omitempty"`
	// Work queues are consumed by handlers and can be the target of a delay.
	Work bool `json:"work,omitempty"`
}

// Binding leads from an exchange to a queue, or to another exchange.
type Binding struct {
	Source      string `json:"source"`
	Key         string `json:"key"`
	Destination string `json:"destination"`
	ToExchange  bool   `json:"toExchange,omitempty"`
}

// Layout is everything the product needs to exist on the broker.
type Layout struct {
	Exchanges []Exchange `json:"exchanges"`
	Queues    []Queue    `json:"queues"`
	Bindings  []Binding  `json:"bindings"`
}

// workRoutes says which messages each work queue receives. Versions are a
// wildcard, so that a version we do not know arrives and is refused with a
// reason instead of disappearing. The lease queue is only reached by delay.
func workRoutes() []workRoute {
	return []workRoute{
		{QueueOrderPlaced, ExchangeCommerce, []string{"order.placed.#"}},
		{QueuePaymentSucceeded, ExchangeCommerce, []string{"payment.succeeded.#"}},
		{QueueOrderClosed, ExchangeCommerce, []string{"order.closed.#"}},
		{QueueRefundApproved, ExchangeCommerce, []string{"refund.approved.#"}},
		{QueueLeaseExpired, "", nil},
		{QueueCommands, ExchangeCommands, []string{
			"coupon.lock.#", "coupon.renew.#", "coupon.release.#", "coupon.redeem.#",
			"coupon.redeem_requested.#", "coupon.swap.#",
			"coupon.return.#", "coupon.void.#", "coupon.reverse.#",
		}},
		{QueueClaims, ExchangeCommands, []string{"coupon.claim.#", "coupon.issue.#"}},
	}
}

type workRoute struct {
	queue    string
	exchange string
	keys     []string
}

// WorkQueues lists the queues that handlers consume, in layout order.
func WorkQueues() []string {
	routes := workRoutes()
	names := make([]string, len(routes))
	for i, route := range routes {
		names[i] = route.queue
	}
	return names
}

// DefaultLayout is the product's broker layout.
func DefaultLayout(opts Options) Layout {
	if opts.DeliveryLimit <= 0 {
		opts.DeliveryLimit = DefaultDeliveryLimit
	}
	layout := Layout{
		Exchanges: []Exchange{
			{Name: ExchangeCommerce, Kind: "topic", Foreign: true},
			{Name: ExchangeCommands, Kind: "topic"},
			{Name: ExchangeEvents, Kind: "topic"},
			{Name: ExchangeDead, Kind: "topic"},
			{Name: ExchangeUndeliverable, Kind: "fanout"},
			{Name: ExchangeDelivery, Kind: "topic", Args: map[string]any{
				"alternate-exchange": ExchangeUndeliverable,
			}},
		},
		Queues: []Queue{
			{Name: QueueDead, Args: terminalArgs()},
			{Name: QueueUndeliverable, Args: terminalArgs()},
		},
		Bindings: []Binding{
			{Source: ExchangeDead, Key: "#", Destination: QueueDead},
			{Source: ExchangeUndeliverable, Key: "", Destination: QueueUndeliverable},
		},
	}
	for _, route := range workRoutes() {
		layout.Queues = append(layout.Queues, Queue{Name: route.queue, Work: true, Args: workArgs(opts)})
		for _, key := range route.keys {
			layout.Bindings = append(layout.Bindings, Binding{Source: route.exchange, Key: key, Destination: route.queue})
		}
		layout.Bindings = append(layout.Bindings, Binding{
			Source: ExchangeDelivery, Key: "#." + route.queue, Destination: route.queue,
		})
	}
	return withDelayLevels(layout)
}

// workArgs are the arguments of a work queue. At-least-once dead-lettering
// needs reject-publish: with the default overflow the broker silently falls
// back to at-most-once.
func workArgs(opts Options) map[string]any {
	return map[string]any{
		"x-queue-type":           "quorum",
		"x-delivery-limit":       int64(opts.DeliveryLimit),
		"x-dead-letter-exchange": ExchangeDead,
		"x-dead-letter-strategy": "at-least-once",
		"x-overflow":             "reject-publish",
	}
}

func terminalArgs() map[string]any {
	return map[string]any{
		"x-queue-type":     "quorum",
		"x-delivery-limit": int64(terminalDeliveryLimit),
	}
}

// Queue returns the queue of that name.
func (l Layout) Queue(name string) (Queue, bool) {
	i := slices.IndexFunc(l.Queues, func(q Queue) bool { return q.Name == name })
	if i < 0 {
		return Queue{}, false
	}
	return l.Queues[i], true
}

// For returns the part of the layout that one queue needs: the queue, its
// bindings, their sources, and its dead-letter exchange.
func (l Layout) For(queue string) (Layout, error) {
	q, ok := l.Queue(queue)
	if !ok {
		return Layout{}, fmt.Errorf("queue %q is not part of the broker layout", queue)
	}
	part := Layout{Queues: []Queue{q}}
	needed := map[string]bool{}
	if dlx, ok := q.Args["x-dead-letter-exchange"].(string); ok {
		needed[dlx] = true
	}
	for _, b := range l.Bindings {
		if !b.ToExchange && b.Destination == queue {
			part.Bindings = append(part.Bindings, b)
			needed[b.Source] = true
		}
	}
	for _, ex := range l.Exchanges {
		if needed[ex.Name] {
			part.Exchanges = append(part.Exchanges, ex)
		}
	}
	return part, nil
}

// Table is the layout as rows of text for people: what it is, its name, its
// kind or routing, and its arguments. The first row holds the column names.
func (l Layout) Table() [][]string {
	rows := [][]string{{"OBJECT", "NAME", "KIND", "DETAIL"}}
	for _, ex := range l.Exchanges {
		owner := argsText(ex.Args)
		if ex.Foreign {
			owner = strings.TrimSpace("owned upstream " + owner)
		}
		rows = append(rows, []string{"exchange", ex.Name, ex.Kind, owner})
	}
	for _, q := range l.Queues {
		kind, _ := q.Args["x-queue-type"].(string)
		rows = append(rows, []string{"queue", q.Name, kind, argsText(q.Args)})
	}
	for _, b := range l.Bindings {
		rows = append(rows, []string{"binding", b.Source, b.destinationKind(), b.Key + " -> " + b.Destination})
	}
	return rows
}

func (b Binding) destinationKind() string {
	if b.ToExchange {
		return "exchange"
	}
	return "queue"
}

// argsText renders arguments in a stable order, without the queue type, which
// has its own column.
func argsText(args map[string]any) string {
	parts := make([]string, 0, len(args))
	for name, value := range args {
		if name == "x-queue-type" {
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			text = fmt.Append(nil, value)
		}
		parts = append(parts, name+"="+strings.Trim(string(text), `"`))
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}
