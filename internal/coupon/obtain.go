package coupon

import (
	"cmp"
	"time"
)

// judge gives the refusals, and the coupons still to be taken, and changes
// nothing.
func (w *World) judge(g group, f OrderPlaced) (refusals []Refusal, lacking []Wanted) {
	count := w.credit(g, f)
	for _, wanted := range f.Wanted {
		c := w.coupons[wanted.Coupon]
		if named := g.head.named(wanted.Coupon); named != nil && named.RedemptionID != "" {
			continue
		}
		if c != nil && c.UsedBy(g.head.ID) {
			continue // by a command, before the order was placed
		}
		wish := claim{order: g.head.ID, customer: f.Customer, token: wanted.Token, from: w.source(g, f)}
		if c != nil && c.LeasedTo(g.head.ID) {
			if c.Lease.Purpose == PurposeOrder {
				continue
			}
			if wanted.Token == nil && c.Lease.Purpose != PurposeTill {
				wish.from = g.head.ID
			}
		}
		if code := w.refuse(c, wish, count); code != "" {
			refusals = append(refusals, Refusal{Coupon: wanted.Coupon, Code: code})
			continue
		}
		if c.State == Available {
			count.add(c, 1)
		}
		lacking = append(lacking, wanted)
	}
	return refusals, lacking
}

// credit counts the uses that the placement gives up, so that they do not stand
// in its own way.
func (w *World) credit(g group, f OrderPlaced) tally {
	count := newTally()
	for _, order := range present(g.head.ID, w.source(g, f)) {
		head := w.order(order)
		for i := range head.Named {
			c := w.coupons[head.Named[i].Coupon]
			if c != nil && !f.wants(c.ID) && !g.split() && (c.LeasedTo(order) || c.UsedBy(order)) {
				count.add(c, -1)
			}
		}
	}
	return count
}

// earlierHead is the order whose coupons the placement may take over: the one
// it supersedes, as a whole, if one buyer owns both; "" for none. An order
// supersedes one other, and is superseded by one.
func (w *World) earlierHead(g group, f OrderPlaced) string {
	if f.Supersedes == "" {
		return ""
	}
	earlier := w.order(w.order(f.Supersedes).Head())
	before := w.order(f.Order).Supersedes
	if earlier.ID == g.head.ID || before != "" && before != earlier.ID || earlier.Customer != "" && earlier.Customer != f.Customer ||
		earlier.SupersededBy != "" && earlier.SupersededBy != f.Order {
		return ""
	}
	return earlier.ID
}

// source is the order from which the placement takes coupons over: the earlier one,
// once it is known to have been placed. What a quote or a till holds under some number
// changes hands by its token, or not at all.
func (w *World) source(g group, f OrderPlaced) string {
	earlier := w.earlierHead(g, f)
	if earlier == "" || !w.groupOf(w.order(earlier)).placed() {
		return ""
	}
	return earlier
}

// take obtains the coupons that judge found obtainable.
func (w *World) take(g group, f OrderPlaced, lacking []Wanted) {
	wish := grant{order: g.head.ID, purpose: PurposeOrder}
	if _, _, paid := g.paid(); !f.OpenEnded && !paid {
		wish.deadline = w.Now.Add(cmp.Or(f.Lease, w.Rules.OrderLease))
	}
	earlier := w.source(g, f)
	for _, wanted := range lacking {
		c := w.coupons[wanted.Coupon]
		named := g.head.named(wanted.Coupon)
		named.Refusal = ""
		w.takeOne(c, wish, earlier)
		if c.Lease != nil {
			named.LeaseID = c.Lease.ID
		} else {
			named.LeaseID, named.RedemptionID = c.Redemption.LeaseID, c.Redemption.ID
			named.PolicyVersion = c.PolicyVersion
		}
	}
}

// takeOne leases one coupon to the order: freshly, by taking its quote lease
// over, or from the order it supersedes, redemption and all.
func (w *World) takeOne(c *Coupon, wish grant, earlier string) {
	switch {
	case earlier != "" && c.LeasedTo(earlier):
		w.release(c, ReasonSuperseded)
		wish.reason = ReasonSupersedes(earlier)
		w.lock(c, wish)
	case earlier != "" && c.UsedBy(earlier):
		payment := c.Redemption.Payment
		w.reverse(c, ReasonSuperseded)
		wish.reason, wish.deadline = ReasonSupersedes(earlier), time.Time{}
		w.lock(c, wish)
		w.redeem(c, payment, ReasonCarriedOver)
	case c.State == Locked:
		wish.reason = ReasonBindOrder
		w.renew(c, wish)
	default:
		w.lock(c, wish)
	}
}

// noteRefusals remembers and announces why coupons were not obtained.
func (w *World) noteRefusals(g group, f OrderPlaced, refusals []Refusal) {
	if len(refusals) == 0 {
		return
	}
	refused := map[string]Code{}
	for _, refusal := range refusals {
		refused[refusal.Coupon] = refusal.Code
	}
	for _, wanted := range f.Wanted {
		named, c := g.head.named(wanted.Coupon), w.coupons[wanted.Coupon]
		code, isRefused := refused[wanted.Coupon]
		switch {
		case named.RedemptionID != "" || c != nil && c.LeasedTo(g.head.ID) && c.Lease.Purpose == PurposeOrder:
		case isRefused:
			named.Refusal = code
		case w.Rules.Stacking == StackAll:
			named.Refusal = NotTaken
		}
	}
	w.event(EventLockRejected, nil, f.Order).Refusals = refusals
	w.touchOrder(g.head)
}

// linkSuperseded ties an edited order to its earlier self once it has obtained
// its coupons, and lets the earlier one give up what is left.
func (w *World) linkSuperseded(o *Order, f OrderPlaced) {
	head := w.earlierHead(w.groupOf(o), f)
	if head == "" || o.Supersedes == head {
		return
	}
	earlier := w.order(head)
	o.Supersedes, earlier.SupersededBy = earlier.ID, o.ID
	w.touchOrder(o)
	w.touchOrder(earlier)
	w.settle(w.groupOf(earlier))
}

// unlinkStranger cuts the link to a later order that turns out to belong to
// another buyer, and whose money this order's is no longer.
func (w *World) unlinkStranger(o *Order) {
	later := w.orders[o.SupersededBy]
	if later == nil || later.Customer == o.Customer {
		return
	}
	later.Supersedes, o.SupersededBy = "", ""
	w.touchOrder(later)
	w.settle(w.groupOf(later))
}
