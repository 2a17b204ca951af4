package outbox_test

import (
	"testing"
	"time"

	"couponlease/internal/outbox"
	"couponlease/internal/outbox/outboxtest"
)

// memoryHarness is the memory store with a clock that moves when told.
type memoryHarness struct {
	store *outbox.Memory
	now   time.Time
}

func (h *memoryHarness) Store() outbox.Store { return h.store }

func (h *memoryHarness) Draw(testing.TB) int64 { return h.store.Draw() }

func (h *memoryHarness) Commit(_ testing.TB, shard int, id int64, payload []byte) {
	h.store.Commit(shard, id, payload)
}

func (h *memoryHarness) Parked(_ testing.TB, shard int) []outbox.Parked { return h.store.Parked(shard) }

func (h *memoryHarness) Pass(_ testing.TB, d time.Duration) { h.now = h.now.Add(d) }

func TestMemoryIsAStore(t *testing.T) {
	outboxtest.Run(t, func(*testing.T) outboxtest.Harness {
		h := &memoryHarness{now: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)}
		h.store = outbox.NewMemory(func() time.Time { return h.now })
		return h
	})
}
