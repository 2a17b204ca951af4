package coupon_test

import (
	"strings"
	"testing"

	"couponlease/internal/coupon"
	"couponlease/internal/policy"
)

// TestCountersOfCampaignsAreChecked plants one wrong counter at a time.
func TestCountersOfCampaignsAreChecked(t *testing.T) {
	claimed := func(origin coupon.Origin, owner string) coupon.History {
		return coupon.History{Coupon: &coupon.Coupon{Origin: origin, Owner: owner, State: coupon.Available}}
	}
	for _, test := range []struct {
		name  string
		plant func(*coupon.Template, *coupon.Claims)
		want  string
	}{
		{"nothing", func(*coupon.Template, *coupon.Claims) {}, ""},
		{"no limit", func(row *coupon.Template, _ *coupon.Claims) { row.Total = coupon.NoLimit }, ""},
		{"issued", func(row *coupon.Template, _ *coupon.Claims) { row.Issued = 4 }, "4 coupons issued by the counter, 5 by"},
		{"imported", func(row *coupon.Template, _ *coupon.Claims) { row.Imported = 2 }, "2 coupons imported by the counter, 1 by"},
		{"more than there are", func(row *coupon.Template, _ *coupon.Claims) { row.Total = 4 }, "5 coupons issued of 4"},
		{"a claim too many", func(_ *coupon.Template, c *coupon.Claims) { c.Count = 3 }, "has claimed 3 by the counter, 2 by"},
		{"a claim too few", func(_ *coupon.Template, c *coupon.Claims) { c.Count = 1 }, "has claimed 1 by the counter, 2 by"},
		{"claims of nobody", func(_ *coupon.Template, c *coupon.Claims) { c.Person = "bob" }, "has claimed 2 by the counter, 0 by"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var truth coupon.Usage
			for _, h := range []coupon.History{
				claimed(coupon.OriginClaim, "ann"), claimed(coupon.OriginClaim, "ann"), claimed(coupon.OriginClaim, ""),
				claimed(coupon.OriginBatch, "ann"), claimed(coupon.OriginBatch, ""), claimed(coupon.OriginImport, "ann"),
			} {
				truth.Add(h, func(int64) policy.Policy { return policy.Default() })
			}
			terms := coupon.Unlimited()
			terms.Total = 5
			row := coupon.Template{ID: "t", Terms: terms, Issued: 5, Imported: 1}
			claims := coupon.Claims{Template: "t", Person: "ann", Count: 2}
			test.plant(&row, &claims)
			broken := coupon.CheckTemplate(&row, nil, []*coupon.Claims{&claims}, truth)
			var texts []string
			for _, violation := range broken {
				if violation.Invariant != 9 || violation.Template != "t" {
					t.Errorf("got %+v", violation)
				}
				texts = append(texts, violation.Detail)
			}
			all := strings.Join(texts, "; ")
			if (test.want == "") != (len(broken) == 0) || !strings.Contains(all, test.want) ||
				strings.Contains(all, "ann") {
				t.Errorf("got %q, want %q", all, test.want)
			}
		})
	}
}
