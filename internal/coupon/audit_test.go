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

func TestCommandsByHandAreAudited(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	ledger := simulate.NewLedger(func() time.Time { return now }, coupon.DefaultRules(), simulate.NewSource("s"))
	decided(t, ledger, coupon.Request{Fact: coupon.DefineTemplate{Template: coupon.Template{
		ID: "T1",
		Terms: coupon.Terms{
			Budget: coupon.NoLimit, UsesPerPerson: coupon.NoLimit, PolicyVersion: 1,
		},
	}}})
	for _, code := range []string{"c1", "c2", "c3"} {
		decided(t, ledger, coupon.Request{Fact: coupon.ImportCoupon{Code: code, Template: "T1"}})
	}
	decided(t, ledger, coupon.Request{Fact: coupon.OrderPlaced{
		Order: "A", Customer: "u1", Payable: 100, Currency: "EUR", Wanted: []coupon.Wanted{{Coupon: "c1"}}}})
	stands := func(id string, state coupon.State, version int64) coupon.Standing {
		return coupon.Standing{Coupon: id, State: state, Version: version}
	}
	void := coupon.VoidCoupon{Coupon: "c3", Reason: "leaked"}
	for _, test := range []struct {
		name, key string
		fact      coupon.Command
		want      coupon.AuditRow
	}{
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
	} {
		t.Run(test.name, func(t *testing.T) {
			want := test.want
			want.At, want.Actor, want.Reason, want.Key = now, "ann", "ticket", test.key
			want.Cause, want.Arguments = "m-"+test.key, []byte(`{}`)
			got := byHand(t, ledger, test.key, test.fact)
			if diff := cmp.Diff([]*coupon.AuditRow{&want}, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("audit log (-want +got):\n%s", diff)
			}
		})
	}
	message := coupon.Request{Key: "k5", Fact: coupon.VoidCoupon{Coupon: "c1", Force: true}}
	if rows := decided(t, ledger, message); len(rows) != 0 {
		t.Errorf("a command that no person gave is in the audit log: %+v", rows[0])
	}
}
