package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"couponlease/internal/coupon"
	"couponlease/internal/simulate"
)

// TestEverythingComesBack runs traffic that meets itself through the database and
// through the ledger in memory. The answers must be the same, request for request, and
// what the transactions left to write must come back as it was.
func TestEverythingComesBack(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { comeBack(t, seed, 200, seen) })
	}
	for _, what := range []string{
		"coupons", "orders", "templates", "uses", "timers", "refunds", "reviews", "receipts", "outbox", "policies",
		"leases", "redemptions", "decisions", "claims", "edits", "coupons CLAIM", "coupons BATCH", "coupons IMPORT",
		"QUOTA_EXHAUSTED", "DAILY_LIMIT_REACHED", "ISSUED:2,SKIPPED:0",
		"answers", "tokens to give", "refused swaps", "flows",
		"DUPLICATE_EVENT", "REDEEMED", "CREATED", "UNKNOWN_TEMPLATE", "EXPIRED",
		"DUPLICATE", "IDEMPOTENCY_MISMATCH", "TOKEN_MISMATCH", "VERSION_CONFLICT", "LEASE_GONE", "REJECTED", "resolutions",
	} {
		if seen[what] == 0 {
			t.Errorf("the traffic made no %s: %v", what, seen)
		}
	}
}

func comeBack(t *testing.T, seed uint64, batches int, seen map[string]int) {
	ids := &countingSource{}
	s := open(t, func(o *Options) { o.Source, o.PageSize = ids.source(), 4 })
	var clock time.Time
	memory := simulate.NewLedger(func() time.Time { return clock }, coupon.DefaultRules(), ids.source())
	m := newModel()
	g := newTraffic(seed, m)
	script := g.certain(now(t, s))
	for i := range batches {
		var requests []coupon.Request
		switch {
		case i < len(script):
			requests = script[i]
		case i == len(script): // the script has opened a case
			requests = []coupon.Request{request("decide", now(t, s), g.resolution())}
		default:
			requests = g.batch(now(t, s))
		}
		drawn := ids.next
		var got, want []coupon.Outcome
		err := s.Apply(t.Context(), requests, func(w *coupon.World) {
			clock = w.Now
			decideAll(requests, &got)(w)
			m.keep(w)
		})
		if err != nil {
			t.Fatalf("%+v: %v", requests, err)
		}
		ids.next = drawn
		if err := memory.Apply(t.Context(), requests, decideAll(requests, &want)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%+v (-memory +database):\n%s", requests, diff)
		}
		for _, o := range got {
			seen[string(o.Code)]++
			if strings.HasPrefix(string(o.Code), "RESOLVED:") {
				seen["resolutions"]++
			}
		}
	}
	dumped, err := s.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m.dump(), dumped, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	for _, h := range dumped.Histories {
		for _, violation := range coupon.Check(h) {
			t.Error(violation)
		}
	}
	wrongTemplates(t, s)
	count(dumped, seen)
}

// count notes what there is of each table, to make sure that the traffic was worth it.
func count(d *Dump, seen map[string]int) {
	seen["coupons"] += len(d.Histories)
	seen["orders"] += len(d.Orders)
	seen["templates"] += len(d.Templates)
	seen["uses"] += len(d.Uses)
	seen["timers"] += len(d.Timers)
	seen["refunds"] += len(d.Refunds)
	seen["reviews"] += len(d.Reviews)
	seen["receipts"] += len(d.Receipts)
	seen["answers"] += len(d.Answers)
	seen["flows"] += len(d.Flows)
	for _, a := range d.Answers {
		if a.Token != nil {
			seen["tokens to give"]++
		}
		if len(a.Refusals) > 0 {
			seen["refused swaps"]++
		}
	}
	seen["claims"] += len(d.Claims)
	seen["edits"] += len(d.Versions) - len(d.Templates)
	seen["outbox"] += len(d.Outbox)
	seen["policies"] += len(d.Policies) - 1
	for _, h := range d.Histories {
		seen["coupons "+string(h.Coupon.Origin)]++
		seen["leases"] += len(h.Leases)
		seen["redemptions"] += len(h.Redemptions)
		seen["decisions"] += len(h.Decisions)
	}
}
