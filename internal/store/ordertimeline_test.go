package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
)

// told gives the moments in short.
func told(line *Timeline) (all []string) {
	for _, m := range line.Moments {
		what := fmt.Sprint(m.Kind, " ", m.Order, " ", m.Coupon)
		switch {
		case m.Receipt != nil:
			what += " " + m.Receipt.ID
		case m.Operation != nil:
			what += " " + string(m.Operation.Operation)
		case m.Command != nil:
			what += " " + m.Command.Kind
		case m.Flow != nil:
			what += " " + string(m.Flow.Step)
		case m.Letter != nil:
			what += " " + m.Letter.MessageID
		case m.Audit != nil:
			what += " " + m.Audit.Action
		}
		all = append(all, what)
	}
	return all
}

func compare(t *testing.T, name string, want []string, line *Timeline, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if diff := cmp.Diff(want, told(line)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// fileLetter files a message that could not be applied.
func fileLetter(t *testing.T, s *Store, id, message, order, coupons, status string) {
	t.Helper()
	execute(t, s, `insert into dead_letter (dead_letter_id, message_id, queue, kind, status, reason, error, fingerprint, host,
			service_version, attempts, first_failed_at, last_failed_at, order_id, coupons, exchange, routing_key, content_type,
			correlation_id, reply_to, headers, body_hash, body_size, body)
		values ($1, $2, 'coupon-order-placed', 'OrderPlaced', $5, 'HANDLER_ERROR', 'it failed', 'f', 'h', 'v', 5, now(), now(),
			$3, $4::text::text[], '', '', '', '', '', '{}', '\x00', 0, '')`,
		"00000000-0000-7000-8000-0000000000"+id, message, order, coupons, status)
}

// twoOrders have a coupon each, and want each other's: o1 gets c1, is paid and returned;
// then o2 gets it.
func twoOrders(t *testing.T, s *Store) {
	t.Helper()
	issue(t, s, unlimited("summer"), "C1", "C2")
	at := now(t, s).Add(-time.Hour)
	minute := func(n int) time.Time { return at.Add(time.Duration(n) * time.Minute) }
	one(t, s, coupon.OK, request("place-1", minute(0), placed("o1", "c1")))
	one(t, s, coupon.Redeemed, request("pay-1", minute(1), paid("o1")))
	refund := coupon.RefundApproved{Order: "o1", Refund: "r1", Amount: 900, Currency: "EUR", Reason: "return"}
	one(t, s, "RETURN:FULL", request("refund-1", minute(2), refund))
	one(t, s, coupon.OK, request("place-2", minute(3), placed("o2", "c1", "c2")))
	fileLetter(t, s, "01", "place-1", "", "{}", "RESOLVED")
	fileLetter(t, s, "02", "lost-1", "o1", "{}", "NEW")
	fileLetter(t, s, "03", "lost-2", "", "{c1}", "NEW")
	fileLetter(t, s, "04", "lost-3", "other", "{c9}", "NEW")
}

func TestTimelineOfAnOrderHasOfItsCouponsWhatTheOrderDid(t *testing.T) {
	s := open(t)
	twoOrders(t, s)
	line, err := s.OrderTimeline(t.Context(), "o1")
	compare(t, "o1", []string{
		"PLACED o1 ", "PAYMENT o1 ", "REFUND o1 ",
		"MESSAGE o1  place-1", "OPERATION o1 c1 LOCK", "LEASE o1 c1",
		"MESSAGE o1  pay-1", "OPERATION o1 c1 REDEEM", "REDEMPTION o1 c1",
		"MESSAGE o1  refund-1", "OPERATION o1 c1 RETURN", "DECISION o1 c1",
		"DEAD_LETTER   place-1", "DEAD_LETTER_STATUS   place-1", "DEAD_LETTER o1  lost-1",
	}, line, err)
	line, err = s.OrderTimeline(t.Context(), "o2")
	compare(t, "o2", []string{
		"PLACED o2 ", "MESSAGE o2  place-2", "OPERATION o2 c2 LOCK", "LEASE o2 c2", "OPERATION o2 c1 LOCK", "LEASE o2 c1",
	}, line, err)
	if len(line.Histories) != 2 || line.Outbox == 0 || line.Cut {
		t.Errorf("%d coupons, %d rows wait, cut %t", len(line.Histories), line.Outbox, line.Cut)
	}
	line, err = s.OrderTimeline(t.Context(), "nobody")
	compare(t, "nobody", nil, line, err)
}

func TestTimelineOfAPaymentIsThatOfItsOrders(t *testing.T) {
	s := open(t)
	twoOrders(t, s)
	at := now(t, s)
	one(t, s, coupon.Released, request("close-2", at, coupon.OrderClosed{Order: "o2", Reason: "timeout"}))
	one(t, s, coupon.OK, command(coupon.RedeemNumber("1"), at, coupon.RedeemRequested{Coupon: "c1", Request: "1"}))
	confirm := coupon.RedeemCoupon{Coupon: "c1", Order: coupon.RedeemNumber("1"), Token: held(t, s, "c1"), Payment: "slip"}
	one(t, s, coupon.OK, command("confirm", at, confirm))
	for payment, order := range map[string]string{"pay-o1": "o1", "slip": "RD1"} {
		want, err := s.OrderTimeline(t.Context(), order)
		if err != nil || len(want.Moments) < 4 {
			t.Fatalf("%d moments of %s: %v", len(want.Moments), order, err)
		}
		line, err := s.PaymentTimeline(t.Context(), payment)
		compare(t, payment, told(want), line, err)
	}
	line, err := s.PaymentTimeline(t.Context(), "nobody's")
	compare(t, "nobody's", nil, line, err)
}

// TestTimelinesHaveWhatPeopleDid: commands by hand are told with their audit rows, for
// the coupon and for the order that they named.
func TestTimelinesHaveWhatPeopleDid(t *testing.T) {
	s := open(t)
	issue(t, s, unlimited("summer"), "C1", "C2")
	byHand := func(key string, fact coupon.Command) coupon.Request {
		r := command(key, now(t, s), fact)
		r.Audit = &coupon.Audit{Reason: "asked by phone", Arguments: []byte(`{}`)}
		return r
	}
	one(t, s, coupon.OK, byHand("lock", coupon.LockCoupon{Coupon: "c1", Order: "quote"}))
	one(t, s, coupon.OK, byHand("void", coupon.VoidCoupon{Coupon: "c1", Force: true, Reason: "fraud"}))
	one(t, s, coupon.OK, byHand("other", coupon.LockCoupon{Coupon: "c2", Order: "other"}))
	line, _, err := s.Timeline(t.Context(), "c1")
	compare(t, "c1", []string{
		"OPERATION  c1 ISSUE",
		"COMMAND quote c1 LockCoupon", "OPERATION quote c1 LOCK", "LEASE quote c1", "AUDIT  c1 LockCoupon",
		"COMMAND  c1 VoidCoupon", "OPERATION quote c1 VOID", "AUDIT  c1 VoidCoupon",
	}, line, err)
	line, err = s.OrderTimeline(t.Context(), "quote")
	compare(t, "quote", []string{
		"COMMAND quote c1 LockCoupon", "OPERATION quote c1 LOCK", "LEASE quote c1", "AUDIT  c1 LockCoupon",
		"OPERATION quote c1 VOID",
	}, line, err)
}
