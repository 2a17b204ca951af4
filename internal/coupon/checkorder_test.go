package coupon_test

import (
	"strings"
	"testing"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

// orders gives the rows after a story, of which the first is looked at.
type orders struct {
	rows    map[string]*coupon.Order
	coupons map[string]*coupon.Coupon
}

func ordersAfter(t *testing.T, story string) orders {
	t.Helper()
	s := newStage(t)
	for _, line := range strings.Split(strings.TrimSpace(story), "\n") {
		s.step(line, strings.Fields(line))
	}
	o := orders{map[string]*coupon.Order{}, map[string]*coupon.Coupon{}}
	err := s.ledger.EachOrder(t.Context(), func(row *coupon.Order) error { o.rows[row.ID] = row; return nil })
	if err != nil {
		t.Fatal(err)
	}
	err = s.ledger.EachHistory(t.Context(), func(h coupon.History) error { o.coupons[h.Coupon.ID] = h.Coupon; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (o orders) check(id string) []coupon.Violation {
	return coupon.CheckOrder(o.rows[id],
		func(id string) *coupon.Coupon { return o.coupons[id] },
		func(id string) *coupon.Order { return o.rows[id] })
}

// TestCheckOrderFindsPlantedFaults: what should have followed from the facts of
// an order, and did not, is found.
func TestCheckOrderFindsPlantedFaults(t *testing.T) {
	const (
		leased = "0 placed A c1"
		gone   = "0 placed A c1\n900 due c1"
		used   = "0 placed A c1\n10 paid A"
		taken  = "0 placed A c1\n900 due c1\n910 placed B c1\n920 paid A"
		edited = "0 placed A c1\n10 paid A\n20 placed A2 - supersedes=A"
		split  = "0 placed A c1 parent=P\n5 placed B c1 parent=P"
	)
	pay := func(id string) func(o orders) {
		return func(o orders) {
			o.rows[id].Payments = append(o.rows[id].Payments, coupon.Payment{ID: "p9", Amount: 100})
		}
	}
	for _, c := range []struct {
		name, story, order string
		fault              func(o orders)
		invariant          int
		detail             string
	}{
		{"paid and leased", leased, "A", pay("A"), 12, "not redeemed"},
		{"paid, its lease gone", gone, "A", pay("A"), 12, "neither redeemed nor in review"},
		{"refused and paid", "0 void c1\n5 placed A c1", "A", pay("A"), 12, "PAID_WITHOUT_LEASE"},
		{"a review that was never opened", taken, "A", func(o orders) { o.rows["A"].Named[0].Reviews = nil }, 12, "nor in review"},
		{"closed and leased", leased, "A", func(o orders) {
			o.rows["A"].Closes = []coupon.Close{{Reason: "timeout", At: o.rows["A"].PlacedAt}}
		}, 12, "still leased"},
		{"late and used", used, "A", func(o orders) {
			o.rows["A"].Closes = []coupon.Close{{Reason: "timeout", At: o.rows["A"].PlacedAt}}
		}, 12, "LATE_PAYMENT_ON_CLOSED_ORDER"},
		{"edited, and the earlier order still used", edited, "A", func(o orders) {
			c := o.coupons["c1"]
			c.State, c.Redemption = coupon.Used, &coupon.Redemption{Order: "A"}
		}, 12, "still used"},
		{"a part paid", split, "P", pay("B"), 12, "not redeemed"},
		{"a payment twice", used, "A", func(o orders) {
			o.rows["A"].Payments = append(o.rows["A"].Payments, o.rows["A"].Payments[0])
		}, 8, "payment pay-A"},
		{"a refund twice", used, "A", func(o orders) {
			o.rows["A"].Refunds = []coupon.Refund{{ID: "r1"}, {ID: "r1"}}
		}, 8, "refund r1"},
		{"a part's payment twice", split, "A", func(o orders) { pay("A")(o); pay("A")(o) }, 8, "payment p9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := ordersAfter(t, c.story)
			for id := range o.rows {
				if broken := o.check(id); len(broken) > 0 {
					t.Fatalf("before the fault: %v", broken)
				}
			}
			c.fault(o)
			broken := o.check(c.order)
			if len(broken) != 1 || broken[0].Invariant != c.invariant || broken[0].Order != c.order ||
				!strings.Contains(broken[0].String(), c.detail) {
				t.Errorf("want invariant %d with %q, got %v", c.invariant, c.detail, broken)
			}
		})
	}
}

// TestCheckTemplateFindsPlantedFaults: counters are what the coupons say, within
// the limits, and not below zero.
func TestCheckTemplateFindsPlantedFaults(t *testing.T) {
	history := played(t, usedStory)
	rules := func(version int64) policy.Policy { return policy.Policy{Version: version} }
	for _, c := range []struct {
		name   string
		fault  func(*coupon.Template, *coupon.Uses, *coupon.Usage)
		detail string
	}{
		{"as it is", func(*coupon.Template, *coupon.Uses, *coupon.Usage) {}, ""},
		{"nobody counts", func(t *coupon.Template, u *coupon.Uses, _ *coupon.Usage) {
			t.Budget, t.UsesPerPerson, t.Held, u.Held = coupon.NoLimit, coupon.NoLimit, 0, 0
		}, ""},
		{"a coupon not counted", func(t *coupon.Template, _ *coupon.Uses, _ *coupon.Usage) { t.Imported = 0 }, "0 coupons imported"},
		{"a claim not counted", func(_ *coupon.Template, _ *coupon.Uses, truth *coupon.Usage) {
			truth.Claimed = map[string]int64{"u1": 1}
		}, "claimed 0 by the counter, 1 by the coupons"},
		{"more than there are", func(t *coupon.Template, _ *coupon.Uses, truth *coupon.Usage) {
			t.Total, t.Issued, truth.Issued = 1, 2, 2
		}, "2 coupons issued of 1"},
		{"a use not counted", func(t *coupon.Template, _ *coupon.Uses, _ *coupon.Usage) { t.Held = 1 }, "1 uses held by the counter, 2"},
		{"above the budget", func(t *coupon.Template, _ *coupon.Uses, _ *coupon.Usage) { t.Budget = 1 }, "2 uses held of 1"},
		{"below zero", func(t *coupon.Template, _ *coupon.Uses, truth *coupon.Usage) { t.Held, truth.Held = -1, -1 }, "-1 uses held"},
		{"a person's use not counted", func(_ *coupon.Template, u *coupon.Uses, _ *coupon.Usage) { u.Held = 0 }, "0 uses by the counter, 1"},
		{"a person without a counter", func(_ *coupon.Template, u *coupon.Uses, _ *coupon.Usage) {
			u.Person, u.Held = "u2", 0
		}, "0 uses by the counter, 1"},
		{"a person above the limit", func(t *coupon.Template, _ *coupon.Uses, _ *coupon.Usage) { t.UsesPerPerson = 0 }, "1 uses of 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The first use was given back, but its place in the budget was not.
			template := coupon.Template{ID: "T1", Imported: 1, Held: 2, Terms: coupon.Terms{Budget: 5, UsesPerPerson: 1}}
			uses := coupon.Uses{Template: "T1", Person: "u1", Held: 1}
			var truth coupon.Usage
			truth.Add(history, rules)
			c.fault(&template, &uses, &truth)
			broken := coupon.CheckTemplate(&template, []*coupon.Uses{&uses}, nil, truth)
			switch {
			case c.detail == "" && len(broken) == 0:
			case c.detail == "", len(broken) != 1, broken[0].Invariant != 9, !strings.Contains(broken[0].String(), c.detail):
				t.Errorf("want invariant 9 with %q, got %v", c.detail, broken)
			}
		})
	}
}
