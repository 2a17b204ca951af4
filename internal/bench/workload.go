package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"couponlease/handlers"
	"couponlease/internal/amqp"
	"couponlease/internal/coupon"
	"couponlease/internal/fleet"
	"couponlease/messages"
)

// ahead is how many orders were placed before a measurement begins: a payment
// comes that many orders after the order it pays for, and the two are not in one
// batch.
const ahead = 4096

// traffic is the work of one measurement.
type traffic struct {
	// codes are the coupons in the wallets, in the order of their issue.
	codes []string
	// placed are answered before the measurement.
	placed []amqp.Publication
	// messages are what is measured, in the order of publication.
	messages []amqp.Publication
	// distinct is how many different messages there are.
	distinct int
}

// mixedRepeats is the share of messages that come twice in mixed traffic.
const mixedRepeats = 0.1

// coupons is how many coupons traffic of so many messages needs.
func couponsFor(messages int) int { return messages/2 + 1 + ahead }

// newTraffic makes about n messages, with the given number of coupons in the
// wallets. Each order has a coupon of its own, which was not issued in the order
// in which the orders come.
func newTraffic(n, coupons int, mix bool, seed uint64) traffic {
	random := rand.New(rand.NewPCG(seed, 0))
	t := traffic{codes: make([]string, coupons)}
	for i := range t.codes {
		t.codes[i] = fmt.Sprintf("code-%06d", i)
	}
	owner := random.Perm(coupons)
	start := time.Now().Add(-time.Minute)
	if mix {
		t.mixed(n, owner, start, seed)
		return t
	}
	pays := n / 2
	places := n - pays
	facts := make([][]amqp.Publication, max(places+ahead, pays))
	for i := range facts {
		order := fleet.Order{ID: fmt.Sprintf("order-%06d", i), Coupon: t.codes[owner[i]], Story: fleet.Bought}
		facts[i] = order.Facts(start)
	}
	for i := range ahead {
		t.placed = append(t.placed, facts[i][0])
	}
	for i := range places {
		t.messages = append(t.messages, facts[ahead+i][0])
		if i < pays {
			t.messages = append(t.messages, facts[i][1])
		}
	}
	t.distinct = len(t.messages)
	return t
}

// mixed is traffic with closes, refunds and repeats, in a random order.
func (t *traffic) mixed(n int, owner []int, start time.Time, seed uint64) {
	orders := fleet.Orders(len(owner))
	var facts int
	for i := range orders {
		orders[i].Coupon = t.codes[owner[i]]
		if facts += len(orders[i].Facts(start)); facts >= int(float64(n)/(1+mixedRepeats)) {
			orders = orders[:i+1]
			break
		}
	}
	t.messages = fleet.Shuffle(orders, start, mixedRepeats, int64(seed))
	t.distinct = facts
}

// requests translates messages as the router does.
func requests(publications []amqp.Publication) ([]coupon.Request, error) {
	table := handlers.Table()
	all := make([]coupon.Request, 0, len(publications))
	for i := range publications {
		p := &publications[i]
		envelope, err := messages.Parse(messages.Delivery{
			Body: p.Body, ContentType: p.ContentType, MessageID: p.ID, Type: p.Type,
			RoutingKey: p.Key, Timestamp: p.Timestamp,
		})
		if err != nil {
			return nil, fmt.Errorf("read message %s: %w", p.ID, err)
		}
		translated, err := table[envelope.Type](envelope)
		if err != nil {
			return nil, fmt.Errorf("translate message %s: %w", p.ID, err)
		}
		all = append(all, translated...)
	}
	return all, nil
}

// queues are the work queues that the traffic goes through.
func (t *traffic) queues() []string {
	var queues []string
	seen := map[string]bool{}
	for i := range t.messages {
		contract, _ := messages.ContractOf(t.messages[i].Type)
		if !seen[contract.Queue] {
			seen[contract.Queue] = true
			queues = append(queues, contract.Queue)
		}
	}
	return queues
}
