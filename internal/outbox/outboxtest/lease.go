package outboxtest

import (
	"fmt"
	"sync"
	"sync/atomic"
)

func leaseHasOneHolder(b *bench) {
	b.mustAcquire(0, "a")
	for _, owner := range []string{"b", "c"} {
		if fence, held := b.acquire(0, owner); held {
			b.Errorf("%s got the lease of a, fence %d", owner, fence)
		}
	}
}

func leaseEnds(b *bench) {
	first := b.mustAcquire(0, "a")
	b.Pass(b, ttl-ttl/4)
	if _, held := b.acquire(0, "b"); held {
		b.Error("b got the lease before it ended")
	}
	b.Pass(b, ttl/2)
	second := b.mustAcquire(0, "b")
	if second <= first {
		b.Errorf("fence %d after %d, want a greater one", second, first)
	}
	if _, held := b.acquire(0, "a"); held {
		b.Error("a got back the lease that b holds")
	}
}

func leaseIsRenewed(b *bench) {
	first := b.mustAcquire(0, "a")
	for range 3 {
		b.Pass(b, ttl-ttl/4)
		if fence := b.mustAcquire(0, "a"); fence != first {
			b.Errorf("renewing changed the fence from %d to %d", first, fence)
		}
	}
	if _, held := b.acquire(0, "b"); held {
		b.Error("b got a lease that was renewed")
	}
}

func leaseIsTakenAnew(b *bench) {
	first := b.mustAcquire(0, "a")
	b.Pass(b, ttl+ttl/4)
	if second := b.mustAcquire(0, "a"); second <= first {
		b.Errorf("fence %d after %d: the lease had ended in between", second, first)
	}
}

func leaseIsReleased(b *bench) {
	first := b.mustAcquire(0, "a")
	b.check("Release", b.store.Release(b.Context(), 0, first))
	if second := b.mustAcquire(0, "b"); second <= first {
		b.Errorf("fence %d after %d, want a greater one", second, first)
	}
}

func staleRelease(b *bench) {
	first := b.mustAcquire(0, "a")
	b.Pass(b, ttl+ttl/4)
	b.mustAcquire(0, "b")
	b.check("stale Release", b.store.Release(b.Context(), 0, first))
	b.check("Release of a shard nobody ever held", b.store.Release(b.Context(), 7, first))
	if _, held := b.acquire(0, "c"); held {
		b.Error("a stale release freed the lease of b")
	}
}

func leaseRace(b *bench) {
	var holders atomic.Int32
	race := func(round string) {
		var racers sync.WaitGroup
		for i := range 8 {
			racers.Go(func() {
				_, held, err := b.store.Acquire(b.Context(), 0, fmt.Sprint(round, i), ttl)
				if err != nil {
					b.Errorf("Acquire: %v", err)
				}
				if held {
					holders.Add(1)
				}
			})
		}
		racers.Wait()
	}
	race("new") // nobody ever held it
	if n := holders.Swap(0); n != 1 {
		b.Errorf("%d holders of a new lease", n)
	}
	b.Pass(b, ttl+ttl/4)
	race("ended")
	if n := holders.Load(); n != 1 {
		b.Errorf("%d holders of an ended lease", n)
	}
}

func shardsAreSeparate(b *bench) {
	fenceA, fenceB := b.mustAcquire(0, "a"), b.mustAcquire(1, "b")
	rowsA := b.commit(0, 2)
	rowsB := b.commit(1, 2)
	b.equal("rows of shard 0", rowsA, b.pending(0, fenceA, nil, many, huge))
	b.equal("rows of shard 1", rowsB, b.pending(1, fenceB, nil, many, huge))
	b.check("Done", b.store.Done(b.Context(), 0, fenceA, rowsB))
	b.equal("rows of shard 1 after shard 0 removed their ids", rowsB, b.pending(1, fenceB, nil, many, huge))
	if _, held := b.acquire(1, "a"); held {
		b.Error("the holder of shard 0 got shard 1")
	}
}
