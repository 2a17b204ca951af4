package engine

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"couponlease/internal/coupon"
	"couponlease/internal/leasetoken"
)

func TestIDsAreUniqueAndInOrder(t *testing.T) {
	source := NewSource(leasetoken.Random())
	const goroutines, each = 8, 2000
	lists := make([][]string, goroutines)
	var group sync.WaitGroup
	for i := range lists {
		group.Go(func() {
			for range each {
				lists[i] = append(lists[i], source.ID())
			}
		})
	}
	group.Wait()
	seen := map[string]bool{}
	for _, list := range lists {
		if !slices.IsSorted(list) {
			t.Error("ids of one goroutine are not in the order in which they were made")
		}
		for _, id := range list {
			seen[id] = true
		}
	}
	if len(seen) != goroutines*each {
		t.Errorf("%d distinct ids of %d", len(seen), goroutines*each)
	}
	if id, err := uuid.Parse(lists[0][0]); err != nil || id.Version() != 7 {
		t.Errorf("id %s is not a UUIDv7: %v", lists[0][0], err)
	}
}

func TestTokensAreThoseOfTheKeys(t *testing.T) {
	keys := leasetoken.Random()
	source := NewSource(keys)
	hash := source.Token("L1", "O1", "C1", 1)
	if hash != keys.Hash("L1") {
		t.Error("the hash is not that of the lease's token")
	}
	if hash == source.Token("L2", "O1", "C1", 1) {
		t.Error("two leases have the same token")
	}
	if hash == NewSource(leasetoken.Random()).Token("L1", "O1", "C1", 1) {
		t.Error("two keys make the same token")
	}
}

func BenchmarkID(b *testing.B) {
	source := NewSource(leasetoken.Random())
	for b.Loop() {
		source.ID()
	}
}

func BenchmarkToken(b *testing.B) {
	source := NewSource(leasetoken.Random())
	for b.Loop() {
		source.Token("L1", "O1", "C1", 1)
	}
}

// A code is what buyers type: folded, without look-alikes, and never the same again.
func TestCodesAreUniqueAndCanBeTyped(t *testing.T) {
	source := NewSource(leasetoken.Random())
	seen := map[string]bool{}
	for range 10_000 {
		code := source.Code("T", 1)
		if len(code) != 16 || code != coupon.Fold(code) || strings.ContainsAny(code, "ilou") {
			t.Fatalf("drew %q", code)
		}
		seen[code] = true
	}
	if len(seen) != 10_000 {
		t.Errorf("%d distinct codes of 10000", len(seen))
	}
}

func TestZonesAreThoseOfTheIANA(t *testing.T) {
	source := NewSource(leasetoken.Random())
	for range 2 { // read, and remembered
		zone, err := source.Zone("Asia/Shanghai")
		if err != nil || zone.String() != "Asia/Shanghai" {
			t.Errorf("got %v, %v", zone, err)
		}
		if _, err := source.Zone("Atlantis/Harbour"); err == nil {
			t.Error("a zone that there is not was found")
		}
	}
}
