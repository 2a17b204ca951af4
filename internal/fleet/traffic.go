package fleet

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"time"

	"couponlease/internal/amqp"
	"couponlease/internal/coupon"
	"couponlease/messages"
)

// Story is what happens to one order.
type Story string

const (
	// Bought: placed and paid.
	Bought Story = "bought"
	// Abandoned: placed and closed.
	Abandoned Story = "abandoned"
	// Returned: placed, paid and refunded in full.
	Returned Story = "returned"
	// Kept: placed, paid and refunded in part.
	Kept Story = "kept"
	// Late: placed, closed, and paid with a payment from before the close.
	Late Story = "late"
)

// End is the state in which the story leaves its coupon, whatever the order and
// number of its messages.
func (s Story) End() coupon.State {
	switch s {
	case Bought, Kept, Late:
		return coupon.Used
	default:
		return coupon.Available
	}
}

// Order is one order of the traffic.
type Order struct {
	ID, Coupon string
	Story      Story
}

// Orders gives n orders, each with a coupon of its own, in a repeatable mix.
func Orders(n int) []Order {
	mix := []Story{Bought, Bought, Bought, Bought, Bought, Bought, Abandoned, Returned, Kept, Late}
	orders := make([]Order, n)
	for i := range orders {
		orders[i] = Order{
			ID: fmt.Sprintf("order-%06d", i), Coupon: fmt.Sprintf("code-%06d", i), Story: mix[i%len(mix)],
		}
	}
	return orders
}

// BoughtOrders gives n orders that are placed and paid.
func BoughtOrders(n int) []Order {
	orders := Orders(n)
	for i := range orders {
		orders[i].Story = Bought
	}
	return orders
}

// InOrder gives the facts of all orders, one order after the other.
func InOrder(orders []Order, start time.Time) []amqp.Publication {
	var all []amqp.Publication
	for _, order := range orders {
		all = append(all, order.Facts(start)...)
	}
	return all
}

// Codes lists the coupons of orders.
func Codes(orders []Order) []string {
	codes := make([]string, len(orders))
	for i := range orders {
		codes[i] = orders[i].Coupon
	}
	return codes
}

// price is what every order of the traffic costs, in cents.
const price = 2500

func euros(amount int64) messages.Money { return messages.Money{Amount: amount, Currency: "EUR"} }

// Facts gives the messages of an order that was placed at start, in the order
// in which they happened.
func (o Order) Facts(start time.Time) []amqp.Publication {
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	placed := fact(o.ID+"/placed", messages.OrderPlaced{
		OrderID: o.ID, CustomerID: "buyer-of-" + o.ID, Payable: euros(price),
		Coupons: []messages.CouponRef{{Code: o.Coupon}}, OccurredAt: at(0),
	})
	paid := fact(o.ID+"/paid", messages.PaymentSucceeded{
		OrderID: o.ID, PaymentID: "payment-of-" + o.ID, Amount: euros(price), OccurredAt: at(10),
	})
	refund := func(amount int64) amqp.Publication {
		return fact(o.ID+"/refund", messages.RefundApproved{
			OrderID: o.ID, RefundID: "refund-of-" + o.ID, Amount: euros(amount), Reason: "customer", OccurredAt: at(30),
		})
	}
	closed := fact(o.ID+"/closed", messages.OrderClosed{OrderID: o.ID, Reason: "timeout", OccurredAt: at(20)})
	switch o.Story {
	case Abandoned:
		return []amqp.Publication{placed, closed}
	case Returned:
		return []amqp.Publication{placed, paid, refund(price)}
	case Kept:
		return []amqp.Publication{placed, paid, refund(price / 2)}
	case Late:
		return []amqp.Publication{placed, closed, paid}
	default:
		return []amqp.Publication{placed, paid}
	}
}

// fact gives a message as a plain JSON producer would send it.
func fact(id string, m messages.Message) amqp.Publication {
	body, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Errorf("encode %s: %w", id, err)) // only texts, numbers and times
	}
	return amqp.Publication{
		Exchange: messages.ExchangeCommerce, Key: m.MessageType(), ID: id, Type: m.MessageType(),
		ContentType: "application/json", Timestamp: time.Now().UTC(), Body: body, Mandatory: true,
	}
}

// Shuffle gives the facts of all orders in a random, repeatable order, with the
// given share of them repeated under the same id at other places.
func Shuffle(orders []Order, start time.Time, repeated float64, seed int64) []amqp.Publication {
	random := rand.New(rand.NewSource(seed))
	var all []amqp.Publication
	for _, order := range orders {
		for _, publication := range order.Facts(start) {
			all = append(all, publication)
			if random.Float64() < repeated {
				all = append(all, publication)
			}
		}
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}
