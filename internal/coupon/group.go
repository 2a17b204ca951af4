package coupon

import "time"

// maxChain bounds how far a chain of superseded orders is followed.
const maxChain = 16

// group is what settles together: one order, or a parent with its split
// orders. Leases and redemptions are held by the head.
type group struct {
	head *Order
	// parts are the orders that were or will be placed; money adds the earlier
	// orders whose payments and refunds now count for this group.
	parts, money []*Order
}

func (w *World) groupOf(o *Order) group {
	head := w.order(o.Head())
	g := group{head: head}
	if len(head.Children) == 0 || head.Placed {
		g.parts = append(g.parts, head)
	}
	for _, id := range head.Children {
		g.parts = append(g.parts, w.order(id))
	}
	if len(g.parts) == 0 || g.parts[0] != head {
		g.money = append(g.money, head)
	}
	g.money = append(g.money, g.parts...)
	for _, part := range g.parts {
		g.money = append(g.money, w.earlierOrders(part)...)
	}
	return g
}

// earlierOrders lists the orders that this one superseded, parts included.
func (w *World) earlierOrders(o *Order) []*Order {
	var all []*Order
	for range maxChain {
		if o.Supersedes == "" {
			break
		}
		o = w.order(o.Supersedes)
		all = append(all, o)
		for _, id := range o.Children {
			all = append(all, w.order(id))
		}
	}
	return all
}

func (g group) placed() bool {
	for _, part := range g.parts {
		if part.Placed {
			return true
		}
	}
	return false
}

// payable is what the parts ask for together. A part that is paid before it is
// placed is taken to ask for what was paid, until it says otherwise.
func (g group) payable() int64 {
	var sum int64
	for _, part := range g.parts {
		if part.Placed {
			sum += part.Payable
			continue
		}
		for i := range part.Payments {
			sum += part.Payments[i].Amount
		}
	}
	return sum
}

// payments gives the sum, the number and the first of the distinct payments.
func (g group) payments() (sum int64, first *Payment, count int) {
	for _, order := range g.money {
		for i := range order.Payments {
			payment := &order.Payments[i]
			sum += payment.Amount
			count++
			if first == nil || payment.At.Before(first.At) ||
				payment.At.Equal(first.At) && payment.ID < first.ID {
				first = payment
			}
		}
	}
	return sum, first, count
}

// fullPrice says that a payment was made without the discount.
func (g group) fullPrice() bool {
	for _, order := range g.money {
		for i := range order.Payments {
			if order.Payments[i].FullPrice {
				return true
			}
		}
	}
	return false
}

// paid says whether and when the order counts as paid, and by which payment:
// its first payment, or its placement when there is nothing to pay.
func (g group) paid() (at time.Time, payment string, ok bool) {
	if _, first, count := g.payments(); count > 0 {
		return first.At, first.ID, true
	}
	if !g.placed() || g.payable() != 0 {
		return time.Time{}, "", false
	}
	for _, part := range g.parts {
		if part.Placed && (at.IsZero() || part.PlacedAt.Before(at)) {
			at = part.PlacedAt
		}
	}
	return at, "", true
}

// effective gives the first close that ends the latest placement of the order.
// Closes of one payment attempt count only if attempts is set.
func (o *Order) effective(attempts bool) *Close {
	var first *Close
	for i := range o.Closes {
		c := &o.Closes[i]
		if c.Attempt() && !attempts || o.Placed && c.At.Before(o.PlacedAt) {
			continue
		}
		if first == nil || c.At.Before(first.At) {
			first = c
		}
	}
	return first
}

// closed gives the close that ends the group: that of its head, or the last of
// its parts once every part is closed; nil while it is open.
func (g group) closed(attempts bool) *Close {
	if c := g.head.effective(attempts); c != nil {
		return c
	}
	var last *Close
	for _, part := range g.parts {
		c := part.effective(attempts)
		if c == nil {
			return nil
		}
		if last == nil || c.At.After(last.At) {
			last = c
		}
	}
	return last
}

// superseded says whether a later order took this group's place.
func (g group) superseded() bool { return g.head.SupersededBy != "" }

// split says whether the group is a parent with split orders.
func (g group) split() bool { return len(g.head.Children) > 0 }
