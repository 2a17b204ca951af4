package demo

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/console"
	"couponlease/internal/coupon"
	"couponlease/messages"
)

func plan(t testing.TB, orders int) *traffic {
	t.Helper()
	planned, err := newTraffic(orders, 5, time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	return planned
}

func TestPlotsAddUpToAHundred(t *testing.T) {
	var sum int
	for p := range plots {
		sum += p.weight()
	}
	if sum != 100 {
		t.Errorf("the weights add up to %d", sum)
	}
}

func TestTrafficIsRepeatableAndHoldsWhatADayHolds(t *testing.T) {
	first, second := plan(t, 200), plan(t, 200)
	ids := func(planned *traffic) (list []string) {
		for _, m := range planned.messages {
			list = append(list, m.fact.ID)
		}
		return list
	}
	if diff := cmp.Diff(ids(first), ids(second)); diff != "" {
		t.Errorf("two plans differ:\n%s", diff)
	}
	if got := len(first.codes); got != 205 || len(first.ends) != got {
		t.Errorf("%d codes and %d ends for 205 orders", got, len(first.ends))
	}
	if repeated := len(first.messages) - len(first.ids); repeated < 20 {
		t.Errorf("only %d of %d messages are repeats", repeated, len(first.messages))
	}
	if want := 2 * contested.weight(); first.reviews != want {
		t.Errorf("%d reviews are planned, want %d", first.reviews, want)
	}
	shapes := map[console.Shape]int{}
	for _, m := range first.messages {
		shapes[m.fact.Shape]++
	}
	for _, shape := range []console.Shape{console.ShapePlain, console.ShapeBinary, console.ShapeStructured} {
		if shapes[shape] < 50 {
			t.Errorf("only %d messages are %s", shapes[shape], shape)
		}
	}
}

func TestPlotsComeOutOfOrderWhereTheySaySo(t *testing.T) {
	tests := []struct {
		plot plot
		want []string // the types in the order of publication
	}{
		{bought, []string{messages.TypeOrderPlaced, messages.TypePaymentSucceeded}},
		{paidFirst, []string{messages.TypePaymentSucceeded, messages.TypeOrderPlaced}},
		{closeFirst, []string{messages.TypeOrderClosed, messages.TypeOrderPlaced}},
		{recovered, []string{messages.TypeOrderPlaced, messages.TypeOrderClosed, messages.TypePaymentSucceeded}},
		{returned, []string{messages.TypeOrderPlaced, messages.TypePaymentSucceeded, messages.TypeRefundApproved}},
		{free, []string{messages.TypeOrderPlaced}},
	}
	for _, test := range tests {
		day := plan(t, 0)
		day.messages = nil
		if err := day.order(7, test.plot); err != nil {
			t.Fatal(err)
		}
		slices.SortStableFunc(day.messages, func(a, b planned) int { return a.place - b.place })
		seen := map[string]bool{}
		var got []string
		for _, m := range day.messages {
			if !seen[m.fact.Type] {
				seen[m.fact.Type] = true
				got = append(got, m.fact.Type)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("plot %d (-want +got):\n%s", test.plot, diff)
		}
	}
}

func TestTheFileNamesEveryCoupon(t *testing.T) {
	planned := plan(t, 100)
	planned.add(incidentCoupon, coupon.Used)
	var b strings.Builder
	if err := planned.writeCSV(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if lines := strings.Count(text, "\n"); lines != len(planned.codes)+1 {
		t.Errorf("%d lines for %d coupons", lines, len(planned.codes))
	}
	if !strings.HasPrefix(text, "code,owner,valid_until,batch\n") || !strings.Contains(text, incidentCoupon) {
		t.Errorf("the file begins with %.60s", text)
	}
}
