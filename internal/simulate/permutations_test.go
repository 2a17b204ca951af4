package simulate

import (
	"fmt"
	"strings"
	"testing"

	"couponlease/internal/coupon"
)

func placed(order string, at int) told {
	return told{label: "placed " + order, at: at, fact: coupon.OrderPlaced{
		Order: order, Customer: "u1", Payable: 100, Wanted: []coupon.Wanted{{Coupon: "c1"}},
	}}
}

func paid(order string, at int) told {
	return told{label: "paid " + order, at: at, fact: coupon.PaymentSucceeded{Order: order, Payment: "p", Amount: 100}}
}

// second gives a further payment.
func second(m told) told {
	f := m.fact.(coupon.PaymentSucceeded)
	f.Payment = "p2"
	return told{label: m.label + " again", at: m.at, fact: f}
}

func closed(order string, at int, reason string) told {
	return told{label: "closed " + order, at: at, fact: coupon.OrderClosed{Order: order, Reason: reason}}
}

func refunded(order string, at int, amount int64) told {
	return told{label: "refunded " + order, at: at, fact: coupon.RefundApproved{Order: order, Refund: "r", Amount: amount}}
}

func due(order string) told { return told{label: "due " + order, order: order} }

// assignments gives every way in which up to limit messages come twice, each
// either with the same id or published again under a new one.
func assignments(messages []told, limit int) [][]told {
	all := [][]told{{}}
	for _, m := range messages {
		var more [][]told
		with := func(chosen []told, times int, republished bool) {
			m.times, m.republished = times, republished
			more = append(more, append(append([]told{}, chosen...), m))
		}
		for _, chosen := range all {
			with(chosen, 1, false)
			twice := 0
			for _, other := range chosen {
				twice += other.times - 1
			}
			if twice == limit {
				continue
			}
			with(chosen, 2, false)
			if m.fact != nil { // the messages of a timer share one id
				with(chosen, 2, true)
			}
		}
		all = more
	}
	return all
}

const (
	late   = "A " + string(coupon.ReviewLatePaymentOnClosed)
	double = "A " + string(coupon.ReviewDoublePayment)
)

func free(reviews string) ending { return ending{State: coupon.Available, Reviews: reviews} }

func used(reviews string) ending {
	return ending{State: coupon.Used, Holder: "A", Active: 1, Reviews: reviews}
}

// TestOneOrderConverges plays every order in which the facts of one order can
// come, some of them twice, and its timer at any moment between them. Exactly
// the ends that are wanted occur: one, but for a late payment, whose close may or
// may not have been known.
func TestOneOrderConverges(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		name      string
		messages  []told
		twice     int // how many messages may come twice in one sequence
		want      []ending
		sequences int
	}{
		{"paid before the close, refunded", []told{
			placed("A", 0), paid("A", 10), closed("A", 100, "timeout"), due("A"), refunded("A", 200, 100),
		}, 2, []ending{free("")}, 43680},
		{"paid after the close, refunded", []told{
			placed("A", 0), paid("A", 101), closed("A", 100, "timeout"), due("A"), refunded("A", 200, 100),
		}, 2, []ending{free(late)}, 43680},
		{"paid before a failed attempt, refunded in part", []told{
			placed("A", 0), paid("A", 10), closed("A", 100, "payment_failed"), due("A"), refunded("A", 200, 40),
		}, 1, []ending{used("")}, 3360},
		{"paid after a failed attempt, refunded", []told{
			placed("A", 0), paid("A", 101), closed("A", 100, "payment_failed"), due("A"), refunded("A", 200, 100),
		}, 1, []ending{free("")}, 3360},
		{"closed, then placed again and paid", []told{
			closed("A", 0, "timeout"), placed("A", 10), paid("A", 20), due("A"),
		}, 2, []ending{used("")}, 3684},
		{"paid before the close", []told{
			placed("A", 0), paid("A", 10), closed("A", 100, "timeout"), due("A"),
		}, 2, []ending{used("")}, 3684},
		{"paid after the close", []told{
			placed("A", 0), paid("A", 101), closed("A", 100, "timeout"), due("A"),
		}, 2, []ending{free(late), used(late)}, 3684},
		{"never paid", []told{
			placed("A", 0), closed("A", 100, "timeout"), due("A"), refunded("A", 200, 100),
		}, 2, []ending{free("")}, 3684},
		{"paid twice, refunded once", []told{
			placed("A", 0), paid("A", 10), second(paid("A", 20)), due("A"), refunded("A", 30, 100),
		}, 1, []ending{used(double)}, 3360},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			sequences, seen := 0, map[ending]string{}
			for i, messages := range assignments(r.messages, r.twice) {
				sequences += root(t, fmt.Sprint(r.name, i)).every(t, messages, func(b *branch) {
					if end := b.end(t); seen[end] == "" {
						seen[end] = strings.Join(b.trail, ", ")
					}
				})
			}
			for _, want := range r.want {
				if seen[want] == "" {
					t.Errorf("no sequence ends as %+v", want)
				}
				delete(seen, want)
			}
			for end, trail := range seen {
				t.Errorf("%s: ends as %+v", trail, end)
			}
			if sequences != r.sequences {
				t.Errorf("%d sequences were played, want %d", sequences, r.sequences)
			}
		})
	}
}

// TestTwoOrdersCompete plays every order in which the facts and timers of two
// orders that want one coupon can come. Never is there more than one redemption,
// and in the end each paid order is redeemed, given back, or in review.
func TestTwoOrdersCompete(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		name      string
		messages  []told
		twice     int
		sequences int
	}{
		{"both paid in time", []told{
			placed("A", 0), paid("A", 1799), closed("A", 1800, "timeout"), due("A"),
			placed("B", 1802), paid("B", 1900), closed("B", 1950, "shipped"), due("B"),
		}, 0, 40320},
		{"the first paid late", []told{
			placed("A", 0), paid("A", 1801), closed("A", 1800, "timeout"), due("A"),
			placed("B", 1802), paid("B", 1900), closed("B", 1950, "shipped"),
		}, 0, 5040},
		{"the first paid and refunded", []told{
			placed("A", 0), paid("A", 10), refunded("A", 50, 100),
			placed("B", 60), paid("B", 70), closed("B", 80, "shipped"), due("B"),
		}, 0, 5040},
		{"the second never paid", []told{
			placed("A", 0), paid("A", 10), closed("A", 20, "shipped"), due("A"),
			placed("B", 30), closed("B", 40, "timeout"), due("B"),
		}, 0, 5040},
		{"messages that come twice", []told{
			placed("A", 0), paid("A", 1799), closed("A", 1800, "timeout"), placed("B", 1802), paid("B", 1900),
		}, 1, 3720},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			sequences := 0
			for i, messages := range assignments(r.messages, r.twice) {
				sequences += root(t, fmt.Sprint(r.name, i)).every(t, messages, func(b *branch) {
					if end := b.end(t); end.Active > 1 {
						t.Errorf("%s: %d redemptions", strings.Join(b.trail, ", "), end.Active)
					}
					b.accounted(t, "A")
					b.accounted(t, "B")
				})
			}
			if sequences != r.sequences {
				t.Errorf("%d sequences were played, want %d", sequences, r.sequences)
			}
		})
	}
}

// accounted proves that a paid order ended in exactly one way. A late payment
// may have been redeemed before its close was known; it is always in review.
func (b *branch) accounted(t *testing.T, id string) {
	t.Helper()
	order, c := b.ledger.orders[id], b.ledger.coupons["c1"]
	if len(order.Payments) == 0 {
		return
	}
	ways, named := 0, order.Named[0]
	isLate := len(order.Closes) > 0 && order.Payments[0].At.After(order.Closes[0].At)
	if named.RedemptionID != "" && !isLate { // redeemed, or given back since
		ways++
	}
	if len(named.Reviews) > 0 {
		ways++
	}
	if ways != 1 || c.UsedBy(id) && c.Redemption.ID != named.RedemptionID {
		t.Errorf("%s: order %s ended in %d ways: %+v on %+v", strings.Join(b.trail, ", "), id, ways, named, c)
	}
}
