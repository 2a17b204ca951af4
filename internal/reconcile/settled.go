package reconcile

import (
	"context"
	"slices"
	"strings"

	"couponlease/internal/coupon"
)

// What is remembered of a row of an export besides its mark.
const (
	// agreed: it has an amount, and so have we, and they are the same.
	agreed uint64 = 1 << iota
	// open: it is of an order that is not over there.
	open
	flags = agreed | open
)

// lookup gives what the rows of an export agreed on about one thing; false when none is
// about it. Of several rows each has to agree.
func (c *comparison) lookup(kind, order, id string) (together uint64, there bool) {
	marks := c.seen[kind]
	wanted := mark(order, id)
	at, _ := slices.BinarySearch(marks, wanted)
	for together = flags; at < len(marks) && marks[at]&^flags == wanted; at++ {
		together, there = together&marks[at], true
	}
	return together, there
}

// close closes the open findings about other systems that are gone: their subject was
// compared again without a difference, or what was unknown here is known by now, which takes
// no export. What no export of this run contains stays as it is otherwise. It is called once the run's own findings
// are written down.
func (c *comparison) close(ctx context.Context, books Books, run Run) (closed int64, err error) {
	for _, fault := range coupon.UpstreamFaults() {
		for after := ""; ; {
			page, err := books.Findings(ctx, FindingFilter{Fault: fault, OpenOnly: true, After: after, Limit: keepChunk})
			if err != nil {
				return closed, err
			}
			if len(page) == 0 {
				break
			}
			after = page[len(page)-1].ID
			page = slices.DeleteFunc(page, func(r Record) bool { return !r.Last.Before(run.Started) })
			gone, err := c.gone(ctx, page)
			if err != nil || len(gone) == 0 {
				if err != nil {
					return closed, err
				}
				continue
			}
			done, err := books.CloseFindings(ctx, run, gone)
			closed += done
			if err != nil {
				return closed, err
			}
		}
	}
	return closed, nil
}

// gone gives the ids of the findings that are no longer so.
func (c *comparison) gone(ctx context.Context, page []Record) (ids []string, err error) {
	named := make([]string, len(page))
	for i := range page {
		named[i] = page[i].Order
	}
	orders, err := c.Orders.Orders(ctx, named)
	if err != nil {
		return nil, err
	}
	for i := range page {
		order := orders[page[i].Order]
		if order == nil {
			order = &coupon.Order{ID: page[i].Order}
		}
		if c.settled(&page[i], order) {
			ids = append(ids, page[i].ID)
		}
	}
	return ids, nil
}

// settled says whether a finding that this run has not found again is over.
func (c *comparison) settled(f *Record, o *coupon.Order) bool {
	id := strings.TrimPrefix(strings.TrimPrefix(f.Subject, f.Order), "/")
	switch f.Fault {
	case coupon.FaultPaidUnknown:
		_, known := amountOf(ExportPayments, &Exported{Order: f.Order, ID: id}, o)
		return known
	case coupon.FaultRefundUnknown:
		_, known := amountOf(ExportRefunds, &Exported{Order: f.Order, ID: id}, o)
		return known
	case coupon.FaultClosedUpstream:
		together, there := c.lookup(ExportOrders, f.Order, "")
		return over(o) || there && together&open != 0
	case coupon.FaultAmountDiffers:
		kind, _, _ := strings.Cut(f.Detail, ":") // a payment and a refund may have the same id
		together, there := c.lookup(kind, f.Order, id)
		return there && together&agreed != 0
	case coupon.FaultNotUpstream:
		kind, rest, _ := strings.Cut(f.Subject, "/")
		_, there := c.lookup(kind, f.Order, strings.TrimPrefix(strings.TrimPrefix(rest, f.Order), "/"))
		return there
	default:
		return false
	}
}

// over says whether somebody told us that the order is over, not one attempt to pay it.
func over(o *coupon.Order) bool {
	return slices.ContainsFunc(o.Closes, func(c coupon.Close) bool { return !c.Attempt() })
}
