package store

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
)

func TestTimelineTellsEverythingInOrder(t *testing.T) {
	s := open(t)
	issue(t, s, unlimited("summer"), "C1", "C2")
	at := now(t, s).Add(-time.Hour)
	minute := func(n int) time.Time { return at.Add(time.Duration(n) * time.Minute) }
	one(t, s, coupon.OK, request("place-1", minute(0), placed("o1", "c1")))
	one(t, s, coupon.Rejected(coupon.AlreadyLocked), request("place-2", minute(1), placed("o2", "c1")))
	one(t, s, coupon.InReview, request("pay-2", minute(2), paid("o2")))
	one(t, s, coupon.Redeemed, request("pay-1", minute(3), paid("o1")))
	one(t, s, coupon.NoopPaid, request("close-1", minute(4), coupon.OrderClosed{Order: "o1", Reason: "done"}))
	refund := coupon.RefundApproved{Order: "o1", Refund: "r1", Amount: 900, Currency: "EUR", Reason: "return"}
	one(t, s, "RETURN:FULL", request("refund-1", minute(5), refund))
	one(t, s, coupon.OK, request("place-3", minute(6), placed("o3", "c2"))) // another story

	line, found, err := s.Timeline(t.Context(), "c1")
	if err != nil || !found {
		t.Fatalf("found %v: %v", found, err)
	}
	var told []string
	for _, m := range line.Moments {
		what := string(m.Kind)
		switch {
		case m.Receipt != nil:
			what += " " + m.Receipt.ID
		case m.Operation != nil:
			what += " " + string(m.Operation.Operation)
		case m.Order != "":
			what += " " + m.Order
		}
		told = append(told, what)
	}
	want := []string{
		"PLACED o1", "PLACED o2", "PAYMENT o2", "PAYMENT o1", "CLOSE o1", "REFUND o1",
		"OPERATION ISSUE",
		"MESSAGE place-1", "OPERATION LOCK", "LEASE o1",
		"MESSAGE place-2",
		"MESSAGE pay-2", "REVIEW o2",
		"MESSAGE pay-1", "OPERATION REDEEM", "REDEMPTION o1",
		"MESSAGE close-1",
		"MESSAGE refund-1", "OPERATION RETURN", "DECISION o1",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !slices.IsSortedFunc(line.Moments, func(a, b Moment) int { return a.At.Compare(b.At) }) {
		t.Error("not in the order of time")
	}
	if line.Outbox == 0 {
		t.Error("nothing waits to be published")
	}
}

func TestTimelineOfSplitOrdersHasAllParts(t *testing.T) {
	s := open(t)
	issue(t, s, unlimited("summer"), "C1")
	at := now(t, s)
	part := placed("part-1", "c1")
	part.Parent = "whole"
	one(t, s, coupon.OK, request("m1", at, part))
	payment := paid("part-2")
	payment.Parent = "whole"
	apply(t, s, request("m2", at, payment))
	line, _, err := s.Timeline(t.Context(), "c1")
	if err != nil {
		t.Fatal(err)
	}
	var orders []string
	for _, o := range line.Orders {
		orders = append(orders, o.ID)
	}
	if want := []string{"part-1", "part-2", "whole"}; !slices.Equal(orders, want) {
		t.Errorf("orders %s, want %s", orders, want)
	}
	if len(line.Receipts) != 2 {
		t.Errorf("%d receipts, want 2", len(line.Receipts))
	}
}

func TestTimelineOfAnUnknownCoupon(t *testing.T) {
	s := open(t)
	one(t, s, coupon.Rejected(coupon.UnknownCoupon), request("m1", now(t, s), placed("o1", "nobody")))
	line, found, err := s.Timeline(t.Context(), "nobody")
	if err != nil || found || len(line.Orders) != 1 || len(line.Receipts) != 1 {
		t.Errorf("found %v, %+v, %v", found, line, err)
	}
}

func TestReviewsAreFiltered(t *testing.T) {
	s := open(t)
	at := now(t, s)
	for _, order := range []string{"o1", "o2", "o3"} {
		one(t, s, coupon.Rejected(coupon.UnknownCoupon), request("place-"+order, at, placed(order, "c1", "c2")))
		one(t, s, coupon.InReview, request("pay-"+order, at, paid(order)))
	}
	all := reviews(t, s, ReviewFilter{})
	if len(all) != 6 || !slices.IsSortedFunc(all, func(a, b Review) int { return a.At.Compare(b.At) }) {
		t.Fatalf("got %+v", all)
	}
	execute(t, s, `update review_case set resolved_at = clock_timestamp(), resolution = 'REFUND' where review_id = $1`,
		all[0].ID)
	for name, test := range map[string]struct {
		filter ReviewFilter
		want   int
	}{
		"order":  {ReviewFilter{Order: "o2"}, 2},
		"coupon": {ReviewFilter{Coupon: "c1"}, 3},
		"reason": {ReviewFilter{Reason: coupon.ReviewPaidWithoutLease}, 6},
		"other":  {ReviewFilter{Reason: coupon.ReviewDoublePayment}, 0},
		"open":   {ReviewFilter{OpenOnly: true}, 5},
		"limit":  {ReviewFilter{Limit: 4}, 4},
		"after":  {ReviewFilter{After: all[3].ID}, 2},
	} {
		if got := reviews(t, s, test.filter); len(got) != test.want {
			t.Errorf("%s: got %d, want %d", name, len(got), test.want)
		}
	}
	if resolved := reviews(t, s, ReviewFilter{Limit: 1})[0]; resolved.Resolution != "REFUND" || resolved.ResolvedAt.IsZero() {
		t.Errorf("got %+v", resolved)
	}
}

func reviews(t *testing.T, s *Store, filter ReviewFilter) []Review {
	t.Helper()
	found, err := s.Reviews(t.Context(), filter)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestCountsAndBacklog(t *testing.T) {
	s := open(t)
	limited := unlimited("scarce")
	limited.Budget, limited.UsesPerPerson = 5, 5
	issue(t, s, limited)
	at := now(t, s)
	for _, code := range []string{"C1", "C2", "C3"} {
		apply(t, s, coupon.Request{Fact: coupon.ImportCoupon{Code: code, Template: "scarce", Owner: "ann"}})
	}
	f := placed("o1", "c1", "c2")
	f.Lease = time.Microsecond
	one(t, s, coupon.OK, request("m1", at, f))
	one(t, s, coupon.Redeemed, request("m2", at, paid("o1")))
	f.Order, f.Wanted = "o2", f.Wanted[:1]
	f.Wanted[0].Coupon = "c3"
	one(t, s, coupon.OK, request("m3", at, f))
	refund := coupon.RefundApproved{Order: "o1", Refund: "r1", Amount: 900, Currency: "EUR", Reason: "return"}
	one(t, s, "RETURN:FULL", request("m4", at, refund))

	counts, err := s.Counts(t.Context(), 0)
	want := Counts{
		Receipts: 4, Orders: 2, Operations: 10, TimersOverdue: 1,
		Coupons: map[coupon.State]int64{coupon.Available: 2, coupon.Locked: 1},
	}
	if diff := cmp.Diff(want, counts); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	backlog, err := s.Backlog(t.Context())
	if err != nil || backlog.OutboxRows != 7 || backlog.OutboxMessages == 0 || backlog.OldestRow.IsZero() {
		t.Errorf("got %+v, %v", backlog, err)
	}
	// The default policy keeps the budget of what is returned, the person gets it back.
	uses, err := s.TemplateUses(t.Context())
	if diff := cmp.Diff([]TemplateUse{{"scarce", 5, 3, 3}}, uses); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	wrongCounters(t, s)
	execute(t, s, `update claim_counter set held = 2`)
	persons, err := s.WrongPersonUses(t.Context())
	if diff := cmp.Diff([]PersonUse{{CounterUses, "scarce", "ann", 2, 1}}, persons); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
