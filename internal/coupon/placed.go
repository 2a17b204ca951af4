package coupon

import (
	"cmp"
	"fmt"
	"slices"
)

// orderPlaced records a placement, tries to obtain its coupons and settles.
func (w *World) orderPlaced(f OrderPlaced, at Fields) Outcome {
	f.Wanted = distinct(f.Wanted)
	if dead := w.contradiction(f); dead != nil {
		return *dead
	}
	o := w.order(f.Order)
	if o.Placed {
		switch age := cmp.Or(cmp.Compare(f.Revision, o.Revision), at.At.Compare(o.PlacedAt)); {
		case age < 0:
			return w.stalePlacement(w.groupOf(o))
		case age == 0 && w.groupOf(o).repeats(o, f):
			return w.placedBefore(w.groupOf(o), f)
		case age == 0: // coupons were swapped since, or two placements claim one moment: the first stands
			return w.stalePlacement(w.groupOf(o))
		default:
			if refused := w.refuseRevision(o, f, at); refused != nil {
				return *refused
			}
		}
	}
	if dead := w.admit(o, f.Parent, f.Currency); dead != nil {
		return *dead
	}
	w.recordPlacement(o, f, at)
	return w.obtain(o, f)
}

// distinct drops what an order names a second time: one use is one use, however
// many price lines it has.
func distinct(wanted []Wanted) []Wanted {
	once := make([]Wanted, 0, len(wanted))
	for _, w := range wanted {
		if !slices.ContainsFunc(once, func(known Wanted) bool { return known.Coupon == w.Coupon }) {
			once = append(once, w)
		}
	}
	return once
}

// contradiction finds what makes a placement impossible whatever the coupons.
func (w *World) contradiction(f OrderPlaced) *Outcome {
	o := w.order(f.Order)
	head := w.order(o.Head())
	if w.joins(o, f.Parent) {
		head = w.order(f.Parent)
	}
	for _, id := range present(f.Order, f.Parent, o.Parent) {
		known := w.orders[id]
		if known != nil && known.Customer != "" && f.Customer != "" && known.Customer != f.Customer {
			return &Outcome{Status: Dead, Code: BuyerMismatch,
				Detail: fmt.Sprintf("order %s belongs to another buyer", id)}
		}
	}
	total := len(head.Named)
	for _, wanted := range f.Wanted {
		if head.named(wanted.Coupon) == nil {
			total++
		}
	}
	if total > MaxNamed {
		dead := tooMany(f.Order)
		return &dead
	}
	return nil
}

// stalePlacement answers a placement older than the one that holds.
func (w *World) stalePlacement(g group) Outcome {
	if g.closed(true) != nil {
		return Outcome{Status: Unchanged, Code: OrderAlreadyClosed}
	}
	return Outcome{Status: Unchanged, Code: StaleRevision}
}

// repeats says whether the placement is the one that holds, published again.
func (g group) repeats(o *Order, f OrderPlaced) bool {
	if f.Payable != o.Payable || f.Currency != "" && o.Currency != "" && f.Currency != o.Currency || g.drops(f) {
		return false
	}
	return !slices.ContainsFunc(f.Wanted, func(wanted Wanted) bool {
		named := g.head.named(wanted.Coupon)
		return named == nil || named.Dropped
	})
}

// placedBefore answers such a placement once more. It changes nothing: what was
// refused or lost since is not tried again without a new placement.
func (w *World) placedBefore(g group, f OrderPlaced) Outcome {
	switch {
	case g.superseded():
		return Outcome{Status: Unchanged, Code: OrderAlreadyClosed}
	case g.had(f):
		return Outcome{Status: Unchanged, Code: AlreadyPaid}
	case g.closed(true) != nil:
		return Outcome{Status: Unchanged, Code: OrderAlreadyClosed}
	}
	var refused Code
	for _, wanted := range f.Wanted {
		code := g.head.named(wanted.Coupon).Refusal
		if code == "" {
			return Outcome{Status: Unchanged, Code: Duplicate}
		}
		if refused == "" || refused == NotTaken {
			refused = code
		}
	}
	if refused == "" {
		return Outcome{Status: Unchanged, Code: Duplicate}
	}
	return Outcome{Status: Unchanged, Code: Rejected(refused)}
}

// refuseRevision answers a newer placement that asks for other coupons than the
// order has: all new ones can be obtained, or nothing changes and the older
// placement holds. With stacking PARTIAL, a placement that only adds coupons gets
// what it can.
func (w *World) refuseRevision(o *Order, f OrderPlaced, at Fields) *Outcome {
	g := w.groupOf(o)
	drops := g.drops(f)
	if g.superseded() || !drops && !w.hasAny(g) || g.endedBefore(o, at) {
		return nil
	}
	refusals, _ := w.judge(g, f)
	gains := w.Rules.Stacking == StackPartial && !drops && len(refusals) < len(f.Wanted)
	if len(refusals) == 0 || gains {
		return nil
	}
	w.event(EventLockRejected, nil, f.Order).Refusals = refusals
	return &Outcome{Status: Refused, Code: Rejected(refusals[0].Code)}
}

// endedBefore says whether the group was closed already when this part of it was
// placed again; then it takes no lease anyway.
func (g group) endedBefore(o *Order, at Fields) bool {
	again := o.Clone()
	again.PlacedAt = at.At
	after := group{head: g.head, parts: slices.Clone(g.parts)}
	if g.head == o {
		after.head = again
	}
	after.parts[slices.Index(g.parts, o)] = again
	return after.closed(true) != nil
}

// drops says whether the placement no longer names a coupon of the order. Split
// orders share their parent's list, so they only add to it.
func (g group) drops(f OrderPlaced) bool {
	if g.split() {
		return false
	}
	return slices.ContainsFunc(g.head.Named, func(named Named) bool {
		return !named.Dropped && !f.wants(named.Coupon)
	})
}

func (f OrderPlaced) wants(coupon string) bool {
	return slices.ContainsFunc(f.Wanted, func(wanted Wanted) bool { return wanted.Coupon == coupon })
}

func (w *World) recordPlacement(o *Order, f OrderPlaced, at Fields) {
	o.Placed, o.PlacedAt, o.Revision = true, at.At, f.Revision
	o.Customer, o.Payable = cmp.Or(f.Customer, o.Customer), f.Payable
	head := w.order(o.Head())
	head.Customer = cmp.Or(head.Customer, f.Customer)
	for i := range head.Named {
		if len(head.Children) == 0 && !f.wants(head.Named[i].Coupon) {
			head.Named[i].Dropped = true
		}
	}
	for _, wanted := range f.Wanted {
		named := head.name(wanted.Coupon)
		named.QuoteID, named.Discount = f.QuoteID, wanted.Discount
		w.adopt(head, named)
	}
	head.sortNamed()
	w.touchOrder(o)
	w.touchOrder(head)
	w.unlinkStranger(head)
}

// name gives the entry of a coupon that the order names, a new one if need be.
func (o *Order) name(coupon string) *Named {
	named := o.named(coupon)
	if named == nil {
		o.Named = append(o.Named, Named{Coupon: coupon})
		named = &o.Named[len(o.Named)-1]
	}
	named.Dropped = false
	return named
}

func (o *Order) sortNamed() {
	slices.SortFunc(o.Named, func(a, b Named) int { return cmp.Compare(a.Coupon, b.Coupon) })
}

// adopt lets an order remember a redemption that a command made for it before it
// was placed.
func (w *World) adopt(head *Order, named *Named) {
	if c := w.coupons[named.Coupon]; c != nil && c.UsedBy(head.ID) && named.RedemptionID == "" {
		named.RedemptionID, named.LeaseID = c.Redemption.ID, c.Redemption.LeaseID
		named.PolicyVersion = c.PolicyVersion
	}
}

// obtain tries to get what the placement wants, and settles.
func (w *World) obtain(o *Order, f OrderPlaced) Outcome {
	g := w.groupOf(o)
	switch {
	case g.superseded():
		w.settleOrder(o)
		return Outcome{Status: Applied, Code: OrderAlreadyClosed}
	case g.had(f):
		w.settleOrder(o)
		return Outcome{Status: Applied, Code: AlreadyPaid}
	case g.closed(true) != nil:
		return w.placedOnClosed(o)
	}
	refusals, lacking := w.judge(g, f)
	if len(refusals) > 0 && w.Rules.Stacking == StackAll {
		w.noteRefusals(g, f, refusals)
		w.settleOrder(o)
		return Outcome{Status: Refused, Code: Rejected(refusals[0].Code)}
	}
	w.take(g, f, lacking)
	w.noteRefusals(g, f, refusals)
	if len(refusals) > 0 && len(refusals) == len(f.Wanted) {
		w.settleOrder(o)
		return Outcome{Status: Refused, Code: Rejected(refusals[0].Code)}
	}
	w.linkSuperseded(o, f)
	w.settleOrder(o)
	switch {
	case len(f.Wanted) > 0 && len(lacking) == 0:
		return Outcome{Status: Applied, Code: Duplicate}
	default:
		return Outcome{Status: Applied, Code: OK}
	}
}

// had says that the order is paid and has had its redemption of every coupon
// wanted, whether or not it was given back since.
func (g group) had(f OrderPlaced) bool {
	if _, _, paid := g.paid(); !paid || len(f.Wanted) == 0 {
		return false
	}
	return !slices.ContainsFunc(f.Wanted, func(wanted Wanted) bool {
		return g.head.named(wanted.Coupon).RedemptionID == ""
	})
}

// placedOnClosed: the order had ended when it was placed, so it takes no lease;
// a payment from before the close still gets its coupon.
func (w *World) placedOnClosed(o *Order) Outcome {
	_, s := w.settleOrder(o)
	switch {
	case s.redeemed > 0:
		return Outcome{Status: Applied, Code: Redeemed}
	case s.cases > 0:
		return Outcome{Status: Applied, Code: InReview}
	default:
		return Outcome{Status: Applied, Code: OrderAlreadyClosed}
	}
}
