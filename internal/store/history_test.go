package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"couponlease/internal/coupon"
)

// redeemed carries n orders through, each with a coupon.
func redeemed(t *testing.T, s *Store, n int) {
	t.Helper()
	issue(t, s, unlimited("summer"))
	at := now(t, s)
	for i := range n {
		id := name("n", i)
		apply(t, s, coupon.Request{Fact: coupon.ImportCoupon{Code: "c" + id, Template: "summer"}},
			request("place"+id, at, placed("o"+id, "c"+id)), request("pay"+id, at, paid("o"+id)))
	}
}

func TestHistoriesAreOfOneMoment(t *testing.T) {
	const coupons = 23
	s := open(t, func(o *Options) { o.PageSize = 5 })
	redeemed(t, s, coupons)
	var ids []string
	err := s.EachHistory(t.Context(), func(h coupon.History) error {
		if len(ids) == 0 { // what comes now is later than the moment
			issue(t, s, unlimited("summer"), "zz-late")
			refund := coupon.RefundApproved{Order: name("on", coupons-1), Refund: "r", Amount: 900, Currency: "EUR"}
			one(t, s, "RETURN:FULL", request("refund", now(t, s), refund))
		}
		ids = append(ids, h.Coupon.ID)
		if violations := coupon.Check(h); len(violations) > 0 || h.Coupon.State != coupon.Used {
			t.Errorf("%s: %s %v", h.Coupon.ID, h.Coupon.State, violations)
		}
		if len(h.Operations) != 3 || len(h.Leases) != 1 || len(h.Redemptions) != 1 {
			t.Errorf("%s has %d operations, %d leases, %d redemptions", h.Coupon.ID, len(h.Operations), len(h.Leases),
				len(h.Redemptions))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(ids) != coupons || !slices.IsSorted(ids) {
		t.Errorf("visited %s", ids)
	}
	orders := 0
	if err := s.EachOrder(t.Context(), func(o *coupon.Order) error {
		if want := name("on", orders); o.ID != want || len(o.Named) != 1 || len(o.Payments) != 1 {
			t.Errorf("got %+v, want order %s", o, want)
		}
		orders++
		return nil
	}); err != nil || orders != coupons {
		t.Errorf("visited %d orders: %v", orders, err)
	}
}

func TestVisitorEndsTheVisit(t *testing.T) {
	s := open(t, func(o *Options) { o.PageSize, o.MaxConns = 2, 2 })
	redeemed(t, s, 9)
	enough := errors.New("enough")
	visits := 0
	for name, each := range map[string]func() error{
		"histories": func() error {
			return s.EachHistory(t.Context(), func(coupon.History) error { visits++; return enough })
		},
		"orders": func() error {
			return s.EachOrder(t.Context(), func(*coupon.Order) error { visits++; return enough })
		},
	} {
		t.Run(name, func(t *testing.T) {
			visits = 0
			if err := each(); !errors.Is(err, enough) || visits != 1 {
				t.Errorf("%d visits: %v", visits, err)
			}
			if idle := s.pool.Stat().AcquiredConns(); idle != 0 {
				t.Errorf("%d connections are not given back", idle)
			}
		})
	}
}

func TestHistoryAndOrderByID(t *testing.T) {
	s := open(t)
	redeemed(t, s, 3)
	id := name("n", 1)
	h, found, err := s.History(t.Context(), "c"+id)
	if err != nil || !found {
		t.Fatalf("found %v: %v", found, err)
	}
	if h.Coupon.ID != "c"+id || len(h.Operations) != 3 || len(h.Leases) != 1 || len(h.Redemptions) != 1 {
		t.Errorf("got %+v", h)
	}
	if h, found, err := s.History(t.Context(), "nobody"); found || err != nil || h.Coupon != nil {
		t.Errorf("nobody: %+v, %v", h, err)
	}
	o, err := s.Order(t.Context(), "o"+id)
	if err != nil || !o.Placed || len(o.Named) != 1 || o.Named[0].RedemptionID != h.Coupon.Redemption.ID {
		t.Errorf("got %+v, %v", o, err)
	}
	o, err = s.Order(t.Context(), "nobody")
	if diff := cmp.Diff(&coupon.Order{ID: "nobody"}, o); err != nil || diff != "" {
		t.Errorf("nobody: %v\n%s", err, diff)
	}
}

// TestEvidenceWithoutCouponIsAnError: a ledger row that belongs to nobody must not be
// passed in silence.
func TestEvidenceWithoutCouponIsAnError(t *testing.T) {
	s := open(t)
	redeemed(t, s, 3)
	execute(t, s, `delete from user_coupon where coupon_id = $1`, name("cn", 1))
	err := s.EachHistory(t.Context(), func(coupon.History) error { return nil })
	if err == nil || !strings.Contains(err.Error(), name("cn", 1)) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkEachHistory(b *testing.B) {
	s := open(b)
	issue(b, s, unlimited("summer"))
	at := now(b, s)
	coupons := 0
	for round := range 16 {
		work := freshOrders(b, s, at, fmt.Sprint("r", round))
		coupons += len(work) / 2
		drain(b, s, [][]coupon.Request{work}, 256, len(work))
	}
	execute(b, s, "vacuum analyze")
	b.ResetTimer()
	for range b.N {
		visited := 0
		if err := s.EachHistory(b.Context(), func(h coupon.History) error {
			visited++
			if violations := coupon.Check(h); len(violations) > 0 {
				return fmt.Errorf("%v", violations)
			}
			return nil
		}); err != nil || visited != coupons {
			b.Fatalf("visited %d of %d: %v", visited, coupons, err)
		}
	}
	b.ReportMetric(float64(coupons*b.N)/b.Elapsed().Seconds(), "coupons/s")
}
