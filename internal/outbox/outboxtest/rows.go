package outboxtest

import (
	"slices"
	"time"

	"couponlease/internal/outbox"
)

func rowsByID(b *bench) {
	fence := b.mustAcquire(0, "a")
	ids := []int64{b.Draw(b), b.Draw(b), b.Draw(b), b.Draw(b)}
	if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != 4 {
		b.Fatalf("the sequence gave %d", ids)
	}
	for _, i := range []int{2, 0, 3} { // the transaction of 1 rolled back
		b.Commit(b, 0, ids[i], payload(ids[i]))
	}
	b.equal("pending rows", []int64{ids[0], ids[2], ids[3]}, b.pending(0, fence, nil, many, huge))
}

func lateCommit(b *bench) {
	fence := b.mustAcquire(0, "a")
	late := b.Draw(b)
	early := b.commit(0, 3)
	b.equal("pending before the late commit", early, b.pending(0, fence, nil, many, huge))
	b.check("Done", b.store.Done(b.Context(), 0, fence, early[:2]))
	b.Commit(b, 0, late, payload(late))
	b.equal("pending after the late commit", []int64{late, early[2]}, b.pending(0, fence, nil, many, huge))
}

func payloadBytes(b *bench) {
	fence := b.mustAcquire(0, "a")
	want := []byte("{\"v\":1,\"messages\":[ {\"id\":\"käufer \\u20ac\",\n\"body\":{\"b\":1,  \"a\":\"<&>\"}} ]}")
	id := b.Draw(b)
	b.Commit(b, 0, id, want)
	rows, err := b.store.Pending(b.Context(), 0, fence, nil, many, huge)
	b.check("Pending", err)
	if len(rows) != 1 || rows[0].ID != id || rows[0].CreatedAt.IsZero() || rows[0].Parks != 0 {
		b.Fatalf("rows = %+v", rows)
	}
	b.equal("payload", string(want), string(rows[0].Payload))
}

func rowsInFlight(b *bench) {
	fence := b.mustAcquire(0, "a")
	ids := b.commit(0, 5)
	b.equal("rows beside those in flight", []int64{ids[0], ids[2]}, b.pending(0, fence, []int64{ids[3], ids[1], 1 << 40}, 2, huge))
	b.equal("rows when all are in flight", []int64(nil), b.pending(0, fence, ids, 2, huge))
}

func fetchLimits(b *bench) {
	fence := b.mustAcquire(0, "a")
	ids := b.commit(0, 4)
	size := len(payload(ids[0]))
	for _, test := range []struct{ rows, bytes, want int }{
		{1, huge, 1},
		{3, huge, 3},
		{many, 1, 1}, // one row always comes
		{many, size, 1},
		{many, size + 1, 2},
		{many, 3 * size, 3},
		{2, 3 * size, 2},
	} {
		got := b.pending(0, fence, nil, test.rows, test.bytes)
		if !slices.Equal(got, ids[:test.want]) {
			b.Errorf("%d rows, %d bytes: got %d, want %d", test.rows, test.bytes, got, ids[:test.want])
		}
	}
	if got := b.pending(0, fence, ids[:1], many, size); !slices.Equal(got, ids[1:2]) {
		b.Errorf("rows in flight counted as bytes: got %d, want %d", got, ids[1:2])
	}
}

func doneTwice(b *bench) {
	fence := b.mustAcquire(0, "a")
	ids := b.commit(0, 3)
	for range 2 {
		b.check("Done", b.store.Done(b.Context(), 0, fence, []int64{ids[2], ids[0], 1 << 40}))
	}
	b.check("Done of nothing", b.store.Done(b.Context(), 0, fence, nil))
	b.equal("pending rows", ids[1:2], b.pending(0, fence, nil, many, huge))
}

func oldFence(b *bench) {
	old := b.mustAcquire(0, "a")
	ids := b.commit(0, 2)
	b.check("Park", b.store.Park(b.Context(), 0, old, []outbox.Parking{{ID: ids[1], Reason: "no route"}}))
	b.Pass(b, ttl+ttl/4)
	current := b.mustAcquire(0, "b")
	b.wantFenced(0, old, ids[0])
	b.equal("pending rows", ids[:1], b.pending(0, current, nil, many, huge))
	if parked := b.Parked(b, 0); len(parked) != 1 || parked[0].Reason != "no route" {
		b.Errorf("parked rows = %+v, want what was parked before", parked)
	}
	// A fence from the future is as foreign as one from the past.
	b.wantFenced(0, current+1, ids[0])
	b.wantFenced(5, 1, ids[0])
}

func endedWithoutSuccessor(b *bench) {
	fence := b.mustAcquire(0, "a")
	ids := b.commit(0, 2)
	b.Pass(b, ttl+ttl/4)
	b.check("Done", b.store.Done(b.Context(), 0, fence, ids[:1]))
	b.equal("pending rows", ids[1:], b.pending(0, fence, nil, many, huge))
}

func parkAndUnpark(b *bench) {
	fence := b.mustAcquire(0, "a")
	ids := b.commit(0, 3)
	left := []byte(`{"v":1,"messages":[{"id":"what is left"}]}`)
	park := []outbox.Parking{{ID: ids[0], Payload: left, Reason: "312 NO_ROUTE"}, {ID: ids[2], Reason: "unreadable"}}
	b.check("Park", b.store.Park(b.Context(), 0, fence, park))
	b.check("Park nothing", b.store.Park(b.Context(), 0, fence, nil))
	b.equal("pending beside the parked", ids[1:2], b.pending(0, fence, nil, many, huge))

	parked := b.Parked(b, 0)
	if len(parked) != 2 || parked[0].ID != ids[0] || parked[0].Reason != "312 NO_ROUTE" ||
		parked[1].ID != ids[2] || parked[1].Reason != "unreadable" || parked[0].At.IsZero() {
		b.Fatalf("parked rows = %+v", parked)
	}
	b.unpark(fence, rest, many, 0) // they have not rested yet
	b.Pass(b, rest+time.Second)
	b.unpark(fence, rest, many, 2)
	rows, err := b.store.Pending(b.Context(), 0, fence, nil, many, huge)
	b.check("Pending", err)
	if len(rows) != 3 {
		b.Fatalf("%d rows pending, want 3", len(rows))
	}
	for i, want := range []struct {
		payload []byte
		parks   int
	}{{left, 1}, {payload(ids[1]), 0}, {payload(ids[2]), 1}} {
		if rows[i].ID != ids[i] || string(rows[i].Payload) != string(want.payload) || rows[i].Parks != want.parks {
			b.Errorf("row %d = %d %s, parked %d times; want %s, %d times", i, rows[i].ID, rows[i].Payload, rows[i].Parks, want.payload, want.parks)
		}
	}
	b.check("Park again", b.store.Park(b.Context(), 0, fence, park[:1]))
	if parked := b.Parked(b, 0); len(parked) != 1 || parked[0].Parks != 2 {
		b.Errorf("parked again = %+v, want one row parked twice", parked)
	}
}

func unparkInTurn(b *bench) {
	fence := b.mustAcquire(0, "a")
	ids := b.commit(0, 3)
	for _, i := range []int{1, 0, 2} {
		b.check("Park", b.store.Park(b.Context(), 0, fence, []outbox.Parking{{ID: ids[i], Reason: "no route"}}))
		b.Pass(b, time.Second)
	}
	b.Pass(b, rest)
	b.unpark(fence, rest, 2, 2)
	b.equal("pending rows", sorted(ids[:2]), b.pending(0, fence, nil, many, huge))
	b.unpark(fence, rest, 2, 1)
	b.unpark(fence, rest, 2, 0)
}

func parkGone(b *bench) {
	fence := b.mustAcquire(0, "a")
	ids := b.commit(0, 2)
	b.check("Done", b.store.Done(b.Context(), 0, fence, ids[:1]))
	b.check("Park", b.store.Park(b.Context(), 0, fence, []outbox.Parking{{ID: ids[0], Reason: "no route"}, {ID: 1 << 40, Reason: "no route"}}))
	if parked := b.Parked(b, 0); len(parked) != 0 {
		b.Errorf("parked rows = %+v, want none", parked)
	}
	b.equal("pending rows", ids[1:], b.pending(0, fence, nil, many, huge))
}

func (b *bench) unpark(fence int64, rest time.Duration, limit, want int) {
	b.Helper()
	n, err := b.store.Unpark(b.Context(), 0, fence, rest, limit)
	b.check("Unpark", err)
	if n != want {
		b.Errorf("%d rows unparked, want %d", n, want)
	}
}
