package coupon_test

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"couponlease/internal/coupon"
	"couponlease/internal/simulate"
)

// byHand asks for a command that a person gives, and gives what the audit log gets.
func byHand(t *testing.T, ledger *simulate.Ledger, key string, fact coupon.Command) []*coupon.AuditRow {
	t.Helper()
	request := coupon.Request{
		ID: "m-" + key, Key: key, Hash: sha256.Sum256([]byte(key)), At: ledger.Now(), Actor: "ann", Fact: fact,
		Audit: &coupon.Audit{Reason: "ticket", Arguments: []byte(`{}`)},
	}
	return decided(t, ledger, request)
}

func decided(t *testing.T, ledger *simulate.Ledger, request coupon.Request) (rows []*coupon.AuditRow) {
	t.Helper()
	err := ledger.Apply(t.Context(), []coupon.Request{request}, func(w *coupon.World) {
		coupon.Decide(w, &request)
		rows = w.Seal().Audits
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// audited is a command that a person gives, and its row.
type audited struct {
	name, key string
	fact      coupon.Command
	want      coupon.AuditRow
}

func auditsOf(t *testing.T, ledger *simulate.Ledger, tests []audited) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := test.want
			want.At, want.Actor, want.Reason, want.Key = ledger.Now(), "ann", "ticket", test.key
			want.Cause, want.Arguments = "m-"+test.key, []byte(`{}`)
			got := byHand(t, ledger, test.key, test.fact)
			if diff := cmp.Diff([]*coupon.AuditRow{&want}, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("audit log (-want +got):\n%s", diff)
			}
		})
	}
}

func stands(id string, state coupon.State, version int64) coupon.Standing {
	return coupon.Standing{Coupon: id, State: state, Version: version}
}

func TestCommandsByHandAreAudited(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	ledger := simulate.NewLedger(func() time.Time { return now }, coupon.DefaultRules(), simulate.NewSource("s"))
	decided(t, ledger, coupon.Request{Fact: coupon.DefineTemplate{
		Template: coupon.Template{ID: "T1", Terms: coupon.Unlimited()},
	}})
	for _, code := range []string{"c1", "c2", "c3"} {
		decided(t, ledger, coupon.Request{Fact: coupon.ImportCoupon{Code: code, Template: "T1"}})
	}
	decided(t, ledger, coupon.Request{Fact: coupon.OrderPlaced{
		Order: "A", Customer: "u1", Payable: 100, Currency: "EUR", Wanted: []coupon.Wanted{{Coupon: "c1"}}}})
	void := coupon.VoidCoupon{Coupon: "c3", Reason: "leaked"}
	auditsOf(t, ledger, []audited{
		{"refused", "k1", coupon.VoidCoupon{Coupon: "c1"}, coupon.AuditRow{
			Action: "VoidCoupon", Subject: "c1", Coupons: []string{"c1"}, Code: coupon.InUse,
			Before: []coupon.Standing{stands("c1", coupon.Locked, 2)}, After: []coupon.Standing{stands("c1", coupon.Locked, 2)},
		}},
		{"done", "k2", void, coupon.AuditRow{
			Action: "VoidCoupon", Subject: "c3", Coupons: []string{"c3"}, Code: coupon.OK, Count: 1,
			Before: []coupon.Standing{stands("c3", coupon.Available, 1)}, After: []coupon.Standing{stands("c3", coupon.Void, 2)},
		}},
		{"repeated", "k2", void, coupon.AuditRow{
			Action: "VoidCoupon", Subject: "c3", Coupons: []string{"c3"}, Code: coupon.Duplicate, First: coupon.OK,
			Before: []coupon.Standing{stands("c3", coupon.Void, 2)}, After: []coupon.Standing{stands("c3", coupon.Void, 2)},
		}},
		{"no such coupon", "k3", coupon.VoidCoupon{Coupon: "c9"}, coupon.AuditRow{
			Action: "VoidCoupon", Subject: "c9", Coupons: []string{"c9"}, Code: coupon.UnknownCoupon,
		}},
		{"several", "k4", coupon.SwapCoupons{Order: "A", Drop: []string{"c1"}, Add: []coupon.Wanted{{Coupon: "c2"}}},
			coupon.AuditRow{
				Action: "SwapCoupons", Subject: "A", Coupons: []string{"c1", "c2"}, Code: coupon.OK, Count: 2,
				Before: []coupon.Standing{stands("c1", coupon.Locked, 2), stands("c2", coupon.Available, 1)},
				After:  []coupon.Standing{stands("c1", coupon.Available, 3), stands("c2", coupon.Locked, 2)},
			}},
	})
	message := coupon.Request{Key: "k9", Fact: coupon.VoidCoupon{Coupon: "c1", Force: true}}
	if rows := decided(t, ledger, message); len(rows) != 0 {
		t.Errorf("a command that no person gave is in the audit log: %+v", rows[0])
	}
}

// TestCampaignsByHandAreAudited: what is about a template names it, and counts the coupons
// that were made.
func TestCampaignsByHandAreAudited(t *testing.T) {
	ledger := simulate.NewLedger(func() time.Time { return noon }, coupon.DefaultRules(), simulate.NewSource("s"))
	decided(t, ledger, coupon.Request{Fact: coupon.DefineTemplate{
		Template: coupon.Template{ID: "T1", Terms: coupon.Unlimited()},
	}})
	decided(t, ledger, coupon.Request{Fact: coupon.ImportCoupon{Code: "c3", Template: "T1"}})
	auditsOf(t, ledger, []audited{
		{"a batch", "k1", coupon.IssueCoupons{Template: "T1", Batch: "B", Items: []coupon.IssueItem{
			{Code: "C3"}, {Code: "b1"}, {Person: "u1"}, {Person: "u2"},
		}}, coupon.AuditRow{
			Action: "IssueCoupons", Subject: "T1", Coupons: []string{"b1", "c3"}, Code: coupon.Issued(3, 1), Count: 3,
			Before: []coupon.Standing{stands("c3", coupon.Available, 1)},
			After:  []coupon.Standing{stands("b1", coupon.Available, 1), stands("c3", coupon.Available, 1)},
		}},
		{"a claim", "k2", coupon.ClaimCoupon{Template: "T1", Person: "u1"}, coupon.AuditRow{
			Action: "ClaimCoupon", Subject: "T1", Code: coupon.OK, Count: 1,
		}},
		{"a template", "k3", coupon.CreateTemplate{Template: "T2", Terms: coupon.Unlimited()}, coupon.AuditRow{
			Action: "CreateTemplate", Subject: "T2", Code: coupon.OK,
		}},
		{"an edit", "k4", coupon.EditTemplate{Template: "T3"}, coupon.AuditRow{
			Action: "EditTemplate", Subject: "T3", Code: coupon.UnknownTemplate,
		}},
	})
}
