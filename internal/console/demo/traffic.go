package demo

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"couponlease/internal/console"
	"couponlease/internal/coupon"
	"couponlease/messages"
)

// plot is what happens to an order and its coupon.
type plot int

const (
	bought     plot = iota // placed, paid
	abandoned              // placed, closed unpaid
	returned               // placed, paid, refunded in full
	kept                   // placed, paid, refunded in part
	paidFirst              // the payment's message comes before the order's
	closeFirst             // the close's message comes before the order's
	recovered              // closed, then a payment from before the close comes
	contested              // two orders name one coupon, and both are paid
	free                   // nothing to pay: redeemed at once
	expired                // placed with a short lease, and never heard of again
	plots
)

// weights say how many of 100 orders have each plot, but for the expired ones.
func (p plot) weight() int {
	return [plots]int{bought: 52, abandoned: 10, returned: 8, kept: 5, paidFirst: 8, closeFirst: 4,
		recovered: 4, contested: 5, free: 4}[p]
}

// end is the state in which the plot leaves its coupon.
func (p plot) end() coupon.State {
	switch p {
	case abandoned, returned, closeFirst, expired:
		return coupon.Available
	default:
		return coupon.Used
	}
}

const (
	// shortLease is the lease of orders that are never heard of again, in seconds.
	shortLease = 3
	// price is what an order costs, in cents.
	price = 4_990
	// repeats is how many of 100 messages come twice.
	repeats = 15
	// renamed is how many of 100 payments come again under another message id.
	renamed = 4
)

// planned is a message with its place in the traffic.
type planned struct {
	place int
	fact  console.Fact
}

// traffic is a repeatable day at the shop.
type traffic struct {
	random   *rand.Rand
	start    time.Time
	messages []planned
	// codes are the coupons as they are issued, ends the state in which each of them
	// has to be at last, by id.
	codes []string
	ends  map[string]coupon.State
	// ids counts the messages by id, expiring the orders whose lease runs out.
	ids      map[string]bool
	expiring int
	reviews  int
}

// newTraffic plans the messages of so many orders, of which some never end by
// themselves.
func newTraffic(orders, expiring int, start time.Time) (*traffic, error) {
	t := &traffic{
		random: rand.New(rand.NewPCG(1, 2)), start: start,
		ends: map[string]coupon.State{}, ids: map[string]bool{}, expiring: expiring,
	}
	var deck []plot
	for p := range plots {
		deck = append(deck, slices.Repeat([]plot{p}, p.weight())...)
	}
	t.random.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
	for i := range orders {
		if err := t.order(i, deck[i%len(deck)]); err != nil {
			return nil, err
		}
	}
	for i := range expiring {
		if err := t.order(orders+i, expired); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(t.messages, func(a, b planned) int { return cmp.Compare(a.place, b.place) })
	return t, nil
}

// add plans a coupon and the state in which it has to end.
func (t *traffic) add(code string, end coupon.State) {
	t.codes = append(t.codes, code)
	t.ends[coupon.Fold(code)] = end
}

// order plans one order. Its messages are spread, so that many orders are under
// way at a time; a plot that is out of order gets them in the wrong order.
func (t *traffic) order(number int, p plot) error {
	o := &script{
		traffic: t, id: fmt.Sprintf("order-%05d", number), coupon: fmt.Sprintf("SPRING-%05d", number),
		place: number * 10, start: t.start.Add(time.Duration(number) * time.Millisecond),
	}
	t.add(o.coupon, p.end())
	switch p {
	case bought:
		o.placed(0, price, 0)
		o.paid(200)
	case abandoned:
		o.placed(0, price, 0)
		o.closed(200)
	case returned:
		o.placed(0, price, 0)
		o.paid(200)
		o.refunded(400, price)
	case kept:
		o.placed(0, price, 0)
		o.paid(200)
		o.refunded(400, price/3)
	case paidFirst:
		o.paid(0)
		o.placed(300, price, 0)
	case closeFirst:
		o.closed(0)
		o.placed(300, price, 0)
	case recovered:
		o.placed(0, price, 0)
		o.closed(150)
		o.paid(500)
	case contested:
		o.placed(0, price, 0)
		o.paid(200)
		o.id += "-rival"
		o.placed(5, price, 0)
		o.paid(205)
		t.reviews++
	case free:
		o.placed(0, 0, 0)
	default:
		o.placed(0, price, shortLease)
	}
	return o.err
}

// script writes the messages of one order. The first error stays.
type script struct {
	traffic    *traffic
	id, coupon string
	place      int
	start      time.Time
	err        error
}

func euros(cents int64) messages.Money { return messages.Money{Amount: cents, Currency: "EUR"} }

// Whatever the place of a message, an order is placed, paid, closed and refunded
// in this order, milliseconds apart.
func (o *script) at(order int) time.Time { return o.start.Add(time.Duration(order) * time.Millisecond) }

func (o *script) placed(later int, payable, lease int64) {
	code := o.coupon
	if o.traffic.random.IntN(10) == 0 {
		code = " " + strings.ToLower(code) // buyers type codes as they like
	}
	o.add("placed", later, messages.OrderPlaced{
		OrderID: o.id, CustomerID: "buyer", Coupons: []messages.CouponRef{{Code: code}},
		Payable: euros(payable), Lease: messages.LeaseFor(lease), OccurredAt: o.at(0),
	})
}

func (o *script) paid(later int) {
	m := messages.PaymentSucceeded{
		OrderID: o.id, PaymentID: "payment-of-" + o.id, Amount: euros(price), OccurredAt: o.at(1),
	}
	o.add("paid", later, m)
	if o.traffic.random.IntN(100) < renamed {
		o.add("paid-again", later+250, m)
	}
}

func (o *script) closed(later int) {
	o.add("closed", later, messages.OrderClosed{OrderID: o.id, Reason: "timeout", OccurredAt: o.at(2)})
}

func (o *script) refunded(later int, cents int64) {
	o.add("refunded", later, messages.RefundApproved{
		OrderID: o.id, RefundID: "refund-of-" + o.id, Amount: euros(cents), Reason: "customer", OccurredAt: o.at(3),
	})
}

// add plans a message, in one of the three shapes, and now and then a repeat.
func (o *script) add(what string, later int, m messages.Message) {
	fact, err := console.NewFact(o.id+"/"+what, m)
	if err != nil && o.err == nil {
		o.err = err
	}
	t := o.traffic
	shapes := []console.Shape{console.ShapePlain, console.ShapeBinary, console.ShapeStructured}
	fact.Shape = shapes[t.random.IntN(len(shapes))]
	t.ids[fact.ID] = true
	t.messages = append(t.messages, planned{o.place + later, fact})
	if t.random.IntN(100) < repeats {
		t.messages = append(t.messages, planned{o.place + later + t.random.IntN(500), fact})
	}
}

// writeCSV writes the file from which the coupons of the traffic are imported.
func (t *traffic) writeCSV(w io.Writer) error {
	var b strings.Builder
	b.WriteString("code,owner,valid_until,batch\n")
	for _, code := range t.codes {
		fmt.Fprintf(&b, "%s,,2099-12-31,demo\n", code)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
