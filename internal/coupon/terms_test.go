package coupon_test

import (
	"errors"
	"testing"
	"time"

	"couponlease/internal/coupon"
)

// TestDiscounts: each kind has exactly the figures that it needs.
func TestDiscounts(t *testing.T) {
	for _, test := range []struct {
		name     string
		discount coupon.Discount
		possible bool
	}{
		{"nothing", coupon.Discount{}, true},
		{"a sum without a kind", coupon.Discount{Amount: 5, Currency: "EUR"}, false},
		{"a kind that is none", coupon.Discount{Kind: "GIFT", Amount: 5, Currency: "EUR"}, false},
		{"amount off", coupon.Discount{Kind: coupon.AmountOff, Amount: 5, MinSpend: 50, Currency: "EUR"}, true},
		{"amount off anything", coupon.Discount{Kind: coupon.AmountOff, Amount: 5, Currency: "EUR"}, false},
		{"amount off nothing", coupon.Discount{Kind: coupon.AmountOff, MinSpend: 50, Currency: "EUR"}, false},
		{"amount off of no currency", coupon.Discount{Kind: coupon.AmountOff, Amount: 5, MinSpend: 50}, false},
		{"amount off of a long currency", coupon.Discount{Kind: coupon.AmountOff, Amount: 5, MinSpend: 50, Currency: "EURO"}, false},
		{"amount and percent off", coupon.Discount{
			Kind: coupon.AmountOff, Amount: 5, MinSpend: 50, Currency: "EUR", BasisPoints: 1,
		}, false},
		{"a negative amount", coupon.Discount{Kind: coupon.AmountOff, Amount: -5, MinSpend: 50, Currency: "EUR"}, false},
		{"a negative spend", coupon.Discount{Kind: coupon.PercentOff, BasisPoints: 1, MinSpend: -5, Currency: "EUR"}, false},
		{"no threshold", coupon.Discount{Kind: coupon.NoThreshold, Amount: 5, Currency: "EUR"}, true},
		{"no threshold, and one", coupon.Discount{Kind: coupon.NoThreshold, Amount: 5, MinSpend: 1, Currency: "EUR"}, false},
		{"no threshold and no amount", coupon.Discount{Kind: coupon.NoThreshold}, false},
		{"all of it", coupon.Discount{Kind: coupon.PercentOff, BasisPoints: 10_000}, true},
		{"more than all of it", coupon.Discount{Kind: coupon.PercentOff, BasisPoints: 10_001}, false},
		{"none of it", coupon.Discount{Kind: coupon.PercentOff}, false},
		{"percent off from a spend", coupon.Discount{Kind: coupon.PercentOff, BasisPoints: 1, MinSpend: 5, Currency: "EUR"}, true},
		{"percent off from a spend of no currency", coupon.Discount{Kind: coupon.PercentOff, BasisPoints: 1, MinSpend: 5}, false},
		{"percent off in a currency", coupon.Discount{Kind: coupon.PercentOff, BasisPoints: 1, Currency: "EUR"}, false},
		{"percent off in a short currency", coupon.Discount{
			Kind: coupon.PercentOff, BasisPoints: 1, MinSpend: 5, Currency: "E",
		}, false},
		{"percent off and an amount", coupon.Discount{Kind: coupon.PercentOff, BasisPoints: 1, Amount: 5, Currency: "EUR"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := test.discount.Validate(); (err == nil) != test.possible {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestOneZoneForAll: where no zone but UTC is known, days are those of UTC, and a zone that
// is known no longer counts as UTC.
func TestOneZoneForAll(t *testing.T) {
	terms := coupon.Unlimited()
	terms.PerDay, terms.Zone = 1, "Pacific/Kiritimati"
	for name, zone := range map[string]func(string) (*time.Location, error){
		"none":         nil,
		"none anymore": func(string) (*time.Location, error) { return nil, errors.New("no such zone") },
	} {
		t.Run(name, func(t *testing.T) {
			w := coupon.NewWorld(noon, coupon.DefaultRules(), coupon.Source{
				ID: func() string { return "id" }, Code: func(string, int64) string { return "c1" }, Zone: zone,
			})
			w.AddTemplate(&coupon.Template{ID: "t", Version: 1, Terms: terms})
			coupon.Decide(w, &coupon.Request{ID: "m", At: noon, Fact: coupon.ClaimCoupon{Template: "t", Person: "ann"}})
			if claims := w.Seal().Claims; len(claims) != 1 || claims[0].Day != "2026-03-01" {
				t.Errorf("got %+v", claims)
			}
		})
	}
}

// TestWhatIsLeft of a campaign is never less than nothing.
func TestWhatIsLeft(t *testing.T) {
	template := coupon.Template{Issued: 3, Terms: coupon.Unlimited()}
	for total, want := range map[int64]int64{coupon.NoLimit: coupon.NoLimit, 5: 2, 3: 0, 2: 0} {
		template.Total = total
		if got := template.Left(); got != want || template.Rationed() != (total != coupon.NoLimit) {
			t.Errorf("of %d: %d left, want %d, rationed %t", total, got, want, template.Rationed())
		}
	}
}
