package coupon_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
)

// lived plays steps and gives the books of c1 and of order A afterwards.
func lived(t *testing.T, steps ...[]string) (coupon.Books, coupon.OrderBooks, coupon.Moment) {
	t.Helper()
	s := newStage(t)
	for _, words := range steps {
		s.step(t.Name(), words)
	}
	history, _, err := s.ledger.History(t.Context(), "c1")
	if err != nil {
		t.Fatal(err)
	}
	order, err := s.ledger.Order(t.Context(), "A")
	if err != nil {
		t.Fatal(err)
	}
	books := coupon.Books{History: history, Armed: true}
	for _, named := range order.Named {
		books.Claims = append(books.Claims, coupon.Claim{Order: "A", RedemptionID: named.RedemptionID})
	}
	return books, coupon.OrderBooks{
		Order: order, Coupon: func(string) *coupon.Coupon { return history.Coupon },
		Related: func(string) *coupon.Order { return nil },
		Ended:   func(string, string) bool { return false },
	}, coupon.Moment{Now: s.now.Add(time.Minute), Patience: coupon.DefaultPatience()}
}

func subjects(findings []coupon.Finding) []string {
	var all []string
	for _, f := range findings {
		all = append(all, string(f.Fault)+" "+f.Subject)
	}
	return all
}

var (
	lockedSteps = [][]string{{"0", "placed", "A", "c1"}}
	usedSteps   = [][]string{{"0", "placed", "A", "c1"}, {"1", "paid", "A"}}
)

func TestFaultsOfACouponAreFound(t *testing.T) {
	for _, test := range []struct {
		name  string
		steps [][]string
		plant func(*coupon.Books, *coupon.Moment)
		want  []string
	}{
		{"nothing", usedSteps, func(*coupon.Books, *coupon.Moment) {}, nil},
		{"a use without evidence", usedSteps, func(b *coupon.Books, _ *coupon.Moment) { b.Redemptions = nil },
			[]string{"USED_WITHOUT_REDEMPTION c1"}},
		{"a use without an order", usedSteps, func(b *coupon.Books, _ *coupon.Moment) { b.Coupon.Redemption.Order = "" },
			[]string{"USED_WITHOUT_REDEMPTION c1"}},
		{"a use that its order does not know", usedSteps, func(b *coupon.Books, _ *coupon.Moment) { b.Claims = nil },
			[]string{"USED_WITHOUT_REDEMPTION c1"}},
		{"a second order that has redeemed it", usedSteps, func(b *coupon.Books, _ *coupon.Moment) {
			b.Claims = append(b.Claims, coupon.Claim{Order: "B", RedemptionID: "other"})
		}, []string{"DOUBLE_USE c1"}},
		{"a second redemption of another order", usedSteps, func(b *coupon.Books, _ *coupon.Moment) {
			b.Redemptions = append(b.Redemptions, coupon.RedemptionRow{Redemption: coupon.Redemption{ID: "r", Order: "B"}})
		}, []string{"DOUBLE_USE c1"}},
		{"a gap", usedSteps, func(b *coupon.Books, _ *coupon.Moment) { b.Operations = slices.Delete(b.Operations, 1, 2) },
			[]string{"LEDGER_GAP c1"}},
		{"a ledger that lost its end", usedSteps, func(b *coupon.Books, _ *coupon.Moment) { b.Operations = b.Operations[:2] },
			[]string{"LEDGER_GAP c1"}},
		{"a ledger without a coupon", usedSteps, func(b *coupon.Books, _ *coupon.Moment) { b.Coupon = nil },
			[]string{"LEDGER_GAP c1"}},
		{"a lease without evidence", lockedSteps, func(b *coupon.Books, _ *coupon.Moment) { b.Leases = nil },
			[]string{"ORPHAN_LEASE c1"}},
		{"a lease without a timer", lockedSteps, func(b *coupon.Books, _ *coupon.Moment) { b.Armed = false },
			[]string{"ORPHAN_LEASE c1"}},
		{"a lease that should have ended", lockedSteps, func(_ *coupon.Books, m *coupon.Moment) { m.Now = m.Now.Add(time.Hour) },
			[]string{"ORPHAN_LEASE c1"}},
		{"a lease that ended just now", lockedSteps, func(_ *coupon.Books, m *coupon.Moment) {
			m.Now = m.Now.Add(20 * time.Minute)
		}, nil},
		{"a young lease without a deadline", [][]string{{"0", "placed", "A", "c1", "open"}},
			func(b *coupon.Books, _ *coupon.Moment) { b.Armed = false }, nil},
		{"an old lease without a deadline", [][]string{{"0", "placed", "A", "c1", "open"}},
			func(_ *coupon.Books, m *coupon.Moment) { m.Now = m.Now.Add(31 * 24 * time.Hour) }, []string{"OLD_OPEN_LEASE c1"}},
		{"a decision that was not carried out", slices.Concat(usedSteps, [][]string{{"2", "refund", "A", "amount=50"}}),
			func(b *coupon.Books, _ *coupon.Moment) { b.Decisions[0].Decision = "RETURN:FULL" }, []string{"RETURN_NOT_DONE c1"}},
		{"a decision that was carried out by another operation", slices.Concat(usedSteps, [][]string{{"2", "refund", "A"}}),
			func(b *coupon.Books, _ *coupon.Moment) { b.Decisions[0].OperationID = "" }, nil},
		{"a decision that was put right by hand", slices.Concat(usedSteps, [][]string{
			{"2", "refund", "A", "amount=50"}, {"3", "return", "c1", "A", "again"},
		}), func(b *coupon.Books, _ *coupon.Moment) { b.Decisions[0].Decision = "RETURN:FULL" }, nil},
		{"a decision that was", slices.Concat(usedSteps, [][]string{{"2", "refund", "A"}}),
			func(*coupon.Books, *coupon.Moment) {}, nil},
		{"a flow without a lease", lockedSteps, func(b *coupon.Books, _ *coupon.Moment) {
			b.Open = []coupon.FlowRow{{RedeemNo: "RD1", LeaseID: "gone"}, {RedeemNo: "RD2", LeaseID: b.Coupon.Lease.ID}}
		}, []string{"STALE_FLOW RD1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			books, _, moment := lived(t, test.steps...)
			test.plant(&books, &moment)
			if diff := cmp.Diff(test.want, subjects(coupon.JudgeCoupon(books, moment))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFaultsOfAnOrderAreFound(t *testing.T) {
	held := func(b *coupon.OrderBooks) *coupon.Coupon { return b.Coupon("c1") }
	for _, test := range []struct {
		name  string
		steps [][]string
		plant func(*coupon.OrderBooks, *coupon.Moment)
		want  []string
	}{
		{"nothing", usedSteps, func(*coupon.OrderBooks, *coupon.Moment) {}, nil},
		{"paid and still leased", lockedSteps, func(b *coupon.OrderBooks, m *coupon.Moment) {
			b.Order.Payments = []coupon.Payment{{ID: "p", Amount: 100, At: m.Now}}
		}, []string{"PAID_NOT_REDEEMED A/c1"}},
		{"closed and still leased", lockedSteps, func(b *coupon.OrderBooks, m *coupon.Moment) {
			b.Order.Closes = []coupon.Close{{Reason: "cancelled", At: m.Now}}
		}, []string{"CLOSED_STILL_LOCKED A/c1"}},
		{"superseded and still used", usedSteps, func(b *coupon.OrderBooks, _ *coupon.Moment) {
			b.Order.SupersededBy = "B"
		}, []string{"GIVEN_UP_STILL_HELD A/c1"}},
		{"closed before it was paid, and nobody was asked", usedSteps, func(b *coupon.OrderBooks, _ *coupon.Moment) {
			b.Order.Closes = []coupon.Close{{Reason: "cancelled", At: b.Order.PlacedAt}}
		}, []string{"REVIEW_NOT_OPENED A/c1"}},
		{"a discount for a redemption that nothing ended", usedSteps, func(b *coupon.OrderBooks, _ *coupon.Moment) {
			held(b).State, held(b).Redemption = coupon.Available, nil
			b.Order.Named[0].Discount = 10
		}, []string{"DISCOUNT_WITHOUT_REDEMPTION A/c1"}},
		{"a discount for a redemption that was taken back", usedSteps, func(b *coupon.OrderBooks, _ *coupon.Moment) {
			held(b).State, held(b).Redemption = coupon.Available, nil
			b.Order.Named[0].Discount = 10
			b.Ended = func(string, string) bool { return true }
		}, nil},
		{"money without an order", [][]string{{"0", "paid", "A"}}, func(_ *coupon.OrderBooks, m *coupon.Moment) {
			m.Now = m.Now.Add(2 * time.Hour)
		}, []string{"ORPHAN_PAYMENT A"}},
		{"money that is early", [][]string{{"0", "paid", "A"}}, func(*coupon.OrderBooks, *coupon.Moment) {}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, books, moment := lived(t, test.steps...)
			test.plant(&books, &moment)
			if diff := cmp.Diff(test.want, subjects(coupon.JudgeOrder(books, moment))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestACounterThatIsWrongIsDrift(t *testing.T) {
	terms := coupon.Unlimited()
	terms.Budget = 5
	template := coupon.Template{ID: "T1", Issued: 2, Held: 1, Terms: terms}
	if found := coupon.JudgeTemplate(&template, nil, nil, coupon.Usage{Issued: 2, Held: 1}); len(found) != 0 {
		t.Errorf("found %v", found)
	}
	found := coupon.JudgeTemplate(&template, nil, nil, coupon.Usage{Issued: 3, Held: 2})
	if len(found) != 1 || found[0].String() != "P2 DRIFT T1: 2 coupons issued by the counter, 3 by the coupons; "+
		"1 uses held by the counter, 2 by the ledger" {
		t.Errorf("found %v", found)
	}
}

// TestDriftNamesTheCounterAndNotThePerson: the text of a finding is sent on.
func TestDriftNamesTheCounterAndNotThePerson(t *testing.T) {
	terms := coupon.Unlimited()
	terms.UsesPerPerson = 3
	template := coupon.Template{ID: "T1", Terms: terms}
	uses := []*coupon.Uses{{Template: "T1", Person: "ann@example.org", Held: 2}, {Template: "T1", Person: "bob@example.org", Held: 1}}
	found := coupon.JudgeTemplate(&template, uses, nil, coupon.Usage{Persons: map[string]int64{"ann@example.org": 1, "bob@example.org": 1}})
	sum := sha256.Sum256([]byte("ann@example.org"))
	if want := fmt.Sprintf("a person holds 2 uses by the counter, 1 by the coupons (counter %x)", sum[:8]); len(found) != 1 ||
		found[0].Detail != want {
		t.Errorf("found %v, want %s", found, want)
	}
}

// TestFaults: each has a name of its own and a severity.
func TestFaults(t *testing.T) {
	seen := map[coupon.Fault]bool{}
	known := []coupon.Severity{coupon.SeverityP0, coupon.SeverityP1, coupon.SeverityP2, coupon.SeverityP3}
	for _, fault := range slices.Concat(coupon.OwnFaults(), coupon.UpstreamFaults()) {
		if seen[fault] || !slices.Contains(known, fault.Severity()) {
			t.Errorf("%s: %s", fault, fault.Severity())
		}
		seen[fault] = true
	}
}
