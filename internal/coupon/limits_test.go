package coupon_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
	"couponlease/internal/simulate"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// decide answers one request on the rows given, and gives what has to be written.
func decide(request coupon.Request, rows ...any) (coupon.Outcome, *coupon.Changes) {
	w := coupon.NewWorld(noon, coupon.DefaultRules(), simulate.NewSource("limits"))
	for _, row := range rows {
		switch row := row.(type) {
		case *coupon.Order:
			w.AddOrder(row)
		case *coupon.Coupon:
			w.AddCoupon(row)
		case *coupon.Template:
			w.AddTemplate(row)
		}
	}
	outcome := coupon.Decide(w, &request)
	return outcome, w.Seal()
}

func many[T any](n int, make func(i int) T) []T {
	var all []T
	for i := range n {
		all = append(all, make(i))
	}
	return all
}

// TestDeadLettersChangeNothing: what can never be applied says why, and writes
// nothing, not even an inbox row.
func TestDeadLettersChangeNothing(t *testing.T) {
	id := func(i int) string { return fmt.Sprint("x", i) }
	paid := &coupon.Order{ID: "A", Payments: many(coupon.MaxPayments, func(i int) coupon.Payment {
		return coupon.Payment{ID: id(i)}
	})}
	closed := &coupon.Order{ID: "A", Closes: many(coupon.MaxCloses, func(i int) coupon.Close {
		return coupon.Close{Reason: id(i)}
	})}
	refunded := &coupon.Order{ID: "A", Refunds: many(coupon.MaxRefunds, func(i int) coupon.Refund {
		return coupon.Refund{ID: id(i)}
	})}
	split := &coupon.Order{ID: "P", Children: many(coupon.MaxChildren, id)}
	wanted := many(coupon.MaxNamed+1, func(i int) coupon.Wanted { return coupon.Wanted{Coupon: id(i)} })
	euro := &coupon.Order{ID: "A", Currency: "EUR", Payments: []coupon.Payment{{ID: "p"}}}
	for _, c := range []struct {
		name string
		fact coupon.Fact
		at   time.Time
		row  *coupon.Order
		code coupon.Code
	}{
		{"payments", coupon.PaymentSucceeded{Order: "A", Parent: "P", Payment: "p"}, noon, paid, coupon.TooManyFacts},
		{"closes", coupon.OrderClosed{Order: "A", Parent: "P", Reason: "timeout"}, noon, closed, coupon.TooManyFacts},
		{"refunds", coupon.RefundApproved{Order: "A", Parent: "P", Refund: "r"}, noon, refunded, coupon.TooManyFacts},
		{"parts of a payment", coupon.PaymentSucceeded{Order: "A", Parent: "P", Payment: "p"}, noon, split, coupon.TooManyFacts},
		{"parts of a close", coupon.OrderClosed{Order: "A", Parent: "P"}, noon, split, coupon.TooManyFacts},
		{"parts of a refund", coupon.RefundApproved{Order: "A", Parent: "P", Refund: "r"}, noon, split, coupon.TooManyFacts},
		{"parts of a placement", coupon.OrderPlaced{Order: "A", Parent: "P"}, noon, split, coupon.TooManyFacts},
		{"coupons", coupon.OrderPlaced{Order: "A", Wanted: wanted}, noon, &coupon.Order{ID: "A"}, coupon.TooManyFacts},
		{"currency", coupon.PaymentSucceeded{Order: "A", Payment: "q", Currency: "USD"}, noon, euro, coupon.CurrencyMismatch},
		{"currency of a refund", coupon.RefundApproved{Order: "A", Refund: "q", Currency: "USD"}, noon, euro, coupon.CurrencyMismatch},
		{"currency of a placement", coupon.OrderPlaced{Order: "A", Currency: "USD"}, noon, euro, coupon.CurrencyMismatch},
		{"from the future", coupon.OrderClosed{Order: "A"}, noon.Add(25 * time.Hour), &coupon.Order{ID: "A"}, coupon.TimeOutOfRange},
		{"a template nobody defined", coupon.ImportCoupon{Code: "c", Template: "T9"}, noon, &coupon.Order{ID: "A"}, coupon.UnknownTemplate},
	} {
		t.Run(c.name, func(t *testing.T) {
			outcome, changes := decide(coupon.Request{ID: "m", At: c.at, Fact: c.fact}, c.row)
			if outcome.Status != coupon.Dead || outcome.Code != c.code || outcome.Detail == "" {
				t.Errorf("got %+v", outcome)
			}
			if diff := cmp.Diff(&coupon.Changes{}, changes); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAtTheLimit: as many as allowed are allowed, and placing them again is no
// more than they are.
func TestAtTheLimit(t *testing.T) {
	order := &coupon.Order{ID: "A"}
	wanted := many(coupon.MaxNamed, func(i int) coupon.Wanted { return coupon.Wanted{Coupon: fmt.Sprint("x", i)} })
	w := coupon.NewWorld(noon, coupon.DefaultRules(), simulate.NewSource("limits"))
	w.AddOrder(order)
	for second := range 2 {
		outcome := coupon.Decide(w, &coupon.Request{
			ID: fmt.Sprint(second), At: noon.Add(time.Duration(second) * time.Second),
			Fact: coupon.OrderPlaced{Order: "A", Wanted: wanted},
		})
		if outcome.Status != coupon.Refused || outcome.Code != coupon.Rejected(coupon.UnknownCoupon) {
			t.Errorf("placement %d: got %+v", second, outcome)
		}
	}
}

// TestEndOfValidity: the code's own end, or the template's, or so many days after
// the issue if that is earlier.
func TestEndOfValidity(t *testing.T) {
	day := func(n int) time.Time { return noon.AddDate(0, 0, n) }
	for _, c := range []struct {
		name     string
		own      time.Time
		template time.Time
		days     int
		want     time.Time
	}{
		{"none", time.Time{}, time.Time{}, 0, time.Time{}},
		{"the template's", time.Time{}, day(30), 0, day(30)},
		{"days after the issue", time.Time{}, time.Time{}, 7, day(7)},
		{"days before the template's end", time.Time{}, day(30), 7, day(7)},
		{"days beyond the template's end", time.Time{}, day(5), 7, day(5)},
		{"its own", day(90), day(30), 7, day(90)},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, changes := decide(
				coupon.Request{Fact: coupon.ImportCoupon{Code: " C1", Template: "T1", ValidUntil: c.own}},
				&coupon.Template{ID: "T1", Terms: coupon.Terms{ValidUntil: c.template, ValidDays: c.days}})
			if len(changes.Coupons) != 1 || !changes.Coupons[0].Row.ValidUntil.Equal(c.want) {
				t.Errorf("want %v, got %+v", c.want, changes.Coupons)
			}
		})
	}
}

// TestDefinitionsAreMadeOnce: what is defined stays as it is.
func TestDefinitionsAreMadeOnce(t *testing.T) {
	w := coupon.NewWorld(noon, coupon.DefaultRules(), simulate.NewSource("limits"))
	w.AddPolicy(policy.Default())
	for _, want := range []coupon.Code{coupon.Created, coupon.Skipped} {
		for _, fact := range []coupon.Fact{
			coupon.DefineTemplate{Template: coupon.Template{ID: "T1", Held: 5, Issued: 7}},
			coupon.DefinePolicy{},
		} {
			if got := coupon.Decide(w, &coupon.Request{Fact: fact}); got.Code != want {
				t.Errorf("%s: got %+v, want %s", coupon.Kind(fact), got, want)
			}
		}
	}
	template := w.Seal().Templates[0]
	want := coupon.TemplateChange{Row: &coupon.Template{
		ID: "T1", Version: 1, Generation: 1, Terms: coupon.Terms{Status: coupon.TemplateActive, PolicyVersion: 1},
	}}
	if diff := cmp.Diff(want, template); diff != "" {
		t.Errorf("template (-want +got):\n%s", diff)
	}
	if policies := w.NewPolicies(); len(policies) != 1 {
		t.Errorf("policies %v", policies)
	}
}

// unknown is a fact that the core does not have.
type unknown struct{}

func (unknown) Orders() []string  { return nil }
func (unknown) Coupons() []string { return nil }

// TestMistakesOfTheProgramStop: an edge that is not in the table, or a fact of no
// known kind, is no answer to anybody.
func TestMistakesOfTheProgramStop(t *testing.T) {
	for name, mistake := range map[string]func(){
		"fact": func() { decide(coupon.Request{Fact: unknown{}}) },
		"edge": func() {
			w := coupon.NewWorld(noon, coupon.DefaultRules(), simulate.NewSource("limits"))
			w.AddCoupon(&coupon.Coupon{ID: "c1", State: coupon.Void})
			coupon.LockUnasked(w, "c1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.Contains(text, "unknown kind") && !strings.Contains(text, "not in the table") {
					t.Errorf("got %s", text)
				}
			}()
			mistake()
		})
	}
}

// TestKinds: each fact has a name of its own, and names the rows it needs.
func TestKinds(t *testing.T) {
	kinds := map[string]bool{}
	for _, fact := range []coupon.Fact{
		coupon.OrderPlaced{}, coupon.PaymentSucceeded{}, coupon.OrderClosed{}, coupon.RefundApproved{}, coupon.LeaseDue{},
		coupon.ImportCoupon{}, coupon.ValidityOver{}, coupon.DefineTemplate{}, coupon.DefinePolicy{},
		coupon.LockCoupon{}, coupon.RedeemRequested{}, coupon.RenewLease{}, coupon.ReleaseLease{},
		coupon.RedeemCoupon{}, coupon.ReturnCoupon{}, coupon.SwapCoupons{}, coupon.VoidCoupon{}, coupon.ReverseChange{}, coupon.ResolveReview{},
		coupon.SettleOrder{}, coupon.SettleLease{}, coupon.ReportOrphan{}, coupon.EndFlow{}, coupon.ReportFault{},
		coupon.ClaimCoupon{}, coupon.IssueCoupons{}, coupon.CreateTemplate{}, coupon.EditTemplate{}, coupon.Restock{},
	} {
		if name := fmt.Sprintf("%T", fact); name != "coupon."+coupon.Kind(fact) || kinds[name] {
			t.Errorf("%s is called %s", name, coupon.Kind(fact))
		}
		kinds[coupon.Kind(fact)] = true
		if orders := fact.Orders(); len(orders) != 0 {
			t.Errorf("an empty %T needs orders %q", fact, orders)
		}
	}
	f := coupon.OrderPlaced{Order: "A", Parent: "P", Supersedes: "Z", Wanted: []coupon.Wanted{{Coupon: "c1"}}}
	if diff := cmp.Diff([]string{"A", "P", "Z"}, f.Orders()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"c1"}, f.Coupons()); diff != "" {
		t.Error(diff)
	}
}

// TestLeaseDueSettlesWhatIsOwed: should a paid order still hold a lease when its
// timer fires, it is settled as paid.
func TestLeaseDueSettlesWhatIsOwed(t *testing.T) {
	lease := coupon.Lease{ID: "l", Order: "A", Purpose: coupon.PurposeOrder, Version: 2, Deadline: noon}
	outcome, changes := decide(
		coupon.Request{ID: "due", At: noon, Fact: coupon.LeaseDue{Coupon: "c1", Order: "A", LeaseID: "l", Version: 2}},
		&coupon.Coupon{ID: "c1", State: coupon.Locked, Version: 2, Leases: 1, Lease: &lease},
		&coupon.Order{
			ID: "A", Placed: true, PlacedAt: noon.Add(-time.Hour), Payable: 100,
			Named:    []coupon.Named{{Coupon: "c1", LeaseID: "l"}},
			Payments: []coupon.Payment{{ID: "p", Amount: 100, At: noon.Add(-time.Minute)}},
		})
	if outcome.Code != coupon.Redeemed || len(changes.Operations) != 1 || !changes.Coupons[0].Row.UsedBy("A") {
		t.Errorf("got %+v, %+v", outcome, changes.Operations)
	}
}

// TestTimesAreKeptToTheMicrosecond: a fact that is told again is as old as the one
// that was kept, although the database forgot its nanoseconds.
func TestTimesAreKeptToTheMicrosecond(t *testing.T) {
	at := noon.Add(time.Millisecond + 789*time.Nanosecond)
	w := coupon.NewWorld(noon, coupon.DefaultRules(), simulate.NewSource("limits"))
	w.AddCoupon(&coupon.Coupon{ID: "c1", State: coupon.Available, Version: 1})
	placed := coupon.OrderPlaced{Order: "A", Payable: 1, Wanted: []coupon.Wanted{{Coupon: "c1"}}}
	paid := coupon.PaymentSucceeded{Order: "A", Payment: "p", Amount: 1}
	for i, step := range []struct {
		fact coupon.Fact
		want coupon.Code
	}{{placed, coupon.OK}, {placed, coupon.Duplicate}, {paid, coupon.Redeemed}, {paid, coupon.DuplicatePayment}} {
		outcome := coupon.Decide(w, &coupon.Request{ID: fmt.Sprint(i), At: at, Fact: step.fact})
		if outcome.Code != step.want {
			t.Errorf("step %d: got %+v, want %s", i, outcome, step.want)
		}
	}
	changes := w.Seal()
	kept := at.Truncate(time.Microsecond)
	if got := changes.Orders[0]; !got.PlacedAt.Equal(kept) || !got.Payments[0].At.Equal(kept) {
		t.Errorf("kept %v and %v, want %v", got.PlacedAt, got.Payments[0].At, kept)
	}
	for _, receipt := range changes.Receipts {
		if !receipt.At.Equal(kept) {
			t.Errorf("receipt %s at %v, want %v", receipt.ID, receipt.At, kept)
		}
	}
}
