package store

import (
	"testing"
	"time"

	"couponlease/internal/coupon"
)

func TestPlansAreMadeAnew(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := &planning{most: 1, at: now}
	var due []int
	for transaction := 1; transaction <= 40; transaction++ {
		if p.due(now) {
			due = append(due, transaction)
		}
	}
	want := []int{2, 4, 8, 16, 32}
	if len(due) != len(want) {
		t.Fatalf("anew at transactions %v, want %v", due, want)
	}
	for i := range want {
		if due[i] != want[i] {
			t.Fatalf("anew at transactions %v, want %v", due, want)
		}
	}
	if p.due(now.Add(planLife - 1)) {
		t.Error("anew before their life is over")
	}
	if !p.due(now.Add(planLife)) {
		t.Error("not anew although their life is over")
	}
}

// TestPlansOutgrowEmptyTables: what a request reads does not grow with the tables,
// although they were empty when somebody analyzed them.
func TestPlansOutgrowEmptyTables(t *testing.T) {
	s := open(t)
	at := now(t, s)
	for _, table := range []string{"order_fact", "user_coupon", "order_coupon", "inbox"} {
		if _, err := s.pool.Exec(t.Context(), "vacuum (analyze) "+table); err != nil {
			t.Fatal(err)
		}
	}
	issue(t, s, unlimited("summer"))
	const batches, size = 64, 32
	for batch := range batches {
		var imports, places []coupon.Request
		for i := range size {
			id := name("o", batch*size+i)
			imports = append(imports, coupon.Request{
				Fact: coupon.ImportCoupon{Code: "C-" + id, Template: "summer", Owner: "ann"},
			})
			places = append(places, request("place-"+id, at, placed("order-"+id, "c-"+id)))
		}
		apply(t, s, imports...)
		apply(t, s, places...)
	}
	s.Close() // its sessions report what they have read when they end
	reader := openAt(t, s.pool.Config().ConnString())
	const most = 10 // index entries of a table for each request
	for _, table := range []string{"order_fact", "user_coupon", "order_coupon", "inbox"} {
		read := scalar[int64](t, reader, `select coalesce(sum(idx_tup_read), 0)::bigint from pg_stat_user_indexes
			where schemaname = current_schema() and relname ~ ('^' || $1 || '(_[0-9]+)?$')`, table)
		if read > most*batches*size {
			t.Errorf("%s: %d index entries read for %d requests", table, read, batches*size)
		}
	}
}
