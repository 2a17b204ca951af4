package store

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
)

// voided asks to withdraw a coupon by hand.
func voided(key, id string, at time.Time) coupon.Request {
	return coupon.Request{
		ID: key, Key: key, Hash: sha256.Sum256([]byte(key)), At: at, Actor: "ann", Fact: coupon.VoidCoupon{Coupon: id},
		Audit: &coupon.Audit{Reason: `a "good" reason`, Arguments: []byte(`{"code":"C,1"}`)},
	}
}

func TestTheAuditRowGoesWithItsChange(t *testing.T) {
	s := open(t)
	now, err := s.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	request := voided("k1", "no, such", now)
	decide := func(w *coupon.World) {
		coupon.Decide(w, &request)
		w.Seal()
	}
	if err := s.Apply(t.Context(), []coupon.Request{request}, func(w *coupon.World) {
		decide(w)
		w.Changes().Audits[0].Arguments = []byte(`{`) // cannot be written
	}); err == nil {
		t.Fatal("a command was carried out without its audit row")
	}
	if answer, err := s.Answer(t.Context(), "k1"); err != nil || answer != nil {
		t.Errorf("without its audit row the command was answered all the same: %+v, %v", answer, err)
	}
	if err := s.Apply(t.Context(), []coupon.Request{request}, decide); err != nil {
		t.Fatal(err)
	}
	rows, err := s.AuditLog(t.Context(), coupon.AuditFilter{})
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	got := rows[0]
	if got.ID == 0 || got.At.Before(now) {
		t.Errorf("row %d at %s, begun at %s", got.ID, got.At, now)
	}
	got.ID, got.At = 0, time.Time{}
	want := coupon.AuditRow{
		Actor: "ann", Action: "VoidCoupon", Subject: "no, such", Coupons: []string{"no, such"}, Reason: `a "good" reason`,
		Code: coupon.UnknownCoupon, Key: "k1", Cause: "k1", Arguments: []byte(`{"code": "C,1"}`),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
}

func TestAuditLogIsFilteredAndPaged(t *testing.T) {
	s := open(t)
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i, row := range []coupon.AuditRow{
		{Actor: "ann", Action: "VoidCoupon", Subject: "c1", Coupons: []string{"c1"}},
		{Actor: "ann", Action: "SwapCoupons", Subject: "A", Coupons: []string{"c1", "c2"}},
		{Actor: "bob", Action: "VoidCoupon", Subject: "c2", Coupons: []string{"c2"}},
		{Actor: "bob", Action: "ImportCoupons", Subject: "f.csv"},
	} {
		row.At = start.Add(time.Duration(i) * time.Hour)
		if err := s.Record(t.Context(), row); err != nil {
			t.Fatal(err)
		}
	}
	subjects := func(filter coupon.AuditFilter) (all []string, last int64) {
		t.Helper()
		rows, err := s.AuditLog(t.Context(), filter)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			all, last = append(all, row.Subject), row.ID
		}
		return all, last
	}
	for _, test := range []struct {
		name   string
		filter coupon.AuditFilter
		want   []string
	}{
		{"everything", coupon.AuditFilter{}, []string{"f.csv", "c2", "A", "c1"}},
		{"actor", coupon.AuditFilter{Actor: "ann"}, []string{"A", "c1"}},
		{"action", coupon.AuditFilter{Action: "VoidCoupon"}, []string{"c2", "c1"}},
		{"coupon", coupon.AuditFilter{Coupon: "c2"}, []string{"c2", "A"}},
		{"time", coupon.AuditFilter{Since: start.Add(time.Hour), Until: start.Add(3 * time.Hour)}, []string{"c2", "A"}},
		{"page", coupon.AuditFilter{Limit: 3}, []string{"f.csv", "c2", "A"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, _ := subjects(test.filter); !cmp.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	_, last := subjects(coupon.AuditFilter{Limit: 3})
	if rest, _ := subjects(coupon.AuditFilter{Before: last, Limit: 3}); !cmp.Equal(rest, []string{"c1"}) {
		t.Errorf("the next page has %q", rest)
	}
}

func TestTheDatabaseTellsTheTimeOfARecord(t *testing.T) {
	s := open(t)
	before, err := s.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Record(t.Context(), coupon.AuditRow{Actor: "ann", Action: "ImportCoupons"}); err != nil {
		t.Fatal(err)
	}
	rows, err := s.AuditLog(t.Context(), coupon.AuditFilter{})
	if err != nil || len(rows) != 1 || rows[0].At.Before(before) {
		t.Errorf("rows %+v, %v; begun at %s", rows, err, before)
	}
}
