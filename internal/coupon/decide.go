package coupon

import (
	"fmt"
	"slices"
	"time"
)

// Fields are what every fact has from its envelope.
type Fields struct{ At time.Time }

// Decide answers one request on the rows of the world and notes what has to be
// written. It is the whole business in one pure call: no clock, no randomness
// of its own, no I/O. A refusal is an answer, not an error.
func Decide(w *World, r *Request) Outcome {
	if command, ok := r.Fact.(Command); ok {
		return w.command(r, command)
	}
	if r.ID != "" {
		if seen := w.receipts[r.ID]; seen != nil {
			if seen.Hash != r.Hash {
				return Outcome{Status: Dead, Code: IDReuse,
					Detail: "a message with the same id and another body was processed before"}
			}
			return Outcome{Status: Repeated, Code: DuplicateEvent, First: seen.Code}
		}
	}
	if dead := w.tooEarly(r); dead != nil {
		return *dead
	}
	w.request = r
	// Times are compared with times that were kept, and those have no nanoseconds.
	at := Fields{At: r.At.UTC().Truncate(time.Microsecond)}
	outcome := w.dispatch(r, at)
	if r.ID != "" && outcome.Status != Dead && outcome.Code != NoopNotDue {
		w.receive(r, at, outcome)
	}
	return outcome
}

// tooEarly refuses a fact that claims to have happened far in the future. A timer
// is about the future: the broker holds it for so long and no longer, and whether
// it is due is asked of the row.
func (w *World) tooEarly(r *Request) *Outcome {
	if _, timer := r.Fact.(LeaseDue); timer || !r.At.After(w.Now.Add(w.Rules.FutureTolerance)) {
		return nil
	}
	return &Outcome{Status: Dead, Code: TimeOutOfRange,
		Detail: fmt.Sprintf("occurred at %s, which is more than %s ahead of the database clock",
			r.At.UTC().Format(time.RFC3339), w.Rules.FutureTolerance)}
}

func (w *World) dispatch(r *Request, at Fields) Outcome {
	switch f := w.resolve(r.Fact).(type) {
	case OrderPlaced:
		return w.orderPlaced(f, at)
	case PaymentSucceeded:
		return w.paymentSucceeded(f, at)
	case OrderClosed:
		return w.orderClosed(f, at)
	case RefundApproved:
		return w.refundApproved(f, at)
	case LeaseDue:
		return w.leaseDue(f, at)
	case ImportCoupon:
		return w.importCoupon(f)
	case ValidityOver:
		return w.validityOver(f)
	case DefineTemplate:
		return w.defineTemplate(f)
	case DefinePolicy:
		return w.definePolicy(f)
	case Restock:
		return w.restock(f)
	default:
		panic(fmt.Sprintf("request of unknown kind %T", r.Fact))
	}
}

// receive writes the inbox row, once, with its outcome.
func (w *World) receive(r *Request, at Fields, outcome Outcome) {
	order := ""
	if orders := r.Fact.Orders(); len(orders) > 0 {
		order = orders[0]
	}
	receipt := &Receipt{
		ID: r.ID, Hash: r.Hash, At: at.At, Kind: Kind(r.Fact), Order: order,
		Code: outcome.Code, Status: outcome.Status, Done: w.Now,
	}
	w.receipts[r.ID] = receipt
	w.changes.Receipts = append(w.changes.Receipts, receipt)
}

// Kind names a fact for the inbox, the timeline and the metrics.
func Kind(f Fact) string {
	switch f := f.(type) {
	case Command:
		return f.kind()
	case OrderPlaced:
		return "OrderPlaced"
	case PaymentSucceeded:
		return "PaymentSucceeded"
	case OrderClosed:
		return "OrderClosed"
	case RefundApproved:
		return "RefundApproved"
	case LeaseDue:
		return "LeaseDue"
	case ImportCoupon:
		return "ImportCoupon"
	case ValidityOver:
		return "ValidityOver"
	case DefineTemplate:
		return "DefineTemplate"
	case Restock:
		return "Restock"
	default:
		return "DefinePolicy"
	}
}

// admit checks that a fact fits what is known of its order, and joins the order
// to its parent. A fact that contradicts changes nothing and is dead.
func (w *World) admit(o *Order, parent, currency string) *Outcome {
	if currency != "" && o.Currency != "" && o.Currency != currency {
		return &Outcome{Status: Dead, Code: CurrencyMismatch,
			Detail: fmt.Sprintf("order %s is in %s, this fact is in %s", o.ID, o.Currency, currency)}
	}
	if w.joins(o, parent) {
		head := w.order(parent)
		if len(head.Children) >= MaxChildren {
			dead := tooMany(parent)
			return &dead
		}
		o.Parent = parent
		head.Children = append(head.Children, o.ID)
		slices.Sort(head.Children)
		w.touchOrder(head)
		w.touchOrder(o)
	}
	if currency != "" && o.Currency == "" {
		o.Currency = currency
		w.touchOrder(o)
	}
	return nil
}

// joins says whether a fact makes the order a part of parent. An order that was
// placed or superseded on its own, or has parts itself, stays as it is, and parts
// have none.
func (w *World) joins(o *Order, parent string) bool {
	return parent != "" && parent != o.ID && o.Parent == "" &&
		!o.Placed && o.SupersededBy == "" && len(o.Children) == 0 && w.order(parent).Parent == ""
}

// settleOrder settles the group of an order, and the groups that took its
// place, to which its payments and refunds count now.
func (w *World) settleOrder(o *Order) (group, settled) {
	g := w.groupOf(o)
	s := w.settle(g)
	for later := g; later.superseded() && s.chain < maxChain; {
		later = w.groupOf(w.order(later.head.SupersededBy))
		s.add(w.settle(later))
	}
	return g, s
}

func (s *settled) add(more settled) {
	s.chain++
	s.redeemed += more.redeemed
	s.released += more.released
	s.reviews += more.reviews
	s.cases += more.cases
	s.decisions = append(s.decisions, more.decisions...)
}

func tooMany(order string) Outcome {
	return Outcome{Status: Dead, Code: TooManyFacts,
		Detail: fmt.Sprintf("order %s has as many facts of this kind as an order may have", order)}
}
